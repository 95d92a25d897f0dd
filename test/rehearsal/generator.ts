import { bookingExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'

/** The settings under which the generated calls have just the seeded defects. */
export const LIMIT_BYTES = 8_192
const STEP_MS = 40
const START = Date.parse('2026-01-05T08:00:00Z')

type Fields = Readonly<Record<string, unknown>>
type Line = Readonly<Record<string, unknown>>

const QUOTE_PATH = '/quotes/getShippingQuoteWTS.php'
const JSON_TYPE = { 'content-type': 'application/json' }

const record = (i: number, path: string, body: Fields | string, more: Line = {}): Line => ({
  at: new Date(START + i * STEP_MS).toISOString(),
  method: 'POST',
  path,
  version: 'HTTP/1.1',
  client: `client-${i % 3}`,
  headers: JSON_TYPE,
  body: typeof body === 'string' ? body : JSON.stringify(body),
  ...more,
})

const quoteFields = (i: number): Fields => ({ ...quoteExample, ShipmentNumber: `WTS${i}`, OrderRefNumber: `ORD${i}` })
const quote = (i: number, change: Fields = {}, more: Line = {}) =>
  record(i, QUOTE_PATH, { ...quoteFields(i), ...change }, more)
const booking = (i: number, change: Fields = {}) =>
  record(i, '/createShipment.php', { ...bookingExample, ReferenceNumber: `WTS${i}`, ...change })

/** A booking with the quote that it follows. */
const booked = (i: number, change: Fields = {}) => [quote(i), booking(i, change)]

const without = (fields: Fields, name: string): Fields => ({ ...fields, [name]: undefined })

/** What a defect shows as in the report: a problem by its id, or something that is counted elsewhere. */
interface Defect {
  readonly lines: (i: number) => readonly Line[]
  readonly problem?: string
  readonly habit?: string
  readonly unknown?: string
  readonly join?: 'sameBookings' | 'otherCase'
  readonly vehicle?: string
  readonly state?: string
  readonly action?: string
  readonly differs?: string
}

const CREATE = 'shipment.create'

/** Defects of thirty kinds and more; each makes exactly one call that has it. */
export const defects: readonly Defect[] = [
  {
    lines: (i) => [quote(i, without({}, 'TempShipToPostalCode'))],
    problem: 'refused quote.get TempShipToPostalCode required',
  },
  { lines: (i) => [quote(i, { EquipmentType: 'FLATBED' })], problem: 'refused quote.get EquipmentType equipmentType' },
  { lines: (i) => [quote(i, { EquipmentType: '' })], problem: 'assumed quote.get transport_type assumed' },
  {
    lines: (i) => [
      quote(i, { PickupCommodityCode: 'HOVERCRAFT', DeliveryCommodityCode: 'HOVERCRAFT', LoadReference: '' }),
    ],
    problem: 'assumed quote.get vehicle_type assumed',
    vehicle: 'HOVERCRAFT',
  },
  {
    lines: (i) => [quote(i, { ActionName: 'Refresh Rate' })],
    problem: 'refused ActionName action-unknown',
    action: 'Refresh Rate',
  },
  {
    lines: (i) => [record(i, '/old/getShippingQuote.php', quoteFields(i))],
    problem: 'refused /old/getShippingQuote.php path-unknown',
  },
  { lines: (i) => [record(i, '/other.php', quoteFields(i))], problem: 'refused /other.php path-unknown' },
  { lines: (i) => [record(i, QUOTE_PATH, '', { method: 'GET' })], problem: 'refused method-wrong' },
  { lines: (i) => [record(i, QUOTE_PATH, '{"ActionName":')], problem: 'refused body-unreadable' },
  { lines: (i) => [quote(i, { CSR: 'x'.repeat(LIMIT_BYTES) })], problem: 'refused body-too-large' },
  { lines: (i) => [quote(i, { pickup: '10314' })], problem: 'refused generations-mixed' },
  {
    lines: (i) => [record(i, QUOTE_PATH, { pickup: '10314', delivery: '33166' })],
    habit: 'bodies of version 2 on a legacy path',
  },
  {
    lines: (i) => [record(i, QUOTE_PATH, Object.fromEntries(Array.from({ length: 201 }, (_, n) => [`f${n}`, 1])))],
    problem: 'refused too-many-fields',
  },
  { lines: (i) => [quote(i, { equipmenttype: 'ENCLOSED AUTO' })], problem: 'refused quote.get EquipmentType disagree' },
  { lines: (i) => [quote(i, { LoadReference: { a: 1 } })], problem: 'refused quote.get LoadReference not-flat' },
  { lines: (i) => [quote(i, { CSR: 'x'.repeat(4_097) })], problem: 'refused quote.get CSR too-long' },
  { lines: (i) => booked(i, { PickupZip: 'ABC' }), problem: `refused ${CREATE} PickupZip zipcode` },
  { lines: (i) => booked(i, { PickupZip: '10314-1234' }), problem: `lossy ${CREATE} PickupZip lossy` },
  { lines: (i) => booked(i, { DeliveryZip: '2134' }), problem: `assumed ${CREATE} DeliveryZip assumed` },
  { lines: (i) => booked(i, { 'PickupPhNo.': '(214) 555-0100 x12' }), problem: `lossy ${CREATE} PickupPhNo. lossy` },
  { lines: (i) => booked(i, { PickupState: 'ZZ' }), problem: `warning ${CREATE} PickupState warning`, state: 'ZZ' },
  {
    lines: (i) => booked(i, { DeliveryState: 'Nowhere' }),
    problem: `refused ${CREATE} DeliveryState state`,
    state: 'NOWHERE',
  },
  { lines: (i) => booked(i, { VinNo: 'SHORT' }), problem: `warning ${CREATE} VinNo warning` },
  { lines: (i) => booked(i, { Year: '1700' }), problem: `refused ${CREATE} Year year` },
  {
    lines: (i) => [
      booking(i, {
        ReferenceNumber: `NONE${i}`,
        BillToName: '',
        EquipmentType: 'OPEN AUTO',
        PickupCommodityCode: 'CAR',
      }),
    ],
    problem: `refused ${CREATE} BillToName required`,
  },
  { lines: (i) => booked(i, { ReferenceNumber: `wts${i}` }), join: 'otherCase' },
  {
    lines: (i) =>
      [1, 2].map(() =>
        booking(i, {
          ReferenceNumber: '',
          Model: `Model ${i}`,
          EquipmentType: 'OPEN AUTO',
          PickupCommodityCode: 'CAR',
        }),
      ),
    join: 'sameBookings',
  },
  {
    lines: (i) => [record(i, '/updateShipment.php', { PickupCity: 'Dallas' })],
    problem: 'refused shipment.update ShipmentNumber required',
  },
  { lines: (i) => [quote(i, { PickupZipp: '1' })], unknown: 'PickupZipp' },
  { lines: (i) => [quote(i, {}, { version: 'HTTP/1.0' })], habit: 'HTTP/1.0' },
  {
    lines: (i) => [quote(i, {}, { headers: { 'content-type': 'application/x-www-form-urlencoded' } })],
    habit: 'JSON labeled application/x-www-form-urlencoded',
  },
  {
    lines: (i) => [
      quote(
        i,
        {},
        { reply: { Cost: '1234.50', ShipmentNumber: `WTS${i}` }, service: { price: 99.5, shipment_id: 'x' } },
      ),
    ],
    differs: 'quote.get Cost',
  },
]

/** In so many turns, defect number n occurs n + 1 times: every count is another one. */
const TURNS = 1_000
const firstTurns = defects.map((_, n) => (n * (n + 1)) / 2)

/** Returns the defect of a turn; undefined for the many that have none. */
function defectOf(i: number): number | undefined {
  const turn = i % TURNS
  const n = firstTurns.findLastIndex((first) => first <= turn)
  return turn < (firstTurns[n] ?? 0) + n + 1 ? n : undefined
}

/** Gives the lines of some turns, as many as there are calls or a few more. */
export function* generate(turns: number): Generator<string> {
  for (let i = 0; i < turns; i += 1) {
    const n = defectOf(i)
    const lines = (n === undefined ? undefined : defects[n])?.lines(i) ?? (i % 3 === 0 ? booked(i) : [quote(i)])
    for (const line of lines) yield `${JSON.stringify(line)}\n`
  }
}

/** How often each defect occurs in some turns; the last ones are whole rounds. */
export const expectedCount = (n: number, turns: number): number => (turns / TURNS) * (n + 1)
