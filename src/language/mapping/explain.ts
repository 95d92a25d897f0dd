import { type CallbackContext, type CompiledCallback, changedPlaces, type ServiceEvent } from './callback.ts'
import { LeftOut } from './codec.ts'
import type { CompiledAction } from './compile.ts'
import type { Fields, Problem } from './fields.ts'
import { coveredBy, covers, type Draft, listLeaves, MOST_ROWS } from './paths.ts'
import type { Explanation, KnownFacts } from './request.ts'
import type { Settings } from './row.ts'
import { bracedIn, fieldsOf, placesOf } from './row-parts.ts'

/** A field or place whose value is not used, with the reason. */
export interface UnusedField {
  readonly field: string
  readonly why: string
}

/** A translated request in which every sent field appears exactly once. */
export interface ExplainedRequest {
  readonly body: Draft
  readonly fields: readonly Explanation[]
  readonly unused: readonly UnusedField[]
  readonly unknown: readonly string[]
  readonly problems: readonly Problem[]
  /** The facts for a later booking, each with the field that it comes from. */
  readonly remembered: readonly Explanation[]
}

/** Translates a request by a call's rows, and explains every sent field. */
export function explainRequestTranslation(
  compiled: CompiledAction,
  fields: Fields,
  settings: Settings,
  facts: KnownFacts | undefined,
): ExplainedRequest {
  const explanations: Explanation[] = []
  const { body, problems } = compiled.request(fields, { settings, facts, explanations })
  const used = new Set(explanations.flatMap(({ from }) => from))
  const remembered: Explanation[] = []
  const unreadableFacts = compiled.remember(fields, body, settings, remembered).problems
  const unused = compiled.fields.names.flatMap((field, slot) => {
    if (used.has(field)) return []
    if (fields.blank.includes(slot)) return [{ field, why: 'blank, which counts as not sent' }]
    const value = fields.values[slot]
    if (value === undefined) return []
    if (problems.some((problem) => problem.field === field && problem.code !== 'required'))
      return [{ field, why: 'cannot be translated' }]
    const unreadable = unreadableFacts.find((problem) => problem.field === field)
    if (unreadable) return [{ field, why: `not remembered for a later booking: ${unreadable.message}` }]
    return [{ field, why: whyUnused(compiled, field, String(value)) }]
  })
  return { body, fields: explanations, unused, unknown: [...new Set(fields.unknown)], problems, remembered }
}

function whyUnused({ action }: CompiledAction, field: string, value: string): string {
  const row = [...action.request, ...(action.remember ?? [])].find((candidate) => fieldsOf(candidate).includes(field))
  if (row && 'why' in row) return row.why
  const codec = row?.kind === 'move' || row?.kind === 'split' ? row.codec : undefined
  const decoded = codec?.decode(value)
  if (decoded instanceof LeftOut) return `lost: ${decoded.message}`
  if (row?.kind === 'lookup') return 'an earlier field decided, or the lookup table does not know the value'
  const { loss, assumed, warning } = codec?.remark?.(value) ?? {}
  const remarks = Object.entries({ lost: loss, assumed, note: warning })
  const said = remarks.map(([kind, remark]) => (remark === undefined ? '' : `; ${kind}: ${remark}`)).join('')
  return `remembered for a later booking; this call does not send it${said}`
}

/** The leaves of a reply, each exactly once. */
export interface ReplyAccount {
  readonly fields: readonly Explanation[]
  readonly unused: readonly UnusedField[]
  readonly unknown: readonly string[]
  /** The number of leaves that are not listed. */
  readonly more: number
}

/** A translated reply. */
interface ExplainedReply extends ReplyAccount {
  readonly reply: Readonly<Record<string, string>>
  readonly missing: readonly string[]
}

/** Translates a reply by a call's rows, and explains every leaf that the service sent. */
export function explainReplyTranslation(
  compiled: CompiledAction,
  body: unknown,
  settings: Settings,
  own: string | undefined,
): ExplainedReply {
  const explanations: Explanation[] = []
  const { reply, missing } = compiled.reply(body, { settings, own, explanations })
  const used = new Set(explanations.flatMap(({ from }) => from))
  const { listed, more } = listLeaves(body)
  const unread = listed.map(([path]) => path).filter((path) => !used.has(path))
  const fields = explanations.map((explanation) => withMentioned(compiled, explanation, unread))
  const mentioned = new Set(fields.flatMap(({ from }) => from))
  const left = unread.filter((path) => !mentioned.has(path))
  const rows = compiled.action.reply
  const reasons = [
    ...rows.filter((row) => row.kind === 'v2Only'),
    ...rows.flatMap((row) =>
      row.kind === 'callerNumber' ? [{ v2: row.v2, why: 'the caller has its own number for it' }] : [],
    ),
    ...rows.flatMap(placesOf).map((v2) => ({ v2, why: 'blank, which counts as absent' })),
  ]
  const rest = left.map((path) => {
    const isBelow = coveredBy(path)
    return { path, row: reasons.find(({ v2 }) => isBelow(v2)) }
  })
  return {
    reply,
    fields,
    unused: rest.flatMap(({ path, row }) => (row ? [{ field: path, why: row.why }] : [])),
    unknown: rest.flatMap(({ path, row }) => (row ? [] : [path])),
    missing,
    more,
  }
}

/** Adds the places that a message's sentences mention. The message reads them, so no other row needs to cover them. */
function withMentioned({ action }: CompiledAction, explanation: Explanation, unread: readonly string[]): Explanation {
  const row = action.reply.find((candidate) => candidate.kind === 'message' && candidate.v1 === explanation.to)
  if (row?.kind !== 'message') return explanation
  const places = row.sentences.flatMap(({ text, when }) => [
    ...bracedIn(text),
    ...(when && when.is !== 'several' ? [when.v2] : []),
  ])
  // If a list is counted, its entries count, but not what other rows leave out of them.
  const lists = row.sentences.flatMap(({ when }) => (when?.is === 'several' ? [when.v2] : []))
  const isLeftOut = (path: string) => action.reply.some((one) => one.kind === 'v2Only' && covers(one.v2, path))
  const isMentioned = (path: string) => {
    const isBelow = coveredBy(path)
    return places.some(isBelow) || (lists.some(isBelow) && !isLeftOut(path))
  }
  return { ...explanation, from: unread.filter(isMentioned) }
}

/** The fields of a translated event. */
export interface CallbackAccount {
  readonly fields: readonly Explanation[]
  /** Changed places that no row of the callback knows. */
  readonly unknown: readonly string[]
  /** The number of changed places that were not examined. */
  readonly more: number
}

/** Translates an event by a delivery's rows, and explains every field. */
export function explainCallback(
  { callback, translate }: CompiledCallback,
  event: ServiceEvent,
  context: CallbackContext,
): CallbackAccount & { readonly v1: Readonly<Record<string, string>> } {
  const fields: Explanation[] = []
  const v1 = translate(event, { ...context, explanations: fields })
  const known = ['status', ...callback.fields.flatMap(changedPlaces)]
  const { data } = event
  const changed = typeof data === 'object' && data !== null ? Object.keys(data) : []
  // An object or a list may change as a whole, and then its parts have rows.
  const isKnown = (path: string) => known.some((place) => covers(place, path) || covers(path, place))
  const looked = changed.slice(0, MOST_ROWS)
  return { v1, fields, unknown: looked.filter((path) => !isKnown(path)), more: changed.length - looked.length }
}
