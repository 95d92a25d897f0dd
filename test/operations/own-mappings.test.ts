/** Promise: an operator adds and replaces declarations, callbacks and lookups (contract, sections 4 and 11). */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadMappings } from '../../mappings/load.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { folder } from '../callers/tenants-gateway.ts'
import { get, post, startGateway } from '../gateway.ts'
import modules from './modules.json' with { type: 'json' }

/** Makes a folder with a file, which is removed after the test. */
function folderWith(file: string, content: string): string {
  const place = folder()
  writeFileSync(join(place, file), content)
  return place
}

const MORE_PATHS = `import type { Toolbox } from 'nowhere'
export default ({ actions }: Toolbox) => {
  const builtIn = actions['quote.get']
  return { ...builtIn, legacy: { ...builtIn.legacy, paths: [...builtIn.legacy.paths, '/getRate.php'] } }
}`

test('a module of a built-in action’s name replaces it', async () => {
  const MAPPINGS_DIR = folderWith('more-paths.ts', MORE_PATHS)
  const gateway = await startGateway({ env: { MAPPINGS_DIR } })
  const { json } = await post(gateway, '/quotes/getrate.PHP', quoteExample)
  expect(json).toEqual({ Cost: expect.stringMatching(/^\d+\.\d\d$/), ShipmentNumber: quoteExample.ShipmentNumber })
  expect((await post(gateway, '/getShippingQuote.php', quoteExample)).status).toBe(200)
  expect((await get(gateway, '/openapi.json')).json.paths).toHaveProperty(['/dry-run/getRate.php'])
  writeFileSync(join(MAPPINGS_DIR, 'again.ts'), MORE_PATHS)
  await expect(loadMappings(MAPPINGS_DIR)).rejects.toMatchObject({
    errors: ['quote.get: two actions have this name'],
  })
})

test.each(modules)('an error in a module: %s', async (code = '', ...mistakes) => {
  const place = folderWith('a.js', code)
  await expect(loadMappings(place)).rejects.toMatchObject({ errors: mistakes.map((one) => join(place, one)) })
})

test('lookups add a vehicle type and an ActionName at its own paths, and replace a built-in type', async () => {
  const lookups = {
    vehicle_types: { 'FLAT BED RIG': 'truck_ext', SUV: 'van' },
    actions: { 'Refresh Rate': 'quote.get', 'Book It': 'shipment.create' },
  }
  const LOOKUPS_FILE = join(folderWith('lookups.json', JSON.stringify(lookups)), 'lookups.json')
  const gateway = await startGateway({ env: { LOOKUPS_FILE } })
  const explained = async (path: string, fields: object) => (await post(gateway, `/dry-run${path}`, fields)).json
  const trip = { TempShipFromPostalCode: '10314', TempShipToPostalCode: '33166' }
  for (const [field, value, type] of [
    ['PickupCommodityCode', 'flat_bed rig', 'truck_ext'],
    ['LoadReference', 'one Flat Bed Rig, red', 'truck_ext'],
    ['PickupCommodityCode', 'SUV', 'van'],
    ['PickupCommodityCode', 'SEDAN', 'car'],
  ] as const) {
    const { request } = await explained('/getShippingQuote.php', { ...trip, [field]: value })
    expect(request.body.vehicle_type, value).toBe(type)
  }
  for (const [path, ActionName, action] of [
    ['/getShippingQuote.php', 'refresh_rate', 'quote.get'],
    ['/getShippingQuote.php', 'Update Rate', 'quote.update'],
    ['/ConfirmBooking', 'BOOK IT', 'shipment.create'],
  ] as const)
    expect((await explained(path, { ActionName })).action).toBe(action)
  const refused = await post(gateway, '/getShippingQuote.php', { ActionName: 'Book It' })
  expect(refused.status).toBe(422)
  const [, accepted] = refused.json.Message.split('/getShippingQuote.php accepts ')
  expect(accepted).toContain('Refresh Rate')
  expect(accepted).not.toContain('Book It')
})

test.each([
  [{ actions: { 'Get Rate': 'quote.approve' } }, 'Get Rate means both quote.get and quote.approve'],
  [{ vehicle_types: { '---': 'car' as const } }, 'table vehicle_types: a phrase of a lookup table has no words'],
  [{ vehicle_types: { 'GOLF CART': 'car', golf_cart: 'van' } as const }, 'golf_cart means both car and van'],
])('an error in lookups: %j', async (lookups, mistake) => {
  await expect(loadMappings(undefined, lookups)).rejects.toThrow(mistake)
})

test('a callback with the name of the built-in one replaces it', async () => {
  const code = `export default ({ vocabulary, callbacks }) => ({
    ...callbacks['shipment.event'], events: ['shipment.delivered'], fields: [vocabulary.fixed('Done', 'Yes')],
  })`
  const gateway = await startGateway({ env: { MAPPINGS_DIR: folderWith('own.mjs', code) } })
  const delivered = await get(gateway, '/dry-run/webhook/shipment.delivered')
  expect(delivered.json).toMatchObject({ callback: 'shipment.event', bodies: { json: { Done: 'Yes' } } })
  expect(await get(gateway, '/dry-run/webhook/shipment.created')).toMatchObject({
    status: 404,
    json: { detail: 'No callback is declared for this event.' },
  })
})
