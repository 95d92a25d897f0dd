import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as pause } from 'node:timers/promises'
import fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import { settle } from '../../src/bookings/settlement.ts'
import { loadMappings } from '../../src/config/mappings.ts'
import { translationSettings } from '../../src/config/translation-settings.ts'
import { openStore } from '../../src/store/open.ts'
import { createMemoryStore } from '../../src/store/sqlite/sqlite.ts'
import type { Claim, Store } from '../../src/store/store.ts'
import { type Answered, post, startGateway, type TestGateway } from '../gateway.ts'
import { runs } from '../size.ts'
import type { Fault } from '../stand-in/stand-in.ts'
import {
  book,
  creations,
  expectBooked,
  expectUnknown,
  HANDLE,
  isCreation,
  REFERENCE,
  STATES,
  STEPS,
  shipments,
} from './desk.ts'

/*
 * Two gateways before one store and one service, held against the table of states: first one call after the other, with
 * every answer predicted; then concurrently, with the invariants of every order.
 */

const LONG_MS = 180_000
const KEYS = 3
const ON_CREATION = { method: 'POST', path: '/v2/shipment*' }

/** The service's faults in a booking, with the state that follows and if there is a shipment. */
const ENDS = {
  fine: { state: 'booked', made: true },
  'reset-before': { state: 'unknown', made: false },
  'reset-after': { state: 'unknown', made: true },
  'no-id': { state: 'unknown', made: true },
  'half-json': { state: 'unknown', made: true },
  unavailable: { state: 'refused', made: false },
  invalid: { state: 'refused', made: false },
} as const
type End = keyof typeof ENDS

function faultOf(end: Exclude<End, 'fine'>): Fault {
  if (end === 'unavailable') return { kind: 'status', status: 503, on: ON_CREATION }
  if (end === 'invalid') return { kind: 'status', status: 422, on: ON_CREATION }
  return { kind: end, on: ON_CREATION }
}

/** Broken connections and 503 are rarer, because they would open the circuit. */
const ends = fc.constantFrom<End[]>(
  ...Array.from({ length: 6 }, () => 'fine' as const),
  ...(['reset-before', 'reset-after', 'unavailable', 'no-id', 'half-json', 'invalid'] as const),
  ...(['no-id', 'half-json', 'invalid'] as const),
)
/** The message if the circuit is open, or if the gateway has lost its lease. */
const NOT_SENT = /nothing was sent/

/**
 * Calls until something is sent. The circuit may be open, and a gateway whose lease was ended sends nothing until it has taken
 * a new one, which its heartbeat may notice during any call.
 */
async function untilSent(call: () => Promise<Answered>): Promise<Answered> {
  for (;;) {
    const answer = await call()
    if (answer.status !== 503 || !NOT_SENT.test(answer.json.Message)) return answer
    await pause(Number(answer.headers.get('retry-after')) * 1_000)
  }
}

const gateway = fc.nat({ max: 1 })
const key = fc.nat({ max: KEYS - 1 })
const body = fc.nat({ max: 1 })

/** Two gateways before one service, on one store or on two connections to it. */
interface Pair {
  readonly gateways: readonly [TestGateway, TestGateway]
  readonly store: Store
  readonly operator: (claim: Claim) => Promise<void>
}

async function openPair(stores: readonly [Store, Store]): Promise<Pair> {
  const one = await startGateway({ store: stores[0] })
  const other = await startGateway({ store: stores[1], serviceUrl: one.sandbox.url })
  const catalog = await loadMappings(undefined, undefined)
  const operator = async (claim: Claim) => {
    // The operator checks the service first.
    const found = shipments(one, claim.reference).find(({ vehicles }) => vehicles[0]?.vin === claim.vin)
    const settlement = found ? { shipment: found.id, number: found.number } : 'not-booked'
    const deps = {
      store: stores[0],
      catalog,
      settings: translationSettings(one.config),
      instance: 'operator',
    }
    await settle(claim, settlement, deps)
  }
  return { gateways: [one, other], store: stores[0], operator }
}

async function memoryPair(): Promise<Pair> {
  const store = createMemoryStore()
  return openPair([store, store])
}

interface FilePair extends Pair {
  /** Every step that any key has taken, with its why. */
  readonly steps: () => readonly { readonly step: string; readonly why: string }[]
}

