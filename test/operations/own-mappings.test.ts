/** Promise: an operator adds and replaces declarations, callbacks and lookups (contract, sections 4 and 11). */

import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { loadMappings } from '../../src/config/mappings.ts'
import { MappingErrors } from '../../src/mapping/catalog.ts'
import { folder } from '../callers/edge.ts'
import { cleanEnv, newFolder, ROOT, run } from '../command.ts'
import { get, post, startGateway } from '../gateway.ts'

describe('modules', () => {
  /** A folder with these files; it goes with the test. */
  function folderWith(files: Readonly<Record<string, string>>): string {
    const folder = newFolder('mappings')
    onTestFinished(() => rmSync(folder, { recursive: true }))
    for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content)
    return folder
  }

  const lookupsFile = (content: object | string): string => {
    const text = typeof content === 'string' ? content : JSON.stringify(content)
    return join(folderWith({ 'lookups.json': text }), 'lookups.json')
  }

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

  const MORE_PATHS = `export default ({ actions }) => {
  const builtIn = actions['quote.get']
  return { ...builtIn, legacy: { ...builtIn.legacy, paths: [...builtIn.legacy.paths, '/getRate.php'] } }
}`

  const STATE = `import type { Toolbox } from 'nowhere'

interface Words { readonly [status: string]: string }
const words: Words = { new: 'BOOKED', delivered: 'DONE' }

export default ({ vocabulary, codecs, codec, z, actions }: Toolbox) => {
  const { action, choose, move, ref, v1Only, v2Only } = vocabulary
  const shouted = codec(z.string(), {
    name: 'shouted', summary: 'In capitals.', decode: (text: string) => text, encode: (text: string) => text.toUpperCase(),
  })
  return [action({
    name: 'shipment.state',
    summary: 'Tell where a shipment stands.',
    family: 'shipment',
    legacy: { method: 'POST', paths: ['/getState.php'], actionNames: 'any' },
    service: { method: 'GET', path: '/v2/shipments/{shipment_id}' },
    target: { kind: 'shipment', namedBy: ['RefNo.'] },
    request: [ref('RefNo.', 'names the shipment'), ...v1Only(['Lang'], 'there is one language')],
    reply: [
      move('Id', 'id', codecs.text),
      move('Customer', 'customer.customer_name', shouted),
      choose('State', 'status', words, 'ON THE ROAD'),
      ...v2Only(['number', 'price', 'pickup', 'delivery', 'vehicles', 'distance'], 'nobody asked'),
    ],
    example: { request: { 'RefNo.': 'REF-1' }, reply: actions['shipment.get'].example.reply },
  })]
}`

  describe('modules of an operator', () => {
    test('a module of a built-in action’s name replaces it', async () => {
      const gateway = await startGateway({ env: { MAPPINGS_DIR: folderWith({ 'more-paths.js': MORE_PATHS }) } })
      const { json } = await post(gateway, '/quotes/getrate.PHP', quoteExample)
      expect(json).toEqual({ Cost: expect.stringMatching(/^\d+\.\d\d$/), ShipmentNumber: quoteExample.ShipmentNumber })
      expect((await post(gateway, '/getShippingQuote.php', quoteExample)).status).toBe(200)
      expect((await get(gateway, '/openapi.json')).json.paths).toHaveProperty(['/dry-run/getRate.php'])
    })

    test('a module of another name adds an action, with its own paths, codecs and dry run', async () => {
      const gateway = await startGateway({ env: { MAPPINGS_DIR: folderWith({ 'state.ts': STATE }) } })
      const booking = {
        ReferenceNumber: 'REF-1',
        PickupZip: '10314',
        DeliveryZip: '33166',
        BillToName: 'Pat',
        VinNo: 'V1',
      }
      await post(gateway, '/createShipment.php', booking)
      const [id] = gateway.sandbox.shipments.keys()
      const { json } = await post(gateway, '/getState.php', 'RefNo_=REF-1&Lang=en')
      expect(json).toEqual({ Id: id, Customer: 'PAT', State: 'BOOKED' })
      const dry = await post(gateway, '/dry-run/getState.php', { 'refno.': 'REF-1', Lang: 'en', Foo: 1 })
      expect(dry.json).toMatchObject({ action: 'shipment.state', ok: true, unknown: ['Foo'] })
      const unnamed = await post(gateway, '/getState.php', { Lang: 'en' })
      expect(unnamed.json).toEqual({ Message: expect.stringContaining('RefNo.'), TransportationBooked: 'Unknown' })
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
        'a row that breaks a rule',
        {
          'a.js': `export default ({ actions, vocabulary, codecs }) => {
          const builtIn = actions['quote.get']
          return { ...builtIn, request: [...builtIn.request, vocabulary.move('CSR.', 'pickup.agent', codecs.text)] }
        }`,
        },
        [
          'quote.get: request row "move CSR. → pickup.agent": CSR. is covered twice (already as CSR)',
          'quote.get: request row "move CSR. → pickup.agent": pickup.agent overlaps pickup',
        ],
      ],
      [
        'two modules for one action',
        { 'a.js': MORE_PATHS, 'b.js': MORE_PATHS },
        ['quote.get: two actions have this name'],
      ],
    ])('%s is an error', async (_what, files, mistakes) => {
      expect(await mistakesOf(files)).toEqual(mistakes)
    })

    test('errors of several modules are reported at once', async () => {
      const mistakes = await mistakesOf({ 'a.js': 'export default 5', 'b.js': 'export default [', 'c.js': MORE_PATHS })
      expect(mistakes).toHaveLength(2)
      expect(mistakes[0]).toMatch(/^\/a\.js: the default export/)
      expect(mistakes[1]).toMatch(/^\/b\.js: cannot be loaded: ./)
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
      const [, accepted] = refused.json.Message.split('Send one of these:')
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
      [{ vehicle_types: { '---': 'car' } }, 'table vehicle_types: a phrase of a lookup table has no words'],
    ])('%j is an error', async (lookups, mistake) => {
      await expect(loadMappings(undefined, lookups)).rejects.toMatchObject({
        mistakes: expect.arrayContaining([mistake]),
      })
    })
  })

  describe('transload check', () => {
    const check = (env: NodeJS.ProcessEnv) =>
      run(process.execPath, [join(ROOT, 'src/main.ts'), 'check'], {
        env: cleanEnv({ V2_BASE_URL: 'https://service.example.com', ...env }),
      })

    test('accepts modules in TypeScript and JavaScript', async () => {
      const folder = folderWith({ 'more-paths.js': MORE_PATHS, 'state.ts': STATE })
      const { code, out, err } = await check({ MAPPINGS_DIR: folder })
      expect({ code, err }).toEqual({ code: 0, err: '' })
      expect(out).toContain('8 actions at 9 legacy paths')
    })
  })
})

