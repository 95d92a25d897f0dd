import { beforeEach, describe, expect, test } from 'vitest'
import { loadMappings } from '../../src/config/mappings.ts'
import { createDeliver, type DeliverDeps, type Delivery } from '../../src/delivery/deliver.ts'
import { createDeliveryMetrics } from '../../src/delivery/metrics.ts'
import type { Reply, Try } from '../../src/delivery/post.ts'
import { createLog } from '../../src/observe/log.ts'
import { currentMoment } from '../../src/store/elapsed.ts'
import { createMemoryStore } from '../../src/store/sqlite/sqlite.ts'
import type { Store } from '../../src/store/store.ts'
import { createXref } from '../../src/xref/xref.ts'
import { endpoint } from './office.ts'

const LEASE_MS = 1_000
const NEVER_MS = 1_000_000_000
const catalog = await loadMappings()

let now: number
let store: Store
let reply: Reply
let posted: Try[]
let lines: Readonly<Record<string, unknown>>[]
beforeEach(() => {
  now = Date.UTC(2026, 10, 22)
  store = createMemoryStore({ now: () => now })
  reply = { kind: 'answered', status: 200, retryAfter: undefined }
  posted = []
  lines = []
})

function deliver(delivery: Delivery, given: Partial<DeliverDeps> = {}) {
  return createDeliver({
    events: store,
    claims: store,
    xref: createXref(store, NEVER_MS),
    catalog,
    now: store.now,
    wallClock: () => 5_000,
    post: async (_, attempt) => {
      posted.push(attempt)
      return reply
    },
    log: createLog('info', { write: (line) => void lines.push(JSON.parse(line)) }),
    counters: createDeliveryMetrics(store, store.now).counters,
    leaseMs: LEASE_MS,
    ...given,
  })(delivery)
}

/** Leases an event that was leased this long ago. */
async function leased(agoMs = 0): Promise<Delivery> {
  const shipment = {
    tenant: 'acme',
    shipment: 's-1',
    event: 'shipment.created',
    date: 'now',
    digest: '',
    payload: '{}',
  }
  await store.takeEvent({ ...shipment, deliver: true })
  const [event] = await store.leaseEvents('acme', 1, LEASE_MS)
  const { monotonic, wall } = currentMoment()
  const leasedAt = { monotonic: monotonic - agoMs, wall: wall - agoMs }
  const url = endpoint('https://hook.example.com/a?key=secret')
  return { event: event ?? expect.fail('no event'), endpoint: url, leasedAt, signal: new AbortController().signal }
}
const found = async ({ event }: Delivery) => store.findEvent(event.id)

describe('a try', () => {
  test('starts in the first half of its lease, and not after it', async () => {
    expect(await deliver(await leased(LEASE_MS / 2 + 1))).toBe('none')
    expect(posted).toEqual([])
    now += LEASE_MS
    const early = await leased(LEASE_MS / 2 - 100)
    expect(await deliver(early)).toBe('delivered')
    expect(posted).toMatchObject([{ id: early.event.id, at: 5_000, body: { format: 'json' } }])
  })

  test('does not start once the gateway shuts down', async () => {
    expect(await deliver({ ...(await leased()), signal: AbortSignal.abort() })).toBe('none')
    expect(posted).toEqual([])
  })

  test('of an event that has no callback ends without one', async () => {
    const delivery = await leased()
    expect(await deliver(delivery, { catalog: { callbackOf: () => undefined } })).toBe('none')
    expect(posted).toEqual([])
    expect(await found(delivery)).toMatchObject({
      state: 'skipped',
      outcome: 'no callback is declared for this event',
      failures: 0,
    })
  })

  test('that the gateway interrupts is no failure of the endpoint', async () => {
    const ending = new AbortController()
    const delivery = await leased()
    const post = async () => {
      ending.abort()
      return { kind: 'failed', reason: 'interrupted' } as const
    }
    expect(await deliver({ ...delivery, signal: ending.signal }, { post })).toBe('none')
    expect(await found(delivery)).toMatchObject({ state: 'due', failures: 0, outcome: 'interrupted by a shutdown' })
  })

  test('of an event that another process has changed meanwhile is told to nobody', async () => {
    reply = { kind: 'answered', status: 410, retryAfter: undefined }
    const delivery = await leased()
    await deliver({ ...delivery, event: { ...delivery.event, version: 99, body: { text: '', format: 'json' } } })
    expect(lines).toEqual([])
  })
})

test.each([
  [{ kind: 'answered', status: 410, retryAfter: undefined } as const, 'an endpoint has stopped its deliveries', {}],
  [{ kind: 'refused', reason: 'not allowed' } as const, 'an event is parked', { failures: 1 }],
])('after the reply %j the log says: %s', async (given, msg, more) => {
  reply = given
  const delivery = await leased()
  expect(await deliver(delivery)).toBe('failed')
  const outcome = 'reason' in given ? given.reason : 'answered 410'
  const line = {
    level: 'error',
    msg,
    event: delivery.event.id,
    kind: 'shipment.created',
    tenant: 'acme',
    outcome,
    ...more,
  }
  expect(lines).toMatchObject([{ ...line, url: 'https://hook.example.com/a?***' }])
})
