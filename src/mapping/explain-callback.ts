import { type CallbackContext, type CompiledCallback, changedPlaces, type ServiceEvent } from './callback.ts'
import { covers } from './paths.ts'
import type { Explanation } from './request-run.ts'

/** A translated event. */
export interface ExplainedCallback {
  /** The flat form. */
  readonly v1: Readonly<Record<string, string>>
  readonly fields: readonly Explanation[]
  /** Changed places that no row of the callback knows. */
  readonly unknown: readonly string[]
}

/** Translates an event with the rows of a delivery, and explains every field. */
export function explainCallback(
  { callback, translate }: CompiledCallback,
  event: ServiceEvent,
  context: Omit<CallbackContext, 'explanations'>,
): ExplainedCallback {
  const fields: Explanation[] = []
  const v1 = translate(event, { ...context, explanations: fields })
  const known = ['status', ...callback.fields.flatMap(changedPlaces)]
  const { data } = event
  const changed = typeof data === 'object' && data !== null ? Object.keys(data) : []
  // An object or a list may change as one, and then its parts have rows.
  const isKnown = (path: string) => known.some((place) => covers(place, path) || covers(path, place))
  return { v1, fields, unknown: changed.filter((path) => !isKnown(path)) }
}
