import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { type Fault, NATIVE_ERROR_NAMES, type NativeError } from '../../src/sandbox/sandbox.ts'
import { openStore } from '../../src/store/open.ts'
import { newFolder } from '../command.ts'
import { get, post, startGateway, type TestGateway, type TestGatewayOptions } from '../gateway.ts'
import { isOfRead, QUOTE } from './service-pair.ts'

const PATIENCE_MS = 30_000
/** Every quote and read is compared, and the results are stored at once. */
const ALL = { SHADOW_SHARE: '1', SHADOW_PER_SECOND: '10000' }
const BOOKING = {
  ReferenceNumber: 'REF-1',
  PickupZip: '10314',
  PickupAddress: '10 Sample St',
  PickupCity: 'Staten Island',
  PickupName: 'Pat Example',
  'PickupPhNo.': '7185550100',
  PickupTransportationInstruction: 'Ring twice',
  DeliveryZip: '33166',
  DeliveryName: 'Sam Sample',
  BillToName: 'Example Motors',
  Year: '2023',
  Make: 'Ford',
  VinNo: '1FDXE4FN9PDD32477',
}

const startShadowed = (options: TestGatewayOptions = {}) =>
  startGateway({ countsEveryMs: 20, ...options, env: { ...ALL, ...options.env } })

