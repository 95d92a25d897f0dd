import { type Assumption, assumptions } from '../src/labs/certify/assumptions.ts'
import { table } from './table.ts'

/** The assumptions that cannot be tested from outside, each with the reason: the operator has to ask the service. */
const untestable: readonly (readonly [assumption: string, why: string])[] = [
  [
    'Callers update and approve quotes with `ActionName`s such as `Update Rate`, `Approve Rate` and `Accept Rate`.',
    'About callers: the document shows only `Get Rate` and `MakeBooking`.',
  ],
  [
    'Reads, updates and cancels use the fields of a booking, and name the shipment with one of them.',
    'About callers: the document shows no such request.',
  ],
  ["A booking's `ReferenceNumber` may be its quote's number.", 'About callers.'],
  ["`BillTo…` of a quote is the booking's customer.", 'About callers.'],
  ['The commodity codes are English names of vehicle types and models.', 'About callers: no list is shown.'],
  [
    'Events arrive as documented, and are sent again until they are answered.',
    'The interface has no way to register a receiver.',
  ],
  ["A credential does not see another client's shipments.", 'It takes a second credential.'],
  ['A 429 has a `Retry-After`.', 'Provoking one would disturb others.'],
  ['A 503 means that nothing was booked.', 'The service cannot be made unavailable.'],
  ['A reply arrives within UPSTREAM_TIMEOUT_MS.', 'A few calls prove nothing; `transload_service_seconds` shows it.'],
  ['A quote is valid for as long as QUOTE_MEMORY.', 'It takes days.'],
  [
    "A shipment's status moves from `new` to `delivered` through the known values.",
    'It takes a carrier. The log shows other values, once each.',
  ],
]

/** Returns the part about everything that the gateway assumes about the service. */
export function assumptionsPart(): string {
  const count = (effect: Assumption['effect']) =>
    assumptions.filter((assumption) => assumption.effect === effect).length
  return `\`npm run docs\` writes this part from the code. Of ${assumptions.length} assumptions, ${count('reads')} need only reads, ${count('quotes')} ask for
quotes, and ${count('bookings')} need test bookings. \`transload certify assumptions --plan\` prints how each one is tested.

${[...Map.groupBy(assumptions, ({ area }) => area)].map(([title, all]) => `### ${title}\n\n${areaTable(all)}`).join('\n')}
### Not tested

${table(['Assumption', 'Why it is not tested'], untestable)}`
}

/** The table of an area. Where all of it needs the same, the heading says so once. */
function areaTable(all: readonly Assumption[]): string {
  const needs = (one: Assumption) => `${one.effect}${one.stageOnly ? ', stage' : ''}`
  const shared = new Set(all.map(needs)).size === 1
  const rows = all.map((one) => [`\`${one.id}\``, one.sentence, ...(shared ? [] : [needs(one)]), one.otherwise])
  const head = ['Name', 'Assumption', ...(shared ? [] : ['Needs']), 'If it is wrong']
  return `${shared && all[0] ? `Needs ${needs(all[0])}.\n\n` : ''}${table(head, rows)}`
}
