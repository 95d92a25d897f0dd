/** Promise: any sequence of calls leaves one live shipment for each thing that was booked (contract, section 7). */

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { OTHER_VIN } from '../bookings/desk.ts'
import { get, OWN, post, startGateway, type TestGateway } from '../gateway.ts'
import { runs } from '../size.ts'

/*
 * Promise: callers quote, change, approve, book, read and cancel in any order, under one name or several, at both kinds of service,
 * and the service has one live shipment for each thing that was booked; reads show it, and canceling leaves none (contract, section
 * 7: approved, then booked).
 */

const VINS = ['', bookingExample.VinNo, OTHER_VIN] as const

/** The two names that a quote gives a job. */
const FIELDS = { number: 'ShipmentNumber', order: 'OrderRefNumber' } as const
type Which = keyof typeof FIELDS
const BOTH: readonly Which[] = ['number', 'order']

/** Two jobs; a name is the job and which of the two. */
const job = fc.constantFrom('1', '2')
const kind = fc.constantFrom(...BOTH)
const step = fc.oneof(
  fc.record({ act: fc.constantFrom('Get Rate', 'Update Rate'), job }),
  fc.record({ act: fc.constant('approve'), job, by: fc.subarray([...BOTH], { minLength: 1 }) }),
  fc.record({ act: fc.constantFrom('book', 'book', 'read', 'cancel'), job, kind, vin: fc.constantFrom(...VINS) }),
)

const sequence = fc.record({
  approvalBooks: fc.boolean(),
  repeatedCancel: fc.constantFrom(200, 404, 409),
  steps: fc.array(step, { minLength: 1, maxLength: 14 }),
})
type Sequence = typeof sequence extends fc.Arbitrary<infer S> ? S : never

/** A thing that was booked: the service's shipment, and the name and VIN of its booking; an approval alone has none. */
interface Thing {
  readonly id: string
  readonly job: string
  booked: { readonly name: string; readonly vin: string } | undefined
}

