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
  request: typeof body === 'string' ? body : JSON.stringify(body),
  ...more,
})

const quote = (i: number, change: Fields = {}, more: Line = {}) =>
  record(i, QUOTE_PATH, { ...quoteExample, ShipmentNumber: `WTS${i}`, OrderRefNumber: `ORD${i}`, ...change }, more)
const booking = (i: number, change: Fields = {}) =>
  record(i, '/createShipment.php', { ...bookingExample, ReferenceNumber: `WTS${i}`, ...change })

/** A booking with the quote that it follows. */
const booked = (i: number, change: Fields = {}) => [quote(i), booking(i, change)]

/** What a defect shows as in the report: a problem by its id, or something that is counted elsewhere. */
interface ExpectedFinding {
  readonly problem?: string
  readonly unknown?: string
  readonly vehicle?: string
  readonly action?: string
  readonly differs?: string
}

interface Defect extends ExpectedFinding {
  readonly lines: (i: number) => readonly Line[]
}

const inQuote = (change: Fields, shown: ExpectedFinding, more: Line = {}): Defect => ({
  ...shown,
  lines: (i) => [quote(i, change, more)],
})
const inBooking = (change: Fields, shown: ExpectedFinding): Defect => ({ ...shown, lines: (i) => booked(i, change) })
const inRecord = (path: string, body: Fields | string, shown: ExpectedFinding, more: Line = {}): Defect => ({
  ...shown,
  lines: (i) => [record(i, path, body, more)],
})

const CREATE = 'shipment.create'
const MANY_FIELDS = Object.fromEntries(Array.from({ length: 201 }, (_, n) => [`f${n}`, 1]))
/** A booking without a quote has its own vehicle. */
const VEHICLE = { EquipmentType: 'OPEN AUTO', PickupCommodityCode: 'CAR' }
const HOVERCRAFT = { PickupCommodityCode: 'HOVERCRAFT', DeliveryCommodityCode: 'HOVERCRAFT', LoadReference: '' }
const REPLIES = { replies: { Cost: '1234.50', ShipmentNumber: 'WTS' }, service: { price: 99.5, shipment_id: 'x' } }

/** Defects of many kinds; each makes exactly one call that has it. */
export const defects: readonly Defect[] = [
  inQuote({ TempShipToPostalCode: undefined }, { problem: 'refused quote.get TempShipToPostalCode required' }),
  inQuote({ EquipmentType: 'FLATBED' }, { problem: 'refused quote.get EquipmentType equipmentType' }),
  inQuote({ EquipmentType: '' }, { problem: 'assumed quote.get transport_type assumed' }),
  inQuote(HOVERCRAFT, { problem: 'assumed quote.get vehicle_type assumed', vehicle: 'HOVERCRAFT' }),
  inQuote({ ActionName: 'Refresh Rate' }, { problem: 'refused ActionName action-unknown', action: 'Refresh Rate' }),
  inRecord('/old/getShippingQuote.php', quoteExample, { problem: 'refused /old/getShippingQuote.php path-unknown' }),
  inRecord('/other.php', quoteExample, { problem: 'refused /other.php path-unknown' }),
  inRecord(QUOTE_PATH, '', { problem: 'refused method-wrong' }, { method: 'GET' }),
  inRecord(QUOTE_PATH, '{"ActionName":', { problem: 'refused body-unreadable' }),
  inQuote({ CSR: 'x'.repeat(LIMIT_BYTES) }, { problem: 'refused body-too-large' }),
  inQuote({ pickup: '10314' }, { problem: 'refused generations-mixed' }),
  inRecord(QUOTE_PATH, MANY_FIELDS, { problem: 'refused too-many-fields' }),
  inQuote({ equipmenttype: 'ENCLOSED AUTO' }, { problem: 'refused quote.get EquipmentType disagree' }),
  inQuote({ LoadReference: { a: 1 } }, { problem: 'refused quote.get LoadReference not-flat' }),
  inQuote({ CSR: 'x'.repeat(4_097) }, { problem: 'refused quote.get CSR too-long' }),
  inBooking({ PickupZip: 'ABC' }, { problem: `refused ${CREATE} PickupZip zipcode` }),
  inBooking({ PickupZip: '10314-1234' }, { problem: `lossy ${CREATE} PickupZip lossy` }),
  inBooking({ DeliveryZip: '2134' }, { problem: `assumed ${CREATE} DeliveryZip assumed` }),
  inBooking({ 'PickupPhNo.': '(214) 555-0100 x12' }, { problem: `lossy ${CREATE} PickupPhNo. lossy` }),
  inBooking({ PickupState: 'ZZ' }, { problem: `warning ${CREATE} PickupState warning` }),
  inBooking({ DeliveryState: 'Nowhere' }, { problem: `refused ${CREATE} DeliveryState state` }),
  inBooking({ VinNo: 'SHORT' }, { problem: `warning ${CREATE} VinNo warning` }),
  inBooking({ Year: '1700' }, { problem: `refused ${CREATE} Year year` }),
  {
    lines: (i) => [booking(i, { ...VEHICLE, ReferenceNumber: `NONE${i}`, BillToName: '' })],
    problem: `refused ${CREATE} BillToName required`,
  },
  inRecord(
    '/updateShipment.php',
    { PickupCity: 'Dallas' },
    { problem: 'refused shipment.update ShipmentNumber required' },
  ),
  inQuote({ PickupZipp: '1' }, { unknown: 'PickupZipp' }),
  inQuote({ ShipmentNumber: 'WTS' }, { differs: 'quote.get Cost' }, REPLIES),
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
