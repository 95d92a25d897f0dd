import fc from 'fast-check'
import { expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import type { Service } from '../../src/sandbox/service.ts'
import { runs } from '../size.ts'
import type { SandboxSettings, Shipment } from '../stand-in/stand-in.ts'
import { type DirectCall, openDirect } from './direct.ts'
import { catalog, openStandIn } from './stand-in.ts'

/*
 * Callers quote, change, approve, book, read and cancel in any order, under one number or several, at both kinds of service. The
 * service has one live shipment for each thing that was booked; reads show it, and canceling leaves none.
 */

/** Two jobs, each with the two names that a quote gives it. */
const JOBS = [
  { number: 'N-1', order: 'O-1' },
  { number: 'N-2', order: 'O-2' },
] as const
const NAMES = JOBS.flatMap(({ number, order }) => [number, order])
const VINS = ['', bookingExample.VinNo, '1HGCM82633A004352'] as const

interface Quote {
  readonly kind: 'quote' | 'update'
  readonly job: number
}
interface Approval {
  readonly kind: 'approve'
  readonly job: number
  readonly by: 'number' | 'order' | 'both'
}
/** A call about a shipment, with the name and the VIN that it sends. */
interface Named {
  readonly kind: 'book' | 'read' | 'cancel'
  readonly name: string
  readonly vin: string
}
type Step = Quote | Approval | Named

const job = fc.nat({ max: JOBS.length - 1 })
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constantFrom('quote', 'update'), job }),
  fc.record({ kind: fc.constant('approve'), job, by: fc.constantFrom('number', 'order', 'both') }),
  fc.record({
    kind: fc.constantFrom('book', 'book', 'read', 'cancel'),
    name: fc.constantFrom(...NAMES),
    vin: fc.constantFrom(...VINS),
  }),
)

const MAX_STEPS = 14
const sequence = fc.record({
  approvalBooks: fc.boolean(),
  repeatedCancel: fc.constantFrom(200, 404, 409),
  steps: fc.array(step, { minLength: 1, maxLength: MAX_STEPS }),
})

/** A thing that was booked. */
interface Thing {
  /** The service's shipment. */
  readonly id: string
  readonly job: number
  /** The names that it was booked under, and the VIN; undefined for an approval without a booking. */
  booked: { readonly name: string; readonly vin: string } | undefined
}

/** The callers' view of one run, kept beside the service's own state. */
interface Run {
  readonly call: DirectCall
  readonly state: Service
  things: readonly Thing[]
}

function openRun(settings: Pick<SandboxSettings, 'approvalBooks' | 'repeatedCancel'>): Run {
  const { state, serve } = openStandIn(settings)
  return { call: openDirect(catalog, serve), state, things: [] }
}

const jobOf = (name: string) => JOBS.findIndex(({ number, order }) => number === name || order === name)
const named = (name: string) => ({ ReferenceNumber: name })
const withVin = (vin: string) => (vin === '' ? {} : { VinNo: vin })

function shipmentsOf({ state }: Run): readonly Shipment[] {
  return [...state.shipments.values()].filter(({ status }) => status !== 'canceled')
}

async function play(run: Run, one: Step): Promise<void> {
  const { call } = run
  switch (one.kind) {
    case 'quote':
    case 'update': {
      const { number: ShipmentNumber, order: OrderRefNumber } = JOBS[one.job] ?? JOBS[0]
      const ActionName = one.kind === 'quote' ? 'Get Rate' : 'Update Rate'
      await call('/getShippingQuote.php', { ...quoteExample, ActionName, ShipmentNumber, OrderRefNumber })
      return expectShipments(run)
    }
    case 'approve':
      return approve(run, one)
    case 'book':
      return book(run, one)
    case 'read': {
      const { status, json } = await call('/getShipment.php', { ...named(one.name), ...withVin(one.vin) })
      if (run.things.some(({ booked }) => booked?.name === one.name && booked.vin === one.vin)) expect(status).toBe(200)
      if (status === 200) expect(json['PickupZip']).not.toBe('')
      return expectShipments(run)
    }
    case 'cancel':
      return cancel(run, one)
    default:
      return one satisfies never
  }
}

/** Approves a quote: at most one shipment comes of it, and none where the job is booked under the names that it gives. */
async function approve(run: Run, { job, by }: Approval): Promise<void> {
  const { number: ShipmentNumber, order: OrderRefNumber } = JOBS[job] ?? JOBS[0]
  const names = {
    ...(by !== 'order' && { ShipmentNumber }),
    ...(by !== 'number' && { OrderRefNumber }),
  }
  const { status, json } = await run.call('/getShippingQuote.php', { ActionName: 'Accept Rate', ...names })
  const added = unknownShipments(run)
  const isApproved = run.things.some((thing) => thing.job === job && !thing.booked)
  // Under the names of the approval, and the quote's own number.
  const known = new Set<string>([ShipmentNumber, ...Object.values(names)])
  const isBooked = run.things.some(({ booked }) => booked && known.has(booked.name))
  const books = run.state.settings.approvalBooks && status === 200 && !isApproved && !isBooked
  if (!books) expect(added).toEqual([])
  // Only what the service has shown is booked; a booking under the quote's other name may be known or not.
  const shows = run.state.settings.approvalBooks || isBooked
  const mayShow = run.things.some(({ booked }) => booked && jobOf(booked.name) === job)
  const answers = shows ? ['Yes'] : mayShow ? ['Yes', 'No'] : ['No']
  if (status === 200) expect(answers).toContain(json['TransportationBooked'])
  run.things = [...run.things, ...added.map(({ id }) => ({ id, job, booked: undefined }))]
  return expectShipments(run)
}

