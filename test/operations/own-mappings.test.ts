/** Promise: an operator adds and replaces declarations, callbacks and lookups (contract, sections 4 and 11). */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { loadMappings } from '../../mappings/load.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { MappingErrors } from '../../src/language/mapping/catalog.ts'
import { folder } from '../callers/tenants-gateway.ts'
import { get, post, startGateway } from '../gateway.ts'

/** A folder with these files; it goes with the test. */
function folderWith(files: Readonly<Record<string, string>>): string {
  const place = folder()
  for (const [name, content] of Object.entries(files)) writeFileSync(join(place, name), content)
  return place
}

describe('modules', () => {
  const lookupsFile = (content: object) => join(folderWith({ 'lookups.json': JSON.stringify(content) }), 'lookups.json')

  /** Returns the errors of a folder, without the folder's path. */
  async function mistakesOf(files: Readonly<Record<string, string>>): Promise<readonly string[]> {
    const folder = folderWith(files)
    try {
      await loadMappings(folder)
      return []
    } catch (error) {
      if (!(error instanceof MappingErrors)) throw error
      return error.mistakes.map((mistake) => mistake.replace(folder, ''))
    }
  }

  const MORE_PATHS = `import type { Toolbox } from 'nowhere'
export default ({ actions }: Toolbox) => {
  const builtIn = actions['quote.get']
  return { ...builtIn, legacy: { ...builtIn.legacy, paths: [...builtIn.legacy.paths, '/getRate.php'] } }
}`

  describe('modules of an operator', () => {
    test('a module of a built-in action’s name replaces it', async () => {
      const gateway = await startGateway({ env: { MAPPINGS_DIR: folderWith({ 'more-paths.ts': MORE_PATHS }) } })
      const { json } = await post(gateway, '/quotes/getrate.PHP', quoteExample)
      expect(json).toEqual({ Cost: expect.stringMatching(/^\d+\.\d\d$/), ShipmentNumber: quoteExample.ShipmentNumber })
      expect((await post(gateway, '/getShippingQuote.php', quoteExample)).status).toBe(200)
      expect((await get(gateway, '/openapi.json')).json.paths).toHaveProperty(['/dry-run/getRate.php'])
    })

    test.each<[string, Readonly<Record<string, string>>, readonly string[]]>([
      [
        'no default export',
        { 'a.js': 'export const action = {}' },
        ['/a.js: the default export is not an action, a list of actions, or a function that returns them'],
      ],
      [
        'a function that fails',
        { 'a.js': `export default () => { throw new Error('no\\nluck') }` },
        ['/a.js:1:30: cannot be loaded: no luck'],
      ],
      [
        'an action that lacks half of itself',
        {
          'a.mjs': `export default ({ actions }) => ({ ...actions['quote.get'], family: 'quotes', example: undefined })`,
        },
        [
          '/a.mjs: quote.get: family: must be quote or shipment',
          '/a.mjs: quote.get: example: must have a request and a reply',
        ],
      ],
      [
        'two modules for one action',
        { 'a.ts': MORE_PATHS, 'b.ts': MORE_PATHS },
        ['quote.get: two actions have this name'],
      ],
    ])('%s is an error', async (_what, files, mistakes) => {
      expect(await mistakesOf(files)).toEqual(mistakes)
    })
  })

  describe('lookups of an operator', () => {
    test('a vehicle type is added, and one of a built-in table is replaced', async () => {
      const lookups = { vehicle_types: { 'FLAT BED RIG': 'truck_ext', SUV: 'van' } }
      const gateway = await startGateway({ env: { LOOKUPS_FILE: lookupsFile(lookups) } })
      const type = async (fields: object) => {
        const trip = { TempShipFromPostalCode: '10314', TempShipToPostalCode: '33166' }
        return (await post(gateway, '/dry-run/getShippingQuote.php', { ...trip, ...fields })).json.request.body
          .vehicle_type
      }
      expect(await type({ PickupCommodityCode: 'flat_bed rig' })).toBe('truck_ext')
      expect(await type({ LoadReference: 'one Flat Bed Rig, red' })).toBe('truck_ext')
      expect(await type({ PickupCommodityCode: 'SUV' })).toBe('van')
      expect(await type({ PickupCommodityCode: 'SEDAN' })).toBe('car')
    })

    test('an ActionName is added to an action, at its own paths', async () => {
      const lookups = { actions: { 'Refresh Rate': 'quote.get', 'Book It': 'shipment.create' } }
      const gateway = await startGateway({ env: { LOOKUPS_FILE: lookupsFile(lookups) } })
      const action = async (path: string, ActionName: string) =>
        (await post(gateway, `/dry-run${path}`, { ActionName })).json.action
      expect(await action('/getShippingQuote.php', 'refresh_rate')).toBe('quote.get')
      expect(await action('/getShippingQuote.php', 'Update Rate')).toBe('quote.update')
      expect(await action('/ConfirmBooking', 'BOOK IT')).toBe('shipment.create')
      const refused = await post(gateway, '/getShippingQuote.php', { ActionName: 'Book It' })
      expect(refused.status).toBe(422)
      const [, accepted] = refused.json.Message.split('/getShippingQuote.php accepts ')
      expect(accepted).toContain('Refresh Rate')
      expect(accepted).not.toContain('Book It')
    })

    test.each([
      [
        { actions: { 'Refresh Rate': 'quote.refresh' } },
        'the ActionName Refresh Rate means quote.refresh, which is no action',
      ],
      [
        { actions: { 'Get Rate': 'quote.approve' } },
        '/getShippingQuote.php: the ActionName Get Rate means both quote.get and quote.approve',
      ],
      [{ vehicle_types: { '---': 'car' as const } }, 'table vehicle_types: a phrase of a lookup table has no words'],
    ])('%j is an error', async (lookups, mistake) => {
      await expect(loadMappings(undefined, lookups)).rejects.toMatchObject({
        mistakes: expect.arrayContaining([mistake]),
      })
    })
  })
})

test('a callback with the name of the built-in one replaces it', async () => {
  const code = `export default ({ vocabulary, callbacks }) => ({
    ...callbacks['shipment.event'], events: ['shipment.delivered'], fields: [vocabulary.fixed('Done', 'Yes')],
  })`
  const gateway = await startGateway({ env: { MAPPINGS_DIR: folderWith({ 'own.mjs': code }) } })
  const delivered = await get(gateway, '/dry-run/webhook/shipment.delivered')
  expect(delivered.json).toMatchObject({ callback: 'shipment.event', bodies: { json: { Done: 'Yes' } } })
  expect(await get(gateway, '/dry-run/webhook/shipment.created')).toMatchObject({
    status: 404,
    json: { detail: 'No callback is declared for this event.' },
  })
})
