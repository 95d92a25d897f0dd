/** Promise: a booking, its repetition and an outage in any order make one shipment (contract, section 7). */

import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { openStore } from '../../src/outside/store/open.ts'
import { type Answered, post, startGateway } from '../gateway.ts'
import { runs } from '../size.ts'
import type { Fault } from '../stand-in/stand-in.ts'
import { book, expectBooked, HANDLE, ON_CREATION, settleAs, settlementOf, shipments, testFolder } from './desk.ts'

/*
 * Promise: in every order of calls, cancellations, settlements and deaths, at two gateways on one store and with a service that
 * fails, a key has one live shipment at most, and nothing that was acknowledged is lost (contract, section 7).
 */

const LONG_MS = 180_000

/** What the service does with a booking. Broken connections and 503 are rarer, because they would open the circuit. */
const FAULTS: readonly Fault[] = [
  ...Array.from({ length: 6 }, () => ({ kind: 'delay', ms: 0 }) as const),
  ...(['no-id', 'half-json', 'no-id', 'half-json', 'reset-before', 'reset-after'] as const).map((kind) => ({ kind })),
  ...[422, 422, 503].map((status) => ({ kind: 'status', status }) as const),
  { kind: 'delay', ms: 40 },
]

const call = fc.record({
  act: fc.constantFrom(...Array.from({ length: 8 }, () => 'book' as const), 'cancel', 'cancel', 'settle', 'death'),
  at: fc.nat({ max: 1 }),
  key: fc.nat({ max: 2 }),
  body: fc.constantFrom('Robin Example', 'Somebody Else'),
})
const callers = fc.array(fc.array(call, { minLength: 1, maxLength: 5 }), { minLength: 2, maxLength: 8 })
const trouble = fc.array(fc.constantFrom(...FAULTS), { maxLength: 12 })

/**
 * Calls until something is sent. The circuit may be open, and a gateway whose lease was ended sends nothing until it has taken
 * a new one, which its heartbeat may notice during any call.
 */
async function untilSent(send: () => Promise<Answered>): Promise<Answered> {
  for (;;) {
    const answer = await send()
    if (answer.status !== 503 || !/nothing was sent/.test(answer.json.Message)) return answer
    await pause(Number(answer.headers.get('retry-after')) * 1_000)
  }
}

/** Two gateways before one service, on two connections to one file. */
async function openPair() {
  const path = join(testFolder(), 'store.db')
  const store = await openStore(path)
  const one = await startGateway({ store })
  const other = await startGateway({ store: await openStore(path), serviceUrl: one.sandbox.url })
  return { gateways: [one, other] as const, one, store }
}

test('in every order of what may happen', { timeout: LONG_MS }, async () => {
  const { gateways, one, store } = await openPair()
  const { sandbox } = one
  let run = 0
  const counted = { Yes: 0, Unknown: 0, No: 0 }
  await fc.assert(
    fc.asyncProperty(callers, trouble, async (scripts, faults) => {
      run += 1
      sandbox.fail(...faults.map((fault) => ({ ...fault, on: ON_CREATION })))
      const referenceOf = (key: number) => `REF-${run}-${key}`
      const acknowledged = new Map<number, Set<string>>()
      const canceled = new Set<string>()
      const underWay = new Set<Promise<unknown>>()
      const during = <T>(work: Promise<T>): Promise<T> => {
        underWay.add(work)
        return work.finally(() => underWay.delete(work))
      }
      const settleAll = async () => {
        // The operator first waits for the time-out of all calls that may have made the booking.
        const inDoubt = await store.listClaims({ state: 'unknown' })
        await Promise.allSettled(underWay)
        for (const claim of inDoubt) await settleAs(store, claim, settlementOf(shipments(one, claim.reference)[0]))
      }
      const caller = async (script: (typeof scripts)[number]) => {
        for (const { act, at, key, body } of script) {
          const gateway = gateways[at] ?? one
          const known = acknowledged.get(key) ?? new Set()
          acknowledged.set(key, known)
          if (act === 'book') {
            const answer = await during(book(gateway, { ReferenceNumber: referenceOf(key), DeliveryName: body }))
            const word: keyof typeof counted = answer.json.TransportationBooked
            counted[word] += 1
            expect([200, 409, 422, 503]).toContain(answer.status)
            if (word === 'Yes') known.add(expectBooked(answer, answer.headers.has('idempotent-replayed')))
            if (word === 'Unknown') expect(answer.json.Message).toMatch(HANDLE)
          } else if (act === 'cancel') {
            const id = [...known].find((shipment) => !canceled.has(shipment))
            if (id === undefined) continue
            canceled.add(id)
            const send = () => post(gateway, '/deleteShipment.php', { shipment_id: id })
            expect((await during(untilSent(send))).status).toBe(200)
          } else if (act === 'settle') {
            await settleAll()
          } else {
            // A gateway that sends now counts as gone, and returns later with its answer.
            for (const { instance } of await store.listClaims({ state: 'sending' })) await store.endLease(instance)
            await store.orphanClaims(10_000, 'another gateway')
          }
        }
      }
      await Promise.all(scripts.map(caller))
      await sandbox.idle()
      sandbox.clearFaults()

      const claims = await store.listClaims({ limit: 100_000 })
      for (const [key, known] of acknowledged) {
        const claim = claims.find(({ reference }) => reference === referenceOf(key))
        const live = shipments(one, referenceOf(key)).map(({ id }) => id)
        expect(live.length).toBeLessThanOrEqual(1)
        for (const id of known) {
          expect(sandbox.shipments.has(id)).toBe(true)
          if (!canceled.has(id)) expect([claim?.state, claim?.shipment]).toEqual(['booked', id])
        }
        if (claim?.state === 'booked') expect(live).toEqual([claim.shipment])
      }
      await settleAll()
      for (const key of acknowledged.keys()) {
        const [before] = shipments(one, referenceOf(key))
        const last = await untilSent(() =>
          book(one, { ReferenceNumber: referenceOf(key), DeliveryName: 'Robin Example' }),
        )
        expect([200, 409]).toContain(last.status)
        const [after, ...others] = shipments(one, referenceOf(key))
        expect(others).toEqual([])
        if (before) expect(after?.id).toBe(before.id)
        if (last.status === 200) expect(last.headers.get('transload-shipment-id')).toBe(after?.id)
      }
    }),
    { numRuns: runs(15, 80) },
  )
  expect(Math.min(counted.Yes, counted.Unknown)).toBeGreaterThan(0)
})
