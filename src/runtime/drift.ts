import type { Catalog } from '../language/mapping/catalog.ts'
import { placeOf } from '../language/mapping/paths.ts'
import { placesOf } from '../language/mapping/row-parts.ts'
import { isObject } from '../language/text/json.ts'
import type { Logger } from './log.ts'
import { createCounter } from './metrics.ts'

/** The known members of an object, or of the objects in a list. A value without known members is not inspected. */
interface KnownMembers extends Map<string, KnownMembers> {}

/** The most places that are logged. A service can invent any number of names. */
const MOST_PLACES = 200
/** An object with more new members is not read to its end, because a reply may have a million. */
const MOST_NEW_FIELDS = 50
/** Larger lists are not read to their end, because their entries are alike. */
const MOST_ENTRIES = 100
/** Members in which some services answer a change. */
const OF_CHANGES = ['success', 'message']
/** Names that a service gives to members. Other names may be values, such as ids or addresses, and are not shown. */
const PLAIN_NAME = /^(?!.*\d{4})[A-Za-z_][A-Za-z0-9_-]{0,63}$/
const UNPLAIN_NAME = '(an unusual name)'
const KIND = 'new-field'

/**
 * Detects fields in the service's replies that no declaration knows. It counts every one, and logs each place once per process. It stores
 * nothing.
 */
export function observeDrift({ actions }: Catalog, log: Logger) {
  const counter = createCounter(
    'transload_reply_drift_total',
    "Fields in the service's replies that the gateway does not know.",
    ['kind'],
    [[KIND]],
  )
  const told = new Set<string>()
  // Shared by all actions, because several of them reply with the same thing.
  const known: KnownMembers = new Map()
  const places = [...actions.values()].flatMap(({ action }) => [...action.request, ...action.reply].flatMap(placesOf))
  for (const place of [...OF_CHANGES, ...places]) {
    let holder = known
    for (const step of placeOf(place)) {
      if (typeof step === 'number') continue
      const members: KnownMembers = holder.get(step) ?? new Map()
      holder.set(step, members)
      holder = members
    }
  }

  function note(holder: string, name: string): void {
    counter.add(1, KIND)
    const path = `${holder}.${PLAIN_NAME.test(name) ? name : UNPLAIN_NAME}`
    if (told.has(path) || told.size >= MOST_PLACES) return
    told.add(path)
    log.warn({ drift: { kind: KIND, path } }, 'a service reply has a field that the gateway does not know')
  }

  function inspect(value: unknown, holder: KnownMembers, path: string): void {
    if (Array.isArray(value)) {
      for (let i = 0; i < value.length && i < MOST_ENTRIES; i += 1) inspect(value[i], holder, `${path}[]`)
    }
    if (!isObject(value)) return
    let news = 0
    for (const name in value) {
      const members = holder.get(name)
      if (members === undefined) {
        note(path, name)
        news += 1
        if (news === MOST_NEW_FIELDS) return
      } else if (members.size > 0) inspect(value[name], members, `${path}.${name}`)
    }
  }

  return {
    /** Inspects the reply to an action. */
    inspect: (action: string, body: unknown): void => inspect(body, known, action.split('.', 1)[0] ?? ''),
    metric: counter.metric,
  }
}