async function book(run: Run, { name, vin }: Pick<Named, 'name' | 'vin'>): Promise<void> {
  const before = run.things.find(({ booked }) => booked?.name === name && booked.vin === vin)
  const approved = run.things.find((thing) => thing.job === jobOf(name) && !thing.booked)
  const made = await run.call('/createShipment.php', { ...bookingExample, ...named(name), VinNo: vin })
  expect(made.status, made.text).toBe(200)
  expect(made.json['TransportationBooked']).toBe('Yes')
  const id = made.headers['Transload-Shipment-Id'] ?? ''
  const added = unknownShipments(run)
  if (before) {
    expect(made.headers['Idempotent-Replayed']).toBe('true')
    expect(id).toBe(before.id)
  } else if (approved) {
    expect(id).toBe(approved.id)
    approved.booked = { name, vin }
  } else {
    expect(added.map((shipment) => shipment.id)).toEqual([id])
    run.things = [...run.things, { id, job: jobOf(name), booked: { name, vin } }]
  }
  const shipment = run.state.shipments.get(id)
  expect(shipment).toMatchObject({ external_id: name })
  expect(shipment?.vehicles).toHaveLength(1)
  expect(shipment?.vehicles[0]?.vin ?? '').toBe(vin)
  return expectShipments(run)
}

/** Cancels: never the shipment of another job or vehicle, and the one that is meant where it is plain which that is. */
async function cancel(run: Run, { name, vin }: Pick<Named, 'name' | 'vin'>): Promise<void> {
  const { status } = await run.call('/deleteShipment.php', { ...named(name), ...withVin(vin) })
  const live = new Set(shipmentsOf(run).map(({ id }) => id))
  const gone = run.things.filter(({ id }) => !live.has(id))
  for (const thing of gone) {
    expect(thing.job).toBe(jobOf(name))
    if (vin !== '') expect(['', vin]).toContain(thing.booked?.vin ?? '')
  }
  expect(gone.length).toBeLessThanOrEqual(status === 200 ? 1 : 0)
  const meant = run.things.filter(({ booked }) => booked?.name === name && booked.vin === vin)
  if (meant.length > 0 && vin !== '') expect(gone).toEqual(meant)
  run.things = run.things.filter((thing) => !gone.includes(thing))
  expectShipments(run)
}

/** The live shipments that no thing stands for. */
function unknownShipments(run: Run): readonly Shipment[] {
  const known = new Set(run.things.map(({ id }) => id))
  return shipmentsOf(run).filter(({ id }) => !known.has(id))
}

/** One live shipment for each thing. */
function expectShipments(run: Run): void {
  expect(
    shipmentsOf(run)
      .map(({ id }) => id)
      .sort(),
  ).toEqual(run.things.map(({ id }) => id).sort())
}

/** Every thing is read by its name, and canceled by its name, and then nothing is left. */
async function expectEnd(run: Run): Promise<void> {
  for (const { id, booked } of run.things) {
    if (!booked || booked.vin === '') continue
    const { status, json } = await run.call('/getShipment.php', { ...named(booked.name), VinNo: booked.vin })
    expect(status).toBe(200)
    expect(json).toMatchObject({ VinNo: booked.vin, ReferenceNumber: booked.name })
    expect(run.state.shipments.get(id)?.external_id).toBe(booked.name)
  }
  for (const { booked } of [...run.things]) {
    if (booked && booked.vin !== '') await cancel(run, booked)
  }
  // Now the shipment without a VIN is the only one of its name.
  for (const { job, booked } of [...run.things]) {
    const { number } = JOBS[job] ?? JOBS[0]
    await cancel(run, { name: booked?.name ?? number, vin: '' })
  }
  expect(shipmentsOf(run)).toEqual([])
}

/** In `npm test`, some thousands of sequences; the whole is 10,000 and more. */
const RUNS = runs(1_500, 4_000)

test('one live shipment for each thing that was booked', async () => {
  await fc.assert(
    fc.asyncProperty(sequence, async ({ steps, ...settings }) => {
      const run = openRun(settings)
      for (const one of steps) await play(run, one)
      await expectEnd(run)
    }),
    { numRuns: RUNS },
  )
}, 600_000)
