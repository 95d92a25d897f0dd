import { type Assumption, assumptions } from '../src/labs/certify/assumptions.ts'

/** The assumptions that cannot be tested from outside, each with the reason: the operator has to ask the service. */
const untestable: readonly (readonly [assumption: string, why: string])[] = [
  [
    'Callers update and approve quotes with `ActionName`s such as `Update Rate`, `Approve Rate` and `Accept Rate`.',
    'The document shows only `Get Rate` and `MakeBooking`.',
  ],
  [
    'Reads, updates and cancels use the fields of a booking, and name the shipment with one of them.',
    'The document shows no such request.',
  ],
  ["A booking's `ReferenceNumber` may be its quote's number.", 'Only callers know.'],
  ["A quote's `BillTo…` fields are the booking's customer.", 'Only callers know.'],
  ['The commodity codes are English names of vehicle types and models.', 'The document shows no list.'],
  [
    'Events arrive as documented, and the service resends them until they are answered.',
    'The interface has no way to register a receiver.',
  ],
  ["A credential does not see another client's shipments.", 'A test needs a second credential.'],
  ['A 429 has a `Retry-After`.', 'A test would disturb others.'],
  ['A 503 means that nothing was booked.', 'The service cannot be made unavailable.'],
  ['A reply arrives within UPSTREAM_TIMEOUT_MS.', 'A few calls prove nothing; `transload_service_seconds` shows it.'],
  ['A quote is valid for as long as QUOTE_MEMORY.', 'A test takes days.'],
  [
    "A shipment's status moves from `new` to `delivered` through the known values.",
    'A test needs a carrier. The log shows other values, once each.',
  ],
]

/** Returns the part about everything that the gateway assumes about the service. */
export function assumptionsPart(): string {
  const count = (effect: Assumption['effect']) =>
    assumptions.filter((assumption) => assumption.effect === effect).length
  return `Of ${assumptions.length} assumptions, ${count('reads')} need only reads, ${count('quotes')} ask for quotes, and ${count('bookings')} need test bookings.

${[...Map.groupBy(assumptions, ({ area }) => area)].map(([title, all]) => `### ${title}\n\n${areaList(all)}`).join('\n')}
### Not tested

${untestable.map(([assumption, why]) => `- ${assumption} (${why})\n`).join('')}`
}

/** The assumptions of an area. Where all of it needs the same, the heading says so once. */
function areaList(all: readonly Assumption[]): string {
  const needs = (one: Assumption) => `${one.effect}${one.stageOnly ? ' and the stage' : ''}`
  const shared = new Set(all.map(needs)).size === 1
  const lines = all.map((one) => `- \`${one.id}\`: ${one.sentence}${shared ? '' : ` Needs ${needs(one)}.`}\n`)
  return `${shared && all[0] ? `All need ${needs(all[0])}.\n\n` : ''}${lines.join('')}`
}
