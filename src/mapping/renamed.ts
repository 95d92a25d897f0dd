/*
 * The names in earlier versions of the vocabulary. An operator's module that uses one gets a mistake with the new name,
 * instead of JavaScript's "is not a function".
 */

/** Old constructor → new constructor. */
const CONSTRUCTORS = new Map([
  ['code', 'wholeValue'],
  ['words', 'phraseIn'],
  ['recall', 'fromQuote'],
  ['remembered', 'quoteFact'],
  ['serverSets', 'setByService'],
  ['ownNumber', 'callerNumber'],
  ['say', 'message'],
  ['has', 'ifPresent'],
  ['lacks', 'ifAbsent'],
  ['several', 'ifSeveral'],
  ['need', 'anyOf'],
  ['fields', 'anyOf, which takes field names and lists of them'],
  ['fact', 'quoteFact'],
])

/** Old key → new key. An old key has one meaning, wherever it stands. */
const KEYS = new Map([
  ['finds', 'target'],
  ['by', 'namedBy'],
  ['among', 'disambiguateBy'],
  ['with', 'disambiguateBy'],
  ['recalls', 'quoteNamedBy'],
  ['keeps', 'xrefRecord'],
  ['under', 'names'],
  ['also', 'replyNames'],
  ['needs', 'requires'],
  ['over', 'mergeInto'],
  ['once', 'notIdempotent'],
  ['until', 'doneWhenStatus'],
  ['otherwise', 'fallbacks'],
  ['joint', 'joiner'],
  ['part', 'split'],
  ['passesOn', 'passThroughUnknown'],
  ['serverSets', 'setByService'],
])

/** Old kind of a row → new kind. */
const KINDS = new Map([
  ['recall', 'fromQuote'],
  ['ownNumber', 'callerNumber'],
  ['say', 'message'],
])

/** Returns the message for keys that a declaration must not have. */
export function unknownKeys(keys: readonly string[]): string {
  return keys
    .map((key) => {
      const now = KEYS.get(key)
      return now === undefined ? `${key} is not a key` : `${key} is now ${now}`
    })
    .join('; ')
}

/** Returns the message for a row of an unknown kind. */
export function unknownKind(kind: unknown): string {
  const now = typeof kind === 'string' ? KINDS.get(kind) : undefined
  return now === undefined ? 'is not a row; use the constructors' : `${kind} is now ${now}`
}

/** Stands in for the constructors that were renamed: each throws an error with the new name. */
export const renamedConstructors: Readonly<Record<string, () => never>> = Object.fromEntries(
  [...CONSTRUCTORS].map(([old, now]) => [
    old,
    () => {
      throw new Error(`the constructor ${old} is now ${now}`)
    },
  ]),
)
