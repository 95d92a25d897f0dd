import { z } from 'zod'
import { list } from './values.ts'

/** Where the service reads version-1 requests: a prefix of the legacy paths, or `/v2` for its version-2 paths. */
export const nativePath = z
  .string()
  .regex(/^\/$|^(\/[\w.-]+)+\/?$/, 'must be / or a prefix of the legacy paths such as /quotes, or /v2')
  .transform((path) => (path === '/' ? path : path.replace(/\/$/, '')))

/** The actions that the service's own version-1 handling may answer. */
const NATIVE_ACTIONS = ['quote.get', 'quote.update', 'shipment.get', 'shipment.create'] as const

/** The other actions, each with the reason why it is always translated. */
const ALWAYS_TRANSLATED: Readonly<Record<string, string>> = {
  'quote.approve':
    'a version-1 answer does not say if the approval made a shipment, and a booking could make a second one',
  'shipment.update': 'only a translated update reads what it changes first, and waits for others of the same shipment',
  'shipment.cancel': 'only a translated cancellation is verified by a read before it frees the key of the booking',
}

/** Returns the mistakes of a list of native actions. */
export function nativeActionMistakes(actions: readonly string[]): readonly string[] {
  return actions.flatMap((action) => {
    if (NATIVE_ACTIONS.some((known) => known === action)) return []
    const why = ALWAYS_TRANSLATED[action]
    return why === undefined
      ? [`must not have ${action}, which is none of ${NATIVE_ACTIONS.join(', ')}`]
      : [`must not have ${action}: ${why}`]
  })
}

/** A list of actions that are handed to the service's own version-1 handling. */
export const nativeActions = list.transform((actions, ctx) => {
  for (const message of nativeActionMistakes(actions)) ctx.issues.push({ code: 'custom', message, input: actions })
  return actions
})

/** A version-2 path tells the versions apart by the body, which a read does not have. */
export function unreachableNativeActions(
  path: string | undefined,
  actions: readonly string[] | undefined,
  place: string,
): readonly string[] {
  const unreachable = path === '/v2' ? (actions ?? []).filter((action) => action.startsWith('shipment.')) : []
  return unreachable.map(
    (action) =>
      `${place} has ${action}, which needs the legacy paths: set V2_NATIVE_PATH to their prefix, because /v2 reads no shipment in version 1`,
  )
}