/** Plays a sequence under names of its own, beside the callers' view of it. */
async function play(gateway: TestGateway, run: number, { steps, approvalBooks, repeatedCancel }: Sequence) {
  const { sandbox } = gateway
  sandbox.set({ approvalBooks, repeatedCancel })
  const earlier = new Set(sandbox.shipments.keys())
  const live = () =>
    [...sandbox.shipments.values()].filter(({ id, status }) => status !== 'canceled' && !earlier.has(id))
  let things: readonly Thing[] = []
  const unknown = () => live().filter(({ id }) => !things.some((thing) => thing.id === id))
  const nameOf = (of: string, which: string) => `${which}-${of}-${run}`
  const namesOf = (of: string, by: readonly Which[]) =>
    Object.fromEntries(by.map((which) => [FIELDS[which], nameOf(of, which)]))
  const named = (name: string, vin: string) => ({ ReferenceNumber: name, ...(vin !== '' && { VinNo: vin }) })

  /** At most one shipment comes of an approval, and none where the job is booked under the names that it gives. */
  async function approve(of: string, by: readonly Which[]) {
    const names = namesOf(of, by)
    const { status, json } = await post(gateway, '/getShippingQuote.php', { ActionName: 'Accept Rate', ...names })
    const added = unknown().map(({ id }) => ({ id, job: of, booked: undefined }))
    // Under the names of the approval, and the quote's own number.
    const known: readonly string[] = [nameOf(of, 'number'), ...Object.values(names)]
    const isBooked = things.some(({ booked }) => booked && known.includes(booked.name))
    const isApproved = things.some((thing) => thing.job === of && !thing.booked)
    if (!approvalBooks || status !== 200 || isApproved || isBooked) expect(added).toEqual([])
    // Only what the service has shown is booked; a booking under the quote's other name may be known or not.
    const mayShow = things.some((thing) => thing.job === of && thing.booked)
    const answers = approvalBooks || isBooked ? ['Yes'] : mayShow ? ['Yes', 'No'] : ['No']
    if (status === 200) expect(answers).toContain(json.TransportationBooked)
    things = [...things, ...added]
  }

  async function book(of: string, name: string, vin: string) {
    const before = things.find(({ booked }) => booked?.name === name && booked.vin === vin)
    const approved = things.find((thing) => thing.job === of && !thing.booked)
    const made = await post(gateway, '/createShipment.php', { ...bookingExample, ReferenceNumber: name, VinNo: vin })
    expect([made.status, made.json.TransportationBooked], made.text).toEqual([200, 'Yes'])
    const id = made.headers.get('transload-shipment-id') ?? ''
    expect(made.headers.has('idempotent-replayed')).toBe(before !== undefined)
    if (before || approved) expect(id).toBe((before ?? approved)?.id)
    else expect(unknown().map((shipment) => shipment.id)).toEqual([id])
    if (!before && approved) approved.booked = { name, vin }
    if (!before && !approved) things = [...things, { id, job: of, booked: { name, vin } }]
    const shipment = sandbox.shipments.get(id)
    expect([shipment?.external_id, shipment?.vehicles.map((one) => one.vin ?? '')]).toEqual([name, [vin]])
  }

  /** Never the shipment of another job or vehicle is canceled, and the one that is meant where it is plain which that is. */
  async function cancel(of: string, name: string, vin: string) {
    const { status } = await post(gateway, '/deleteShipment.php', named(name, vin))
    const alive = live().map(({ id }) => id)
    const gone = things.filter(({ id }) => !alive.includes(id))
    for (const thing of gone) {
      expect(thing.job).toBe(of)
      if (vin !== '') expect(['', vin]).toContain(thing.booked?.vin ?? '')
    }
    expect(gone.length).toBeLessThanOrEqual(status === 200 ? 1 : 0)
    const meant = things.filter(({ booked }) => booked?.name === name && booked.vin === vin)
    if (meant.length > 0 && vin !== '') expect(gone).toEqual(meant)
    things = things.filter((thing) => !gone.includes(thing))
  }

  async function read(name: string, vin: string) {
    const { status, json } = await get(gateway, `/getShipment.php?${new URLSearchParams(named(name, vin))}`)
    const isBooked = things.some(({ booked }) => booked?.name === name && booked.vin === vin)
    if (isBooked) expect(status).toBe(200)
    if (status === 200) expect(json.PickupZip).not.toBe('')
    if (isBooked && vin !== '') expect(json).toMatchObject({ VinNo: vin, ReferenceNumber: name })
  }

  for (const one of steps) {
    if ('vin' in one) {
      const name = nameOf(one.job, one.kind)
      if (one.act === 'read') await read(name, one.vin)
      else await (one.act === 'cancel' ? cancel : book)(one.job, name, one.vin)
    } else if ('by' in one) {
      await approve(one.job, one.by)
    } else {
      const names = namesOf(one.job, BOTH)
      await post(gateway, '/getShippingQuote.php', { ...quoteExample, ActionName: one.act, ...names })
    }
    expect(new Set(live().map(({ id }) => id))).toEqual(new Set(things.map(({ id }) => id)))
  }
  // The shipment without a VIN is the last of its name.
  const last = [...things].sort((a, b) => Number(!a.booked?.vin) - Number(!b.booked?.vin))
  for (const { booked, job: of } of last) {
    const { name, vin } = booked ?? { name: nameOf(of, 'number'), vin: '' }
    await read(name, vin)
    await cancel(of, name, vin)
  }
  expect(live()).toEqual([])
}

/** Sequences tried; the whole is 4,000. */
const RUNS = runs(500, 4_000)

test('one live shipment for each thing that was booked', { timeout: 1_800_000 }, async () => {
  const gateway = await startGateway({ env: OWN })
  let run = 0
  await fc.assert(
    fc.asyncProperty(sequence, async (steps) => {
      run += 1
      await play(gateway, run, steps)
    }),
    { numRuns: RUNS },
  )
})
