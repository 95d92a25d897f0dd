import { type Assumption, assumptions } from '../src/labs/certify/assumptions.ts'
import { table } from './table.ts'

const NEEDS: Readonly<Record<Assumption['effect'], string>> = {
  reads: 'reads',
  quotes: 'quotes',
  bookings: 'bookings',
}

/** The assumptions that cannot be tried from outside, each with the reason: the operator has to ask the service. */
const untriable: readonly (readonly [assumption: string, why: string])[] = [
  [
    'Callers update and approve quotes with `Update Rate`, `Approve Rate`, `Accept Rate` and the like as `ActionName`.',
    'It is about callers: the document shows `Get Rate` and `MakeBooking` alone.',
  ],
  [
    'Reads, updates and cancels of callers have the fields of a booking, and name the shipment by one of them.',
    'It is about callers: the document shows no such request.',
  ],
  ['The `ReferenceNumber` of a booking may be the number of its quote.', 'It is about callers.'],
  ['`BillTo…` of a quote is the customer of its booking.', 'It is about callers.'],
  ['The commodity codes are English names of kinds and models of vehicles.', 'It is about callers: no list is shown.'],
  [
    'Events come as the service describes them, and are sent again until they are answered.',
    'The interface has no way to register a receiver.',
  ],
  ['A credential does not see the shipments of another client.', 'It takes a second credential.'],
  ['A 429 has a `Retry-After`.', 'Provoking one would disturb others.'],
  ['A 503 says that nothing was booked.', 'The service cannot be made unavailable.'],
  [
    'A reply comes within UPSTREAM_TIMEOUT_MS.',
    'A few calls prove nothing; the metric `transload_service_seconds` shows it.',
  ],
  ['A quote is valid for as long as QUOTE_MEMORY remembers it.', 'It takes days.'],
  [
    'The status of a shipment moves from `new` to `delivered` through the known values.',
    'It takes a carrier. The log tells further values, once each.',
  ],
]

/** Returns the part about everything that the gateway assumes about the service. */
export function assumptionsPart(): string {
  const count = (effect: Assumption['effect']) =>
    assumptions.filter((assumption) => assumption.effect === effect).length
  return `\`npm run docs\` writes this part from the code. There are ${assumptions.length} assumptions: ${count('reads')} need no more than reads,
${count('quotes')} ask for quotes, and ${count('bookings')} need test bookings. \`transload certify assumptions --plan\` prints how each one is tried.

${[...Map.groupBy(assumptions, ({ area }) => area)]
  .map(
    ([title, all]) =>
      `### ${title}\n\n${table(
        ['Assumption', '', 'Needs', 'If the service contradicts it'],
        all.map(({ id, sentence, otherwise, effect, stageOnly }) => [
          `\`${id}\``,
          sentence,
          `${NEEDS[effect]}${stageOnly ? ', stage' : ''}`,
          otherwise,
        ]),
      )}`,
  )
  .join('\n')}
### Not tried

${table(['Assumption', 'Why it is not tried'], untriable)}`
}
