import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadMappings } from '../../src/config/mappings.ts'
import { folder } from '../callers/edge.ts'
import { ROOT } from '../command.ts'
import { get, startGateway } from '../gateway.ts'

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
