import { gatewayError } from '../errors.ts'
import { Failed, LeftOut } from '../mapping/codec.ts'
import type { Draft } from '../mapping/paths.ts'
import { refusal, replyToChange } from '../service/failures.ts'
import { isSuccess, type Sending, type Service } from '../service/service.ts'
import { isUuid } from '../text/service-text.ts'
import type { Xref } from '../xref/xref.ts'
import { bookNatively } from './native-booking.ts'
import { doubtful, fieldsIn, type NativeFields, NUMBER } from './native-fields.ts'
import { onlyAsks } from './native-request.ts'
import type { Plan } from './plan.ts'
import { isSameId } from './verify.ts'

/** Holds the version-1 fields beside the version-2 members that the rest of a call reads, such as ids. */
const NATIVE = Symbol('version-1 answer')

/** The dependencies of native calls. */
export interface NativeDeps {
  readonly service: Pick<Service, 'send' | 'noteAccepted'>
  /** Returns the ids of the shipments that the service calls by a number. */
  readonly numbered: Xref['numbered']
}

/** Sends a call to the service's own version-1 handling, and returns the verified reply. */
export async function sendNatively(plan: Plan, tenant: string, sending: Sending, deps: NativeDeps): Promise<Draft> {
  const { request, found } = plan
  const { action } = request.compiled
  if (action.service.notIdempotent) {
    const { fields, shipment } = await bookNatively(plan, sending, deps.service)
    return withFields(shipment, fields)
  }
  const sent = deps.service.send(plan.toService, sending)
  const isChange = action.target !== undefined && !onlyAsks(action)
  const reply = await (isChange ? replyToChange(sent) : sent)
  if (!isSuccess(reply.status)) throw refusal(reply, request.compiled.nameFields)
  const fields = fieldsIn(reply, isChange ? 'change' : undefined)
  if (action.target?.kind === 'shipment') {
    requireShipment(plan, fields)
    if (await showsAnother(plan, tenant, fields, deps)) throw doubtful('it shows another shipment')
    return withFields({ id: found.id }, fields)
  }
  requireReadable(plan, fields)
  if (!action.target) {
    deps.service.noteAccepted(sending.account)
    return withFields({ shipment_id: fields[NUMBER] }, fields)
  }
  if (namesAnother(plan, fields)) throw gatewayError('reply-doubtful/change', { fault: 'it names another id' })
  return withFields({}, fields)
}

/**
 * Returns the answer of a call that the service answered in version 1: its own fields, and the caller's own number where it
 * has one. Undefined for any other reply.
 */
export function nativeAnswer({ settings, own }: Plan, reply: unknown): NativeFields | undefined {
  if (typeof reply !== 'object' || reply === null || !(NATIVE in reply)) return undefined
  // Only `withFields` sets it.
  const fields = reply[NATIVE] as NativeFields
  return own !== undefined && settings.shipment_number === 'caller' && NUMBER in fields
    ? { ...fields, [NUMBER]: own }
    : fields
}

function withFields(body: Draft, fields: NativeFields): Draft {
  return Object.defineProperty({ ...body }, NATIVE, { value: fields, enumerable: true })
}

/** Throws if the answer shows nothing of a shipment: blank fields are never shown as facts. */
function requireShipment({ request }: Plan, fields: NativeFields): void {
  const shows = request.compiled.action.reply.some(
    (row) => (row.kind === 'move' || row.kind === 'split') && (fields[row.v1] ?? '') !== '',
  )
  if (!shows) throw doubtful('it shows nothing of the shipment')
}

/** Tells if the answer has the id of something else. A number proves nothing by itself. */
function namesAnother({ found }: Plan, fields: NativeFields): boolean {
  const number = fields[NUMBER] ?? ''
  return isUuid(number) && !isSameId(found.id ?? '', number)
}

/** Tells if the answer has the id of another shipment, or a number that the service gave to another one. */
async function showsAnother(
  plan: Plan,
  tenant: string,
  fields: NativeFields,
  { numbered }: NativeDeps,
): Promise<boolean> {
  if (namesAnother(plan, fields)) return true
  const { [NUMBER]: number = '' } = fields
  const ids = number === '' ? [] : await numbered(tenant, number)
  return ids.length > 0 && !ids.some((id) => isSameId(id, plan.found.id ?? ''))
}

/** Throws if a required field of the answer is missing or cannot be read. */
function requireReadable({ request }: Plan, fields: NativeFields): void {
  const missing = request.compiled.action.reply.flatMap((row) => {
    if (row.kind !== 'move' || !row.required) return []
    const value = row.codec.decode?.(fields[row.v1] ?? '')
    return value instanceof Failed || value instanceof LeftOut ? [row.v1] : []
  })
  if (missing.length > 0) throw gatewayError('service-unreadable/places', { places: missing.join(' and ') })
}
