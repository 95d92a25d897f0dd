import type { IncomingHttpHeaders } from 'node:http'
import type { Booking, Made } from '../bookings/bookings.ts'
import type { Caller } from '../callers/caller.ts'
import { fieldsOf } from '../mapping/row-parts.ts'
import { vinKey } from '../xref/xref.ts'
import { answerOf } from './legacy-answer.ts'
import { namesIn } from './names.ts'
import type { Plan } from './plan.ts'
import { recordOf } from './record.ts'

/** Returns the booking of a plan, with the values of its key and its fields in the order of their rows. */
export function bookingOf(
  { request }: Plan,
  headers: IncomingHttpHeaders,
  { tenant, credential }: Pick<Caller, 'tenant' | 'credential'>,
  deadline: number,
): Booking {
  const { compiled, sent } = request
  const { xrefRecord, request: rows } = compiled.action
  const key = headers['idempotency-key']
  const written = rows.filter(({ kind }) => kind !== 'v1Only' && kind !== 'ref').flatMap(fieldsOf)
  return {
    tenant,
    credential,
    reference: (xrefRecord?.names[0] && sent(xrefRecord.names[0])) ?? '',
    vin: xrefRecord?.disambiguateBy ? vinKey(sent(xrefRecord.disambiguateBy)) : '',
    idempotencyKey: typeof key === 'string' && key !== '' ? key : undefined,
    fields: namesIn(request, written),
    deadline,
  }
}

/** Returns the answer to a booking that the service made, and its record. */
export function madeOf(plan: Plan, reply: unknown): Made {
  const answer = answerOf(plan, reply)
  const record = recordOf(plan, reply)
  if (!record) throw new Error('A verified reply to a booking has an id.')
  return { answer, record }
}
