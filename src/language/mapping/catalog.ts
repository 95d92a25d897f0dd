import { repeated } from '../text/nearest.ts'
import type { Action, VerbName } from './action.ts'
import { type Callback, compileCallback } from './callback.ts'
import { callbackMistakes, mistakesOf } from './check.ts'
import { type CompiledAction, compileAction } from './compile.ts'
import { looseName } from './fields.ts'
import type { Tables } from './request.ts'
import { placesOf } from './row-parts.ts'

/** A legacy path and its actions. */
export type Endpoint = ReturnType<typeof endpointOf>

/** Every action, checked and compiled, by name and by legacy path. */
export type Catalog = ReturnType<typeof compileCatalog>

/** Returns the endpoint of an action's first path. */
export function firstEndpoint({ legacy }: Action, { endpoints }: Catalog): Endpoint {
  const endpoint = endpoints.get((legacy.paths[0] ?? '').toLowerCase())
  if (!endpoint) throw new Error(`${legacy.paths[0]} has no endpoint`)
  return endpoint
}

/** Returns the `ActionName`s of an action at one of its paths, with the operator's. */
export const actionNamesAt = ({ accepted, choose }: Endpoint, action: Action): readonly string[] =>
  accepted.filter((name) => choose(name)?.action === action)

/** The operator's additions to the declarations. */
export interface CatalogOptions {
  readonly tables: Tables
  /** More `ActionName`s: name → action. */
  readonly synonyms?: Readonly<Record<string, string>>
  /** @default none */
  readonly callbacks?: readonly Callback[]
}

/** Returns all mistakes in the declarations. */
export function catalogMistakes(
  actions: readonly Action[],
  { tables, synonyms = {}, callbacks = [] }: CatalogOptions,
): readonly string[] {
  const known = { tables: new Set(tables.keys()), facts: rememberedFacts(actions) }
  // Two actions with one name clash in every way, and one mistake is enough.
  const distinct = [...new Map(actions.map((action) => [action.name, action])).values()]
  return [
    ...actions.flatMap((action) => mistakesOf(action, known)),
    ...repeated(actions.map(({ name }) => name)).map((name) => `${name}: two actions have this name`),
    ...synonymMistakes(distinct, Object.entries(synonyms)),
    ...pathsOf(actions).flatMap((path) => differences(path, distinct.filter(servedAt(path)))),
    ...callbacks.flatMap(callbackMistakes),
    ...callbackClashes(callbacks),
  ]
}

/** Compiles declarations without mistakes. */
export function compileCatalog(declared: readonly Action[], { tables, synonyms = {}, callbacks = [] }: CatalogOptions) {
  const actions: ReadonlyMap<string, CompiledAction> = new Map(
    declared.map((action) => [action.name, compileAction(action, tables)]),
  )
  const endpoints: ReadonlyMap<string, Endpoint> = new Map(
    pathsOf(declared).map((path) => {
      const isHere = servedAt(path)
      const here = [...actions.values()].filter(({ action }) => isHere(action))
      return [path.toLowerCase(), endpointOf(path, here, synonyms)]
    }),
  )
  const version1 = new Set([...actions.values()].flatMap(({ fields }) => fields.names.map(looseName)))
  const compiledCallbacks = callbacks.map(compileCallback)
  return {
    actions,
    /** Returns the first action with this verb. */
    firstOf: (verb: VerbName) => actions.values().find(({ action }) => action.verb === verb),
    /** By path, in lower case without a trailing slash. */
    endpoints,
    /** The lookup tables by name, with the operator's phrases. */
    tables,
    callbacks: compiledCallbacks,
    /** Returns an event's callback; undefined if none covers it. */
    callbackOf: (event: string) =>
      compiledCallbacks.find(({ callback: { events } }) => events !== 'any' && events.includes(event)) ??
      compiledCallbacks.find(({ callback: { events } }) => events === 'any'),
    /** Reports whether an action documents this version-1 field, in any spelling. */
    isVersion1: (name: string) => version1.has(looseName(name)),
    /** Returns the mistakes of a tenant's own `ActionName`s: name → action. */
    synonymMistakes: (more: Readonly<Record<string, string>>): readonly string[] =>
      synonymMistakes(declared, [...Object.entries(synonyms), ...Object.entries(more)]),
  }
}

/** Returns the same key for all spellings of an `ActionName`. */
export function actionKey(actionName: string): string {
  return actionName.toLowerCase().replace(/[\s_-]+/g, '')
}

