import type { IncomingHttpHeaders } from 'node:http'
import type { Booking, Made } from '../bookings/bookings.ts'
import type { Caller } from '../callers/credentials.ts'
import { GatewayError } from '../errors.ts'
import { claims } from '../mapping/check.ts'
import { vinKey } from '../xref/xref.ts'
import { answerOf } from './legacy-answer.ts'
import { namesIn } from './names.ts'
import type { Plan } from './plan.ts'
import { recordOf } from './record.ts'

/** Returns what tells a booking from others: its key, and the fields that go into it in the order of their rows. */
export function bookingOf(
  { request }: Plan,
  headers: IncomingHttpHeaders,
  { tenant, credential }: Pick<Caller, 'tenant' | 'credential'>,
  deadline: number,
): Booking {
  const { compiled, sent } = request
  const { keeps, request: rows } = compiled.action
  const key = headers['idempotency-key']
  const written = rows.filter(({ kind }) => kind !== 'v1Only' && kind !== 'ref').flatMap(claims)
  return {
    tenant,
    credential,
    reference: (keeps?.names[0] && sent(keeps.names[0])) ?? '',
    vin: keeps?.disambiguateBy ? vinKey(sent(keeps.disambiguateBy)) : '',
    idempotencyKey: typeof key === 'string' && key !== '' ? key : undefined,
    fields: namesIn(request, written),
    deadline,
  }
}

/** Returns the answer to a booking that the service made, and its record. */
export function madeOf(plan: Plan, reply: unknown): Made {
  const answer = answerOf(plan, reply)
  const record = recordOf(plan, reply)
  // Without an id nobody can tell whether the booking was made.
  if (!record) throw new GatewayError('service-unreadable', "The service's reply to the booking has no id.")
  return { answer, record }
}