describe('callbacks', () => {
  function moduleWith(code: string): string {
    const place = folder()
    writeFileSync(join(place, 'own.mjs'), code)
    return place
  }

  /** The example of the documentation. */
  function documented(): string {
    const page = readFileSync(join(ROOT, 'docs/writing-a-mapping.md'), 'utf8')
    return /```js\n(\/\/ picked-up\.mjs\n[\s\S]*?)```/.exec(page)?.[1] ?? ''
  }

  test('the documented callback is for its event alone', async () => {
    const gateway = await startGateway({ env: { MAPPINGS_DIR: moduleWith(documented()) } })
    const own = (await get(gateway, '/dry-run/webhook/shipment.picked_up')).json
    expect(own).toMatchObject({ callback: 'picked-up', bodies: { json: { Stage: 'ON THE ROAD', Number: 'S-1' } } })
    expect((await get(gateway, '/dry-run/webhook/shipment.created')).json.callback).toBe('shipment.event')
  })

  test('a callback with the name of the built-in one replaces it', async () => {
    const code = `export default ({ vocabulary, callbacks }) => ({
    ...callbacks['shipment.event'], events: ['shipment.delivered'], fields: [vocabulary.fixed('Done', 'Yes')],
  })`
    const { callbackOf, callbacks } = await loadMappings(moduleWith(code))
    expect(callbacks.length).toBe(1)
    expect(callbackOf('shipment.delivered')?.callback.fields.length).toBe(1)
    expect(callbackOf('shipment.created')).toBeUndefined()
    const gateway = await startGateway({ env: { MAPPINGS_DIR: moduleWith(code) } })
    expect(await get(gateway, '/dry-run/webhook/shipment.created')).toMatchObject({
      status: 404,
      json: { detail: 'No callback is declared for this event.' },
    })
  })
})
