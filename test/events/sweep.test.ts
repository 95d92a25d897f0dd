import { expect, onTestFinished, test } from 'vitest'
import { createMemoryStore } from '../../src/store/sqlite/sqlite.ts'
import { book, creations, expectBooked, expectUnknown, REFERENCE, shipments } from '../bookings/desk.ts'
import { as, openEdge, tenant } from '../callers/edge.ts'
import { basic, CLIENT, OWN, startGateway, type TestGateway } from '../gateway.ts'
import { metric, SHORT_TIMEOUT, untilState } from './deliver.ts'

const CREATION = { method: 'POST', path: /^\/v2\/shipments?$/ }
const LOST = { kind: 'timeout', on: CREATION } as const
const NOT_MADE = { kind: 'timeout-unprocessed', on: CREATION } as const

const env = { ...OWN, ...SHORT_TIMEOUT, SWEEP_INTERVAL: '1h' }

/** Opens another gateway on the same store, as after a restart. */
const restart = ({ sandbox, store }: TestGateway, more: Readonly<Record<string, string>> = {}) =>
  startGateway({ env: { ...env, ...more }, store, serviceUrl: sandbox.url })

const reads = ({ sandbox }: Pick<TestGateway, 'sandbox'>) => sandbox.requests.filter(({ method }) => method === 'GET')

test('after a start, a booking is found by the reference', async () => {
  const gateway = await startGateway({ env, sandbox: { findsByReference: true } })
  gateway.sandbox.fail(LOST)
  const handle = expectUnknown(await book(gateway))
  const after = await restart(gateway)
  const claim = await untilState(gateway.store, handle, 'booked')
  expect(claim.shipment).toBe(shipments(gateway, REFERENCE)[0]?.id)
  expect(expectBooked(await book(after), true)).toBe(claim.shipment)
  expect((await gateway.store.audit(handle)).at(-1)?.why).toBe('healed: sweep')
  expect(await metric(after, 'transload_bookings_healed_total')).toMatchObject({ 'how="sweep"': 1 })
  expect(creations(gateway)).toBe(1)
})

test('a shipment that is found and is not the one of the booking changes nothing', async () => {
  const gateway = await startGateway({ env })
  const other = await book(gateway)
  const number = other.headers.get('transload-shipment-number') ?? ''
  gateway.sandbox.fail(NOT_MADE)
  // The reference is the number that the service gave another shipment.
  const handle = expectUnknown(await book(gateway, { ReferenceNumber: number }))
  const found = gateway.sandbox.next(({ method, path }) => method === 'GET' && path.endsWith(`/${number}`))
  const after = await restart(gateway)
  await found
  await gateway.sandbox.idle()
  await after.gateway.close()
  expect((await gateway.store.claimByHandle(handle))?.state).toBe('unknown')
})

test('a service that fails is left alone until the next sweep', async () => {
  const gateway = await startGateway({ env })
  const references = Array.from({ length: 20 }, (_, i) => `REF-${i}`)
  gateway.sandbox.fail({ ...NOT_MADE, times: references.length })
  await Promise.all(references.map(async (ReferenceNumber) => expectUnknown(await book(gateway, { ReferenceNumber }))))
  gateway.sandbox.requests.length = 0
  gateway.sandbox.fail({ kind: 'status', status: 500, times: 'always', on: { method: 'GET' } })
  const { gateway: after, lines } = await restart(gateway)
  const failed = () => lines().filter(({ msg }) => /could not be looked for/.test(String(msg))).length
  await expect.poll(failed).toBeGreaterThanOrEqual(3)
  await after.close()
  expect(new Set(reads(gateway).map(({ path }) => path)).size).toBeLessThan(references.length / 2)
})

test('a gateway that is told to stop does not wait longer than it may for a read', async () => {
  const gateway = await startGateway({ env })
  gateway.sandbox.fail(NOT_MADE)
  expectUnknown(await book(gateway))
  gateway.sandbox.fail({ kind: 'timeout', times: 'always', on: { method: 'GET' } })
  const asked = gateway.sandbox.next(({ method }) => method === 'GET')
  const after = await restart(gateway, { UPSTREAM_TIMEOUT_MS: '60000', SHUTDOWN_GRACE_MS: '100' })
  await asked
  // Within the time of a test, which is half of what the service takes.
  await expect(after.gateway.close()).resolves.toBeUndefined()
})

