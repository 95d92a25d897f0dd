import { access } from './access-assumptions.ts'
import { approvals } from './approval-assumptions.ts'
import type { Area, Assumption } from './assumption.ts'
import { bookings } from './booking-assumptions.ts'
import { cancellations } from './cancellation-assumptions.ts'
import { errors } from './error-assumptions.ts'
import { dates, keptValues } from './kept-assumptions.ts'
import { limits, version1 } from './limit-assumptions.ts'
import { quotes } from './quote-assumptions.ts'
import { quoteUpdates } from './quote-update-assumptions.ts'
import { reads, updates } from './shipment-assumptions.ts'

/** Every assumption about the service that can be tried, in the order in which they are. */
export const areas: readonly Area[] = [
  access,
  errors,
  quotes,
  quoteUpdates,
  limits,
  version1,
  bookings,
  keptValues,
  dates,
  reads,
  updates,
  approvals,
  cancellations,
]

/** Every assumption, without its area. */
export const assumptions: readonly Assumption[] = areas.flatMap((area) => area.assumptions)

/** The assumptions that cannot be tried from outside, each with the reason: the operator has to ask the service. */
export const untriable: readonly (readonly [assumption: string, why: string])[] = [
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
