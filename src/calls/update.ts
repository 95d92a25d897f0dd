import { gatewayError, oneLine } from '../errors.ts'
import { meantField, type Problem } from '../mapping/fields.ts'
import { fieldsOf } from '../mapping/row-parts.ts'
import type { UpstreamReply } from '../service/exchange.ts'
import { refusal } from '../service/failures.ts'
import { isSuccess, type Sending } from '../service/service.ts'
import type { Told } from './legacy-answer.ts'
import type { Merge } from './merge.ts'
import { PLAIN_NAME, vinOf } from './names.ts'
import type { Plan } from './plan.ts'
import type { Version1 } from './read-request.ts'
import { shipmentWithId } from './verify.ts'

/** The shipment after an update, and what the update was to it. */
export interface Updated {
  /** The service's reply, over the shipment as it was read. */
  readonly body: unknown
  /** Completes the message of the answer. */
  readonly tell: (told: Told) => Told
}

/** Merges a planned update into its shipment. */
export async function update(plan: Plan, tenant: string, sending: Sending, merge: Merge): Promise<Updated> {
  const { request, found, body: sent, problems, settings } = plan
  const { compiled, textOf, fields } = request
  const id = found.id ?? ''
  const verify = (reply: UpstreamReply) => {
    if (!isSuccess(reply.status)) throw refusal(reply, compiled.nameFields)
    return shipmentWithId(reply, id)
  }
  const asked = changingFields(request, found.namedBy)
  const asks = asked.length > 0
  const merging = { id, sent, asks, textOf, problems, vin: vinOf(request), compiled, settings, verify }
  const merged = await merge(merging, tenant, sending)
  if (!merged) throw gatewayError('reply-doubtful', { fault: 'it shows no shipment' })
  const { before, after, changes } = merged
  const uncleared = fields.blank.flatMap((slot) => {
    const field = compiled.fields.names[slot] ?? ''
    return changes.shown[field] ? [field] : []
  })
  const tell = (told: Told) => {
    const unused = changes.unused.filter((field) => asked.includes(field))
    const parts = [
      asks && changes.fields.length === 0 ? nothingChanged(unused.length === 0) : told['Message'],
      sentence('Not understood', [...notUnderstood(request), ...unused]),
      sentence('Not cleared, because a blank changes nothing', uncleared),
      sentence('Changed', changes.fields),
    ]
    return { ...told, Message: oneLine(parts.join('')) }
  }
  return { body: { ...before.body, ...after }, tell }
}

const nothingChanged = (stands: boolean) =>
  stands ? 'The shipment has these values already; nothing was changed.' : 'Nothing was changed.'

const sentence = (about: string, names: readonly string[]) =>
  names.length === 0 ? '' : ` ${about}: ${names.join(', ')}.`

/** Returns the problems of an update in which nothing that was sent can change anything. */
export function emptyUpdate(request: Version1, namedBy: string | undefined): readonly Problem[] {
  const { compiled, fields } = request
  if (compiled.action.service.mergeInto !== 'current' || changingFields(request, namedBy).length > 0) return []
  const blank = fields.blank.map((slot) => compiled.fields.names[slot] ?? '')
  const unknown = notUnderstood(request)
  return [
    ...unknown.map((name) => ({ field: name, code: 'unknown', message: `${name} is not understood` })),
    ...blank.map((field) => ({ field, code: 'blank', message: `${field} is blank, which changes nothing` })),
  ]
}

/** Returns the fields that were sent with a value that may change the shipment. */
function changingFields({ compiled, textOf }: Version1, namedBy: string | undefined): readonly string[] {
  const rows = compiled.action.request.filter(({ kind }) => kind !== 'ref' && kind !== 'v1Only')
  return rows.flatMap(fieldsOf).filter((field) => field !== namedBy && textOf(field) !== undefined)
}

/** The most names that a message lists. */
const MOST_NAMES = 5

/** Returns the unknown names of a call, with the fields that they may mean. */
function notUnderstood({ compiled, fields }: Version1): readonly string[] {
  const plain = [...new Set(fields.unknown)].filter((name) => PLAIN_NAME.test(name))
  return plain.slice(0, MOST_NAMES).map((name) => {
    const meant = meantField(name, compiled.fields.names)
    return meant === undefined ? name : `${name} (did you mean ${meant}?)`
  })
}