test('two gateways that start at once heal every booking once', async () => {
  const store = createMemoryStore()
  const gateway = await startGateway({ env, store, sandbox: { findsByReference: true } })
  const references = Array.from({ length: 10 }, (_, i) => `REF-${i}`)
  gateway.sandbox.fail({ ...LOST, times: references.length })
  const handles = await Promise.all(
    references.map(async (ReferenceNumber) => expectUnknown(await book(gateway, { ReferenceNumber }))),
  )
  await Promise.all([restart(gateway), restart(gateway)])
  for (const handle of handles) {
    await untilState(store, handle, 'booked')
    const healed = (await store.audit(handle)).filter(({ why }) => why.startsWith('healed'))
    expect(healed).toHaveLength(1)
  }
})

test('in client mode, only the credential for events sweeps', async () => {
  const clientEnv = { ...SHORT_TIMEOUT, SWEEP_INTERVAL: '1h' }
  const credentials = { [CLIENT.id]: CLIENT.secret, rival: 'rival-secret' }
  const sandbox = { credentials, findsByReference: true }
  const gateway = await startGateway({ env: clientEnv, sandbox })
  gateway.sandbox.fail(LOST, LOST)
  const handle = expectUnknown(await book(gateway))
  const theirs = expectUnknown(await book(gateway, {}, { authorization: basic('rival', 'rival-secret') }))
  const { sandbox: service, store } = gateway
  gateway.sandbox.requests.length = 0
  await startGateway({ env: clientEnv, store, serviceUrl: service.url })
  const own = { WEBHOOK_CLIENT_ID: CLIENT.id, WEBHOOK_CLIENT_SECRET: CLIENT.secret }
  await startGateway({ env: { ...clientEnv, ...own }, store, serviceUrl: service.url })
  await untilState(store, handle, 'booked')
  expect((await store.claimByHandle(theirs))?.state).toBe('unknown')
  expect(reads(gateway).map(({ headers }) => headers.authorization)).toEqual([basic()])
})

test('in tenants mode, each secret names its tenant, whose own credential reads', async () => {
  const hooks = { acme: 'hook-of-acme-0123456789', zenith: 'hook-of-zenith-0123456789' }
  process.env['HOOK_ACME'] = hooks.acme
  process.env['HOOK_ZENITH'] = hooks.zenith
  onTestFinished(() => {
    delete process.env['HOOK_ACME']
    delete process.env['HOOK_ZENITH']
  })
  const edge = await openEdge(
    (place) => [
      tenant(place, 'acme', { webhook_secret: { env: 'HOOK_ACME' } }),
      tenant(place, 'zenith', { webhook_secret: { env: 'HOOK_ZENITH' } }),
    ],
    { env: { ...SHORT_TIMEOUT, SWEEP_INTERVAL: '1h' } },
  )
  const webhookRetry = { attempts: 6, delayMs: 20 }
  edge.sandbox.set({ webhookUrl: `${edge.url}/webhooks/${hooks.acme}`, webhookRetry })
  edge.sandbox.fail(LOST, LOST)
  // The event of the second one comes with the secret of the first, who cannot read its shipment.
  const own = expectUnknown(await book(edge, {}, as('acme')))
  const other = expectUnknown(await book(edge, {}, as('zenith')))
  await untilState(edge.store, own, 'booked')
  expect(expectBooked(await book(edge, {}, as('acme')), true)).toBe((await edge.store.claimByHandle(own))?.shipment)
  expect((await edge.store.claimByHandle(other))?.state).toBe('unknown')
  edge.sandbox.set({ webhookUrl: `${edge.url}/webhooks/${hooks.zenith}` })
  for (const { id } of shipments(edge, REFERENCE)) edge.sandbox.advance(id, 'assigned')
  await untilState(edge.store, other, 'booked')
})
