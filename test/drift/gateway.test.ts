import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createMemoryStore } from '../../src/store/memory.ts'
import { openStore } from '../../src/store/open.ts'
import { type Store, StoreDown } from '../../src/store/store.ts'
import { cleanEnv, newFolder, ROOT, run } from '../command.ts'
import { get, OWN, post, startGateway, type TestGateway } from '../gateway.ts'

const TOLD = 'a reply of the service differs from what the gateway knows'
const HTML = { accept: 'text/html' }
const QUOTE = { TempShipFromPostalCode: '10314', TempShipToPostalCode: '33166' }

const quote = (gateway: TestGateway) => post(gateway, '/getShippingQuote.php', QUOTE)
const told = ({ lines }: TestGateway) => lines().flatMap(({ msg, drift }) => (msg === TOLD ? [drift] : []))
const metricsOf = async ({ adminUrl }: TestGateway) => (await get({ url: adminUrl }, '/metrics')).text

/** Starts a gateway before a service whose quotes have one more member. */
async function changing(store: Store, member = '"currency":"USD"') {
  const gateway = await startGateway({ store, env: OWN, countsEveryMs: 20 })
  const body = `{"shipment_id":"6f1e4c1e-7a55-4b0c-9a3f-2f9d1c0b7e11","price":1234.5,${member}}`
  gateway.sandbox.fail({ kind: 'body', body, times: 'always', on: { path: '/v2/quote' } })
  return gateway
}

test('a difference is one log line, over calls, gateways and restarts, and is counted', async () => {
  const store = createMemoryStore()
  const first = await changing(store)
  for (let i = 0; i < 5; i += 1) expect((await quote(first)).status).toBe(200)
  expect(await first.logged(/differs/)).toMatchObject({
    level: 'warn',
    drift: { kind: 'new-field', path: 'quote.currency' },
  })
  const second = await changing(store)
  await quote(second)
  await expect.poll(async () => (await store.listDrift())[0]?.count).toBe(6)
  await first.gateway.close()
  const third = await changing(store)
  await quote(third)
  await expect.poll(async () => (await store.listDrift())[0]?.count).toBe(7)
  expect([first, second, third].flatMap(told)).toHaveLength(1)
  expect(await metricsOf(third)).toMatch(/^transload_reply_drift_total\{kind="new-field"\} 1$/m)
  expect(await metricsOf(third)).toMatch(/^transload_reply_drift_total\{kind="missing-field"\} 0$/m)
})

test('the service of the interface document shows no difference, whatever is asked', async () => {
  const gateway = await startGateway({ env: OWN, countsEveryMs: 20 })
  const booking = {
    ReferenceNumber: 'R-1',
    ...{ PickupZip: '02134', DeliveryZip: '75234', BillToName: 'Example', VinNo: '1FDXE4FN9PDD32477' },
  }
  const named = { ...QUOTE, ShipmentNumber: 'Q-1' }
  const calls = [
    ['/getShippingQuote.php', named],
    ['/getShippingQuote.php', { ...named, ActionName: 'Update Rate' }],
    ['/getShippingQuote.php', { ...named, ActionName: 'Accept Rate' }],
    ['/createShipment.php', booking],
    ['/updateShipment.php', { ReferenceNumber: 'R-1', PickupName: 'Pat' }],
  ] as const
  for (const [path, body] of calls) expect((await post(gateway, path, body)).status).toBe(200)
  const shipment = [...gateway.sandbox.shipments.values()].find(({ external_id }) => external_id === 'R-1')
  for (const step of ['assigned', 'picked_up', 'bol_available', 'delivered'] as const) {
    gateway.sandbox.advance(shipment?.id ?? '', step)
    expect((await get(gateway, '/getShipment.php?ReferenceNumber=R-1')).status).toBe(200)
  }
  expect((await post(gateway, '/deleteShipment.php', { ReferenceNumber: 'R-1' })).status).toBe(200)
  await gateway.gateway.close()
  expect(await gateway.store.listDrift()).toEqual([])
  expect(told(gateway)).toEqual([])
})