/** The results of sampled calls so far. */
async function results({ adminUrl }: TestGateway): Promise<Readonly<Record<string, number>>> {
  const text = await (await fetch(`${adminUrl}/metrics`)).text()
  const found = [...text.matchAll(/^transload_shadow_calls_total\{result="([^"]+)"\} (\d+)$/gm)]
  return Object.fromEntries(found.map(([, result = '', count]) => [result, Number(count)]))
}

const ended = async (gateway: TestGateway) =>
  Object.values(await results(gateway)).reduce((sum, count) => sum + count, 0)

/** Resolves when so many sampled calls were compared or dropped. */
const settled = (gateway: TestGateway, calls: number) =>
  vi.waitFor(async () => expect(await ended(gateway)).toBe(calls), PATIENCE_MS)

const quote = (gateway: TestGateway, more: object = {}, headers: Readonly<Record<string, string>> = {}) =>
  post(gateway, '/getShippingQuote.php', { ...QUOTE, ...more }, headers)
const read = (gateway: TestGateway, headers: Readonly<Record<string, string>> = {}) =>
  get(gateway, '/getShipment.php?ReferenceNumber=REF-1', headers)

const isNative = ({ path }: { readonly path: string }) => path.startsWith('/get')

test('each of twenty wrong ways of the service is found in live traffic, and the rest is equal', async () => {
  const gateway = await startShadowed()
  expect(await post(gateway, '/createShipment.php', BOOKING)).toMatchObject({ status: 200 })
  let calls = 0
  for (const nativeError of NATIVE_ERROR_NAMES) {
    gateway.sandbox.set({ nativeError })
    await quote(gateway, {}, { 'x-request-id': `quote.${nativeError}` })
    await read(gateway, { 'x-request-id': `read.${nativeError}` })
    calls += 2
    await settled(gateway, calls)
  }
  const stored = await vi.waitFor(async () => {
    const differences = await gateway.store.differences()
    const named = new Set(differences.map(({ requestId }) => requestId))
    expect([...named].sort()).toEqual(NATIVE_ERROR_NAMES.map(spoiled).sort())
    return differences
  }, PATIENCE_MS)
  expect(stored.find(({ requestId }) => requestId === 'quote.cent-more')).toMatchObject({
    action: 'quote.get',
    field: 'Cost',
  })
  expect(stored.find(({ requestId }) => requestId === 'quote.extra-field')).toMatchObject({ field: '(other field)' })
  expect(await results(gateway)).toMatchObject({ equal: 20, differs: 20, failed: 0 })
  expect(gateway.sandbox.shipments.size).toBe(1)
  const told = gateway.lines().filter(({ msg }) => /differs from the service/.test(String(msg)))
  expect(told).toContainEqual(expect.objectContaining({ action: 'shipment.get', field: 'VinNo', level: 'warn' }))

  const page = await (await fetch(`${gateway.adminUrl}/migration`, { headers: { accept: 'text/html' } })).text()
  expect(page).toContain('Compared fields, those that differ first')
  expect(page).toContain('read.loses-instruction')
  const json: unknown = await (await fetch(`${gateway.adminUrl}/migration.json`)).json()
  const { shadow } = Object(json)
  expect(shadow.fields).toContainEqual({ action: 'shipment.get', field: 'VinNo', equal: 19, differs: 1, noise: 0 })
})

const spoiled = (error: NativeError) => `${isOfRead(error) ? 'read' : 'quote'}.${error}`

describe('nothing is invented', () => {
  test.each([0, 1, 2, 3, 5])('while ids and times differ and the price moves after %i quotes', async (movingPrices) => {
    const CALLS = 20
    const gateway = await startShadowed({ sandbox: { nativeNoise: true, movingPrices } })
    await post(gateway, '/createShipment.php', BOOKING)
    for (let i = 0; i < CALLS; i += 1) {
      expect((await quote(gateway, { ShipmentNumber: i % 2 ? `WTS${i}` : '' })).status).toBe(200)
      expect((await read(gateway)).status).toBe(200)
    }
    await settled(gateway, 2 * CALLS)
    expect(await results(gateway)).toMatchObject({ equal: 2 * CALLS, differs: 0, failed: 0 })
  })
})

describe('a shadow changes no call', () => {
  const native = { path: /^\/get/ }
  const always = { on: native, times: 'always' } as const
  const targets: readonly { readonly name: string; readonly fault?: Fault }[] = [
    { name: 'is right' },
    { name: 'never answers', fault: { kind: 'timeout', ...always } },
    { name: 'drips', fault: { kind: 'drip', ms: 50, ...always } },
    { name: 'resets connections', fault: { kind: 'reset-before', ...always } },
    { name: 'fails', fault: { kind: 'status', status: 503, ...always } },
    {
      name: 'refuses the credential',
      fault: { kind: 'status', status: 401, headers: { 'www-authenticate': 'Bearer' }, ...always },
    },
    { name: 'answers no JSON', fault: { kind: 'not-json', ...always } },
    { name: 'answers in version 2', fault: { kind: 'body', body: '{"shipment_id":"x","price":1}', ...always } },
    { name: 'answers a huge body', fault: { kind: 'huge', megabytes: 9, ...always } },
    { name: 'lies', fault: { kind: 'body', body: '{"Cost":"1.00","ShipmentNumber":"x"}', ...always } },
  ]
  const CALLS = 12

  /** Makes the same calls, and returns what callers and the service see of them. */
  async function callsOf(env: Readonly<Record<string, string>>, faults: readonly Fault[]) {
    const gateway = await startGateway({ env, countsEveryMs: 20 })
    await post(gateway, '/createShipment.php', BOOKING)
    gateway.sandbox.fail(...faults)
    gateway.sandbox.requests.length = 0
    const answers = await Promise.all(
      Array.from({ length: CALLS }, async (_, i) => {
        const { status, text } = i % 3 === 2 ? await read(gateway) : await quote(gateway, { ShipmentNumber: `WTS${i}` })
        // The reads of both runs show different shipments.
        return [status, i % 3 === 2 ? Object.keys(JSON.parse(text)) : text]
      }),
    )
    // The natively asked service has nothing to say about what these calls took.
    const metrics = await (await fetch(`${gateway.adminUrl}/metrics`)).text()
    return { gateway, seen: { answers, work: workIn(metrics) } }
  }

  /** The work that live calls caused, and what protects the service from them. */
  function workIn(metrics: string): readonly string[] {
    const names = /^transload_(service_retries_total|service_seconds_count|circuit_open|tokens_total)/
    const lines = metrics.split('\n').filter((line) => names.test(line))
    expect(lines.length).toBeGreaterThan(3)
    return lines.map((line) => line.replace(/http:[^"]*/, ''))
  }

  test.each(targets)('where the native path $name', async ({ fault }) => {
    const [off, on] = await Promise.all([
      callsOf({}, []),
      callsOf({ ...ALL, UPSTREAM_TIMEOUT_MS: '60000' }, fault ? [fault] : []),
    ])
    expect(on.seen).toEqual(off.seen)
    expect(off.gateway.sandbox.requests.filter(isNative)).toEqual([])
    // All calls were answered while native requests are still under way, or wait for those.
    const later = await quote(on.gateway)
    expect(later.status).toBe(200)
    const translated = on.gateway.sandbox.requests.filter((request) => !isNative(request))
    expect(translated.length).toBeLessThanOrEqual(2 * (CALLS + 1))
    await on.gateway.gateway.close()
  })

  test('the calls are answered before the service is asked natively', async () => {
    const gateway = await startShadowed()
    gateway.sandbox.fail({ kind: 'timeout', ...always })
    const asked = gateway.sandbox.next(isNative)
    expect((await quote(gateway)).status).toBe(200)
    await asked
    expect((await quote(gateway)).status).toBe(200)
    // The end does not wait for a service that is silent.
    await gateway.gateway.close()
    expect(gateway.sandbox.requests.filter(isNative).length).toBeLessThanOrEqual(2)
  })
})

test('a budget limits the comparisons of a second; the rest is dropped and counted', async () => {
  const gateway = await startShadowed({ env: { SHADOW_PER_SECOND: '2' } })
  const CALLS = 30
  await Promise.all(Array.from({ length: CALLS }, () => quote(gateway)))
  await settled(gateway, CALLS)
  const { equal = 0, 'over budget': dropped = 0 } = await results(gateway)
  expect(equal).toBeGreaterThanOrEqual(2)
  expect(equal + dropped).toBe(CALLS)
  expect(gateway.sandbox.requests.filter(isNative)).toHaveLength(2 * equal)
})

test('a full queue drops calls and counts them', async () => {
  const gateway = await startShadowed()
  gateway.sandbox.fail({ kind: 'timeout', on: { path: /^\/get/ }, times: 'always' })
  await Promise.all(Array.from({ length: 130 }, () => quote(gateway)))
  await vi.waitFor(async () => expect((await results(gateway))['queue full']).toBeGreaterThanOrEqual(20), PATIENCE_MS)
})

test('nothing is compared while it is off, nor of calls that change something', async () => {
  const off = await startGateway()
  await quote(off)
  expect(await results(off)).toEqual({})
  expect(off.sandbox.requests.filter(isNative)).toEqual([])

  const gateway = await startShadowed()
  await post(gateway, '/createShipment.php', BOOKING)
  await post(gateway, '/updateShipment.php', { ReferenceNumber: 'REF-1', PickupName: 'Sam' })
  await quote(gateway, { ShipmentNumber: 'Q1', TempShipToPostalCode: '33167' })
  await settled(gateway, 1)
  await post(gateway, '/getShippingQuote.php', { ...QUOTE, ShipmentNumber: 'Q1', ActionName: 'Update Rate' })
  await post(gateway, '/getShippingQuote.php', { ShipmentNumber: 'Q1', ActionName: 'Approve Rate' })
  await post(gateway, '/deleteShipment.php', { ReferenceNumber: 'REF-1' })
  await read(gateway)
  await settled(gateway, 2)
  const natives = gateway.sandbox.requests.filter(({ path }) => /\.php/.test(path))
  expect(natives.map(({ path }) => path.split('?')[0])).toEqual([
    ...Array(2).fill('/getShippingQuote.php'),
    ...Array(2).fill('/getShipment.php'),
  ])
})

test('the share decides how many calls are compared', async () => {
  const gateway = await startShadowed({ env: { SHADOW_SHARE: '0.3' } })
  const CALLS = 200
  for (let i = 0; i < CALLS; i += 20) await Promise.all(Array.from({ length: 20 }, () => quote(gateway)))
  await vi.waitFor(async () => expect(await ended(gateway)).toBeGreaterThan(0), PATIENCE_MS)
  await gateway.gateway.close()
  const compared = gateway.sandbox.requests.filter(isNative).length / 2
  // Six standard deviations.
  expect(compared).toBeGreaterThan(20)
  expect(compared).toBeLessThan(100)
})

test('no value is found in the log, the metrics, the page or the store', async () => {
  const folder = newFolder('shadow')
  const store = await openStore(`sqlite:${join(folder, 'store.db')}`, {})
  const gateway = await startShadowed({ store, sandbox: { nativeError: 'swaps-ends' } })
  const canaries = {
    PickupName: 'Kanariya Quellwasser',
    PickupAddress: '7712 Zypressenhain',
    PickupCity: 'Xanthippolis',
    'PickupPhNo.': '2145557712',
    PickupEmailAddress: 'kanariya@example.com',
    PickupTransportationInstruction: 'Qwurzel behind the gate',
  }
  await post(gateway, '/createShipment.php', { ...BOOKING, ...canaries })
  const { text } = await read(gateway)
  expect(text).toContain('Kanariya Quellwasser')
  await settled(gateway, 1)
  await vi.waitFor(async () => expect((await store.differences()).length).toBeGreaterThan(5), PATIENCE_MS)
  const places = ['/metrics', '/migration', '/migration.json', '/bookings']
  const pages = await Promise.all(
    places.map(async (place) => (await fetch(gateway.adminUrl + place, { headers: { accept: 'text/html' } })).text()),
  )
  await gateway.gateway.close()
  await store.close()
  const files = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'latin1'))
  expect(files.join('')).toContain('DeliveryName')
  const told = [...pages, ...gateway.lines().map((line) => JSON.stringify(line)), ...files].join('\n')
  for (const canary of ['Kanariya', 'kanariya', '7712', 'Xanthippolis', 'Qwurzel']) expect(told).not.toContain(canary)
})