async function filePair(): Promise<FilePair> {
  const folder = mkdtempSync(join(tmpdir(), 'transload-model-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'store.db')
  const pair = await openPair([await openStore(path), await openStore(path)])
  return {
    ...pair,
    steps: () => {
      const db = new DatabaseSync(path, { readOnly: true })
      const rows = db.prepare('SELECT was, became, why FROM claim_audit ORDER BY at, version').all()
      db.close()
      return rows.map(({ was, became, why }) => ({ step: `${was} → ${became}`, why: String(why) }))
    },
  }
}

const bodyOf = (run: number, which: number, variant: number) => ({
  ReferenceNumber: `${REFERENCE}-${run}-${which}`,
  DeliveryName: variant === 0 ? 'Robin Example' : 'Somebody Else',
})

async function claimOf({ store }: Pair, reference: string): Promise<Claim | undefined> {
  return (await store.listClaims({ limit: 100_000 })).findLast((claim) => claim.reference === reference)
}

describe('one call after the other', () => {
  const step = fc.oneof(
    { weight: 6, arbitrary: fc.record({ act: fc.constant('book'), gateway, key, body, end: ends }) },
    { weight: 2, arbitrary: fc.record({ act: fc.constant('settle'), gateway, key }) },
    { weight: 2, arbitrary: fc.record({ act: fc.constant('cancel'), gateway, key }) },
  )

  test('every answer is the one that the table foretells', { timeout: LONG_MS }, async () => {
    const pair = await memoryPair()
    const [first] = pair.gateways
    let run = 0
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 20 }), async (steps) => {
        run += 1
        const model = Array.from({ length: KEYS }, () => ({ state: 'none', body: 0, id: '', live: 0 }))
        for (const each of steps) {
          const gateway = pair.gateways[each.gateway] ?? first
          const entry = model[each.key] ?? expect.fail('no such key')
          const fields = bodyOf(run, each.key, 'body' in each ? each.body : 0)
          const reference = fields.ReferenceNumber
          const sent = creations(first)
          if ('end' in each) {
            const end: End = each.end
            if (end !== 'fine') first.sandbox.fail(faultOf(end))
            const answer = await book(gateway, fields)
            first.sandbox.clearFaults()
            const different = entry.body !== each.body
            if (entry.state === 'unknown') {
              expectUnknown(answer)
              expect(creations(first)).toBe(sent)
            } else if (entry.state === 'booked' && different) {
              expect([answer.status, creations(first)]).toEqual([409, sent])
            } else if (entry.state === 'booked') {
              expect(expectBooked(answer, true)).toBe(entry.id)
              expect(creations(first)).toBe(sent)
            } else if (NOT_SENT.test(answer.json.Message)) {
              expect([answer.status, creations(first)]).toEqual([503, sent])
              Object.assign(entry, { state: 'freed', live: 0 })
            } else {
              expect(creations(first)).toBe(sent + 1)
              const { state, made } = ENDS[end]
              Object.assign(entry, { state, body: each.body, live: made ? 1 : 0 })
              if (state === 'booked') entry.id = expectBooked(answer)
              else if (state === 'unknown') expectUnknown(answer)
              else expect(answer.status).toBe(end === 'invalid' ? 422 : 503)
            }
          } else if (each.act === 'settle') {
            const claim = await claimOf(pair, reference)
            if (claim) await pair.operator(claim)
            if (entry.state === 'unknown') entry.state = entry.live > 0 ? 'booked' : 'freed'
            if (entry.state === 'booked') entry.id = (await claimOf(pair, reference))?.shipment ?? ''
          } else {
            const { status } = await post(gateway, '/deleteShipment.php', { ReferenceNumber: reference })
            if (entry.state === 'booked') {
              expect(status).toBe(200)
              Object.assign(entry, { state: 'freed', live: 0 })
            }
          }
          const claim = await claimOf(pair, reference)
          expect(claim?.state ?? 'none').toBe(entry.state)
          expect(shipments(first, reference)).toHaveLength(entry.live)
        }
      }),
      { numRuns: runs(25, 150) },
    )
  })
})