test('a reply that the gateway cannot answer with is looked at, too', async () => {
  const store = createMemoryStore()
  const gateway = await startGateway({ store, env: OWN, sandbox: { deviations: ['quote-is-object'] } })
  expect((await quote(gateway)).status).toBe(502)
  await gateway.gateway.close()
  expect((await store.listDrift()).map(({ kind, path }) => `${kind} ${path}`)).toEqual([
    'missing-field quote.price',
    'missing-field quote.shipment_id',
    'new-field quote.data',
  ])
})

test('no value is shown: not in the log, the metrics, the pages, the command or the store', async () => {
  const folder = newFolder('drift')
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'store.db')
  const store = await openStore(path)
  const canary = `canary-${randomBytes(8).toString('hex')}`
  const member = `"${canary}@example.com":1,"token":"${canary}","holder":{"${canary}":"${canary}"},"2145550100":"x"`
  const gateway = await changing(store, member)
  await quote(gateway)
  gateway.sandbox.clearFaults()
  await post(gateway, '/createShipment.php', {
    ...{ ReferenceNumber: 'R-1', PickupZip: '02134', DeliveryZip: '75234', BillToName: 'E', VinNo: 'X' },
  })
  for (const [id, shipment] of gateway.sandbox.shipments) {
    gateway.sandbox.shipments.set(id, { ...shipment, transport_type: canary, instructions: canary })
  }
  await get(gateway, '/getShipment.php?ReferenceNumber=R-1')
  await expect.poll(async () => (await store.listDrift()).length).toBe(4)
  const page = await get({ url: gateway.adminUrl }, '/migration', HTML)
  const json = await get({ url: gateway.adminUrl }, '/migration')
  expect(page.text).toContain('<h2>Changes of the service</h2>')
  expect(page.text).toContain('<bdi>shipment.transport_type</bdi>')
  expect(json.json.drift.map(({ kind, path }: { kind: string; path: string }) => `${kind} ${path}`).sort()).toEqual([
    'new-field quote.(an unusual name)',
    'new-field quote.holder',
    'new-field quote.token',
    'new-value shipment.transport_type',
  ])
  const env = cleanEnv({ STORE_URL: path })
  const check = (...words: readonly string[]) =>
    run(process.execPath, [join(ROOT, 'src/main.ts'), 'check', '--drift', ...words], { env })
  const { code, out } = await check()
  expect(code).toBe(0)
  expect(out.split('\n')[0]).toMatch(/^difference +replies +first seen +last seen +place$/)
  expect(out).toMatch(/^new-field +2 +\S+Z +\S+Z +quote\.\(an unusual name\)$/m)
  const asJson = await check('--json')
  expect(JSON.parse(asJson.out)).toHaveLength(4)
  const files = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'latin1'))
  const log = JSON.stringify(gateway.lines().filter(({ msg }) => msg === TOLD))
  const texts = [log, await metricsOf(gateway), page.text, json.text, out, asJson.out, ...files]
  expect(texts.filter((text) => text.includes(canary))).toEqual([])
})

test('nothing is listed where no reply differed', async () => {
  const gateway = await startGateway()
  expect((await get({ url: gateway.adminUrl }, '/migration', HTML)).text).not.toContain('Changes of the service')
  const folder = newFolder('drift')
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'store.db')
  await (await openStore(path)).close()
  const { out } = await run(process.execPath, [join(ROOT, 'src/main.ts'), 'check', '--drift'], {
    env: cleanEnv({ STORE_URL: path }),
  })
  expect(out).toBe('No reply of the service has differed from what the gateway knows.\n')
})

test('a store that is down changes no call, and is told later', async () => {
  const memory = createMemoryStore()
  let isDown = true
  const store: Store = {
    ...memory,
    addDrift: (batch) => (isDown ? Promise.reject(new StoreDown('The store is down.')) : memory.addDrift(batch)),
  }
  const gateway = await changing(store)
  expect((await quote(gateway)).status).toBe(200)
  await gateway.logged(/the differences in replies could not be stored/)
  expect((await quote(gateway)).status).toBe(200)
  isDown = false
  await gateway.logged(/differs/)
  expect(await memory.listDrift()).toMatchObject([{ path: 'quote.currency', count: 2 }])
  expect(gateway.lines().filter(({ msg }) => /could not be stored/.test(String(msg)))).toHaveLength(1)
})