function endpointOf(path: string, actions: readonly CompiledAction[], synonyms: Readonly<Record<string, string>>) {
  const first = actions[0]
  if (!first) throw new Error(`${path}: no action`)
  const named = (name: string | undefined) => actions.find(({ action }) => action.name === name)
  const names = [
    ...actions.flatMap(({ action: { name, legacy } }) =>
      legacy.actionNames === 'any' ? [] : legacy.actionNames.map((actionName) => [actionName, name] as const),
    ),
    ...Object.entries(synonyms).filter(([, name]) => named(name)),
  ]
  const byKey = new Map(names.map(([actionName, name]) => [actionKey(actionName), named(name)]))
  // Some callers repeat the path's own name, such as ConfirmBooking.
  const ownKey = actionKey(path.slice(path.lastIndexOf('/') + 1).replace(/\.php$/i, ''))
  if (actions.length === 1 && !byKey.has(ownKey)) byKey.set(ownKey, first)
  const any = actions.find(({ action }) => action.legacy.actionNames === 'any')
  const absent = any ?? actions.find(({ action }) => action.legacy.byDefault)
  return {
    /** As documented: `/getShippingQuote.php`. */
    path,
    method: first.action.legacy.method,
    family: first.action.family,
    actions,
    /** The accepted `ActionName`s, for error messages. */
    accepted: names.map(([actionName]) => actionName),
    /**
     * Returns the action that a call means; undefined if the path does not know the name. `more` are the `ActionName`s of the caller's
     * tenant: name → action.
     */
    choose: (actionName: string | undefined, more: Readonly<Record<string, string>> = {}) => {
      if (actionName === undefined) return absent
      const key = actionKey(actionName)
      const meant = Object.entries(more).find(([synonym]) => actionKey(synonym) === key)?.[1]
      return byKey.get(key) ?? named(meant) ?? any
    },
  }
}

/** Returns every legacy path once, as its first action spells it. Paths match without regard to case. */
function pathsOf(actions: readonly Action[]): readonly string[] {
  const paths = new Map<string, string>()
  for (const path of actions.flatMap(({ legacy }) => legacy.paths)) {
    if (!paths.has(path.toLowerCase())) paths.set(path.toLowerCase(), path)
  }
  return [...paths.values()]
}

function servedAt(path: string): (action: Action) => boolean {
  return ({ legacy }) => legacy.paths.some((other) => other.toLowerCase() === path.toLowerCase())
}

/** More `ActionName`s, each with its action. */
type Synonyms = readonly (readonly [actionName: string, action: string])[]

function synonymMistakes(actions: readonly Action[], synonyms: Synonyms): string[] {
  return [
    ...synonyms
      .filter(([, target]) => !actions.some(({ name }) => name === target))
      .map(([synonym, target]) => `the ActionName ${synonym} means ${target}, which is not an action`),
    ...synonyms
      .filter(([synonym]) => actionKey(synonym) === '')
      .map(([synonym]) => `the ActionName '${synonym}' has only blanks, _ and -`),
    ...pathsOf(actions).flatMap((path) => clashes(path, actions.filter(servedAt(path)), synonyms)),
  ]
}

function clashes(path: string, actions: readonly Action[], synonyms: Synonyms): string[] {
  const mistakes: string[] = []
  const meaning = new Map<string, string>()
  for (const { name, legacy } of actions) {
    const added = synonyms.flatMap(([synonym, target]) => (target === name ? [synonym] : []))
    for (const said of [...(legacy.actionNames === 'any' ? [] : legacy.actionNames), ...added]) {
      const first = meaning.get(actionKey(said)) ?? name
      meaning.set(actionKey(said), first)
      if (first !== name) mistakes.push(`${path}: the ActionName ${said} means both ${first} and ${name}`)
    }
  }
  return mistakes
}

/** Returns the mistakes of actions that cannot share their path. */
function differences(path: string, actions: readonly Action[]): string[] {
  const names = actions.map(({ name }) => name).join(' and ')
  const mistakes: string[] = []
  if (new Set(actions.map(({ legacy }) => legacy.method)).size > 1) {
    mistakes.push(`${path}: ${names} differ in their method`)
  }
  if (new Set(actions.map(({ family }) => family)).size > 1) mistakes.push(`${path}: ${names} differ in their family`)
  if (actions.filter(({ legacy }) => legacy.byDefault || legacy.actionNames === 'any').length > 1) {
    mistakes.push(`${path}: an absent ActionName means two of ${names}`)
  }
  return mistakes
}

function callbackClashes(callbacks: readonly Callback[]): string[] {
  const events = callbacks.flatMap((callback) => (callback.events === 'any' ? ['any other event'] : callback.events))
  return [
    ...repeated(callbacks.map(({ name }) => name)).map((name) => `${name}: two callbacks have this name`),
    ...repeated(events).map((event) => `two callbacks are for ${event}`),
  ]
}

function rememberedFacts(actions: readonly Action[]): ReadonlySet<string> {
  const facts = new Set(['quote_id'])
  for (const { remember, request } of actions) {
    if (!remember) continue
    for (const row of [...request, ...remember]) {
      if (row.kind !== 'v2Only') for (const v2 of placesOf(row)) facts.add(v2)
    }
  }
  return facts
}