describe('all at once', () => {
  const call = fc.oneof(
    { weight: 8, arbitrary: fc.record({ act: fc.constant('book' as const), gateway, key, body }) },
    { weight: 2, arbitrary: fc.record({ act: fc.constant('cancel' as const), gateway, key, body }) },
    { weight: 1, arbitrary: fc.record({ act: fc.constant('settle' as const), gateway, key, body }) },
    { weight: 1, arbitrary: fc.record({ act: fc.constant('death' as const), gateway, key, body }) },
  )
  const callers = fc.array(fc.array(call, { minLength: 1, maxLength: 5 }), { minLength: 2, maxLength: 8 })
  const trouble = fc.array(fc.oneof(ends, fc.constant('slow' as const)), { maxLength: 12 })

  test.each([
    { store: 'memory', open: memoryPair },
    { store: 'a file', open: filePair },
  ])('what must hold holds on $store', { timeout: LONG_MS }, async ({ open }) => {
    const pair: Pair & Partial<FilePair> = await open()
    const [first] = pair.gateways
    let run = 0
    let counted = { unknown: 0, booked: 0 }
    await fc.assert(
      fc.asyncProperty(callers, trouble, async (scripts, faults) => {
        run += 1
        first.sandbox.clearFaults()
        for (const fault of faults) {
          const harmless = fault === 'slow' || fault === 'fine'
          const slow: Fault = { kind: 'delay', ms: fault === 'slow' ? 40 : 0, on: ON_CREATION }
          first.sandbox.fail(harmless ? slow : faultOf(fault))
        }
        const acknowledged = new Map<number, Set<string>>()
        const canceled = new Set<string>()
        const underWay = new Set<Promise<unknown>>()
        const during = async <T>(work: Promise<T>): Promise<T> => {
          underWay.add(work)
          return work.finally(() => underWay.delete(work))
        }
        const settleAll = async () => {
          // The operator first waits for the time-out of all calls that may have made the booking.
          const inDoubt = await pair.store.listClaims({ state: 'unknown' })
          await Promise.allSettled(underWay)
          for (const claim of inDoubt) await pair.operator(claim)
        }
        const caller = async (script: (typeof scripts)[number]) => {
          for (const each of script) {
            const gateway = pair.gateways[each.gateway] ?? first
            const known = acknowledged.get(each.key) ?? new Set()
            acknowledged.set(each.key, known)
            if (each.act === 'book') {
              const answer = await during(book(gateway, bodyOf(run, each.key, each.body)))
              const { TransportationBooked: word, Message: words } = answer.json
              expect([200, 409, 422, 503]).toContain(answer.status)
              if (word === 'Yes') known.add(expectBooked(answer, answer.headers.has('idempotent-replayed')))
              if (word === 'Unknown') expect(words).toMatch(HANDLE)
              counted = {
                unknown: counted.unknown + Number(word === 'Unknown'),
                booked: counted.booked + Number(word === 'Yes'),
              }
            } else if (each.act === 'cancel') {
              const id = [...known].find((one) => !canceled.has(one))
              if (id === undefined) continue
              canceled.add(id)
              const { status } = await during(
                untilSent(() => post(gateway, '/deleteShipment.php', { shipment_id: id })),
              )
              expect(status).toBe(200)
            } else if (each.act === 'settle') {
              await settleAll()
            } else {
              // A gateway that sends now counts as gone, and returns later with its answer.
              for (const { instance } of await pair.store.listClaims({ state: 'sending' })) {
                await pair.store.endLease(instance)
              }
              await pair.store.orphanClaims(10_000, 'another gateway')
            }
          }
        }
        await Promise.all(scripts.map(caller))
        await first.sandbox.idle()
        first.sandbox.clearFaults()

        for (const [which, known] of acknowledged) {
          const { ReferenceNumber: reference } = bodyOf(run, which, 0)
          const claim = await claimOf(pair, reference)
          const live = shipments(first, reference).map(({ id }) => id)
          expect(live.length).toBeLessThanOrEqual(1)
          expect(['none', 'booked', 'refused', 'unknown', 'freed']).toContain(claim?.state ?? 'none')
          for (const id of known) {
            expect(first.sandbox.shipments.has(id)).toBe(true)
            if (!canceled.has(id)) expect([claim?.state, claim?.shipment]).toEqual(['booked', id])
          }
          if (claim?.state === 'booked') expect(live).toEqual([claim.shipment])
        }
        await settleAll()
        for (const which of acknowledged.keys()) {
          const { ReferenceNumber: reference } = bodyOf(run, which, 0)
          const [before] = shipments(first, reference)
          const last = await untilSent(() => book(first, bodyOf(run, which, 0)))
          expect([200, 409]).toContain(last.status)
          const [after] = shipments(first, reference)
          expect(shipments(first, reference)).toHaveLength(1)
          if (before) expect(after?.id).toBe(before.id)
          if (last.status === 200) expect(last.headers.get('transload-shipment-id')).toBe(after?.id)
        }
        first.sandbox.requests.splice(0, first.sandbox.requests.length, ...first.sandbox.requests.filter(isCreation))
      }),
      { numRuns: runs(12, 80) },
    )
    expect(counted.unknown).toBeGreaterThan(0)
    expect(counted.booked).toBeGreaterThan(0)
    for (const { state } of await pair.store.listClaims({ limit: 100_000 })) expect(STATES).toContain(state)
    if (!pair.steps) return
    const steps = pair.steps()
    expect([...new Set(steps.map(({ step }) => step))].filter((step) => !STEPS.has(step))).toEqual([])
    // Every claimed booking was sent at most once, and nothing else was sent.
    const claimed = steps.filter(({ why }) => why === 'claimed').length
    const neverSent = steps.filter(({ why }) => why === 'never sent' || why === 'circuit-open').length
    expect(creations(first)).toBe(claimed - neverSent)
  })
})
