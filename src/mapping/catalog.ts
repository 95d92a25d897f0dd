import { mistakesOf } from './check.ts'
import { type CompiledAction, compileAction } from './compile.ts'
import type { Action } from './declare.ts'
import { spelling } from './fields.ts'
import type { Tables } from './request.ts'

/** A legacy path and the actions that it stands for. */
export interface Endpoint {
  /** As documented: `/getShippingQuote.php`. */
  readonly path: string
  readonly method: 'GET' | 'POST'
  readonly family: Action['family']
  readonly actions: readonly CompiledAction[]
  /** The `ActionName`s that the path knows, for people. */
  readonly accepted: readonly string[]
  /** The action that a call means; undefined if the path does not know the name. */
  readonly choose: (actionName: string | undefined) => CompiledAction | undefined
}

/** Every action, checked and compiled, by name and by legacy path. */
export interface Catalog {
  readonly actions: ReadonlyMap<string, CompiledAction>
  /** By path in lower case without a closing slash. */
  readonly endpoints: ReadonlyMap<string, Endpoint>
  /** Whether some action documents this version-1 field, in any spelling. */
  readonly isVersion1: (name: string) => boolean
}

/** What the operator adds to the shipped declarations. */
export interface CatalogOptions {
  readonly tables: Tables
  /** More `ActionName`s: name → action. */
  readonly synonyms?: Readonly<Record<string, string>>
}

/** Declarations that break a rule; every mistake at once. */
export class MappingMistakes extends Error {
  override readonly name = 'MappingMistakes'
  readonly mistakes: readonly string[]

  constructor(mistakes: readonly string[]) {
    super(
      `the mappings have ${mistakes.length === 1 ? 'a mistake' : `${mistakes.length} mistakes`}:\n${mistakes.join('\n')}`,
    )
    this.mistakes = mistakes
  }
}

/** Checks declarations, all of them, and compiles them; throws `MappingMistakes`. */
export function compileCatalog(actions: readonly Action[], { tables, synonyms = {} }: CatalogOptions): Catalog {
  const surroundings = { tables: new Set(tables.keys()), facts: rememberedFacts(actions) }
  const mistakes = [
    ...actions.flatMap((action) => mistakesOf(action, surroundings)),
    ...twice(actions.map(({ name }) => name)).map((name) => `${name}: two actions have this name`),
    ...Object.entries(synonyms)
      .filter(([, target]) => !actions.some(({ name }) => name === target))
      .map(([synonym, target]) => `the ActionName ${synonym} means ${target}, which is no action`),
  ]
  // Compiling a declaration that breaks a rule would only repeat the mistake in other words.
  if (mistakes.length > 0) throw new MappingMistakes(mistakes)

  const compiled = new Map(actions.map((action) => [action.name, compileAction(action, tables)]))
  const paths = [...new Set(actions.flatMap(({ legacy }) => legacy.paths))]
  const endpoints = new Map<string, Endpoint>()
  for (const path of paths) {
    const here = [...compiled.values()].filter(({ action }) => action.legacy.paths.includes(path))
    mistakes.push(...clashes(path, here))
    endpoints.set(path.toLowerCase(), endpointOf(path, here, synonyms))
  }
  if (mistakes.length > 0) throw new MappingMistakes(mistakes)

  const version1 = new Set([...compiled.values()].flatMap(({ fields }) => fields.names.map(spelling)))
  return { actions: compiled, endpoints, isVersion1: (name) => version1.has(spelling(name)) }
}

/** One key for all the ways to write an `ActionName`. */
export function actionKey(actionName: string): string {
  return actionName.toLowerCase().replace(/[\s_-]+/g, '')
}

function endpointOf(
  path: string,
  actions: readonly CompiledAction[],
  synonyms: Readonly<Record<string, string>>,
): Endpoint {
  const first = actions[0]
  if (!first) throw new MappingMistakes([`${path}: no action`])
  const byKey = new Map<string, CompiledAction>()
  const accepted: string[] = []
  const accept = (actionName: string, action: CompiledAction) => {
    byKey.set(actionKey(actionName), action)
    accepted.push(actionName)
  }
  for (const action of actions) {
    const names = action.action.legacy.actionNames
    if (names !== 'any') for (const actionName of names) accept(actionName, action)
  }
  for (const [synonym, target] of Object.entries(synonyms)) {
    const action = actions.find((candidate) => candidate.action.name === target)
    if (action) accept(synonym, action)
  }
  const any = actions.find(({ action }) => action.legacy.actionNames === 'any')
  const absent = any ?? actions.find(({ action }) => action.legacy.byDefault)
  return {
    path,
    method: first.action.legacy.method,
    family: first.action.family,
    actions,
    accepted,
    choose: (actionName) => (actionName === undefined ? absent : (byKey.get(actionKey(actionName)) ?? any)),
  }
}

function clashes(path: string, actions: readonly CompiledAction[]): string[] {
  const declared = actions.map(({ action }) => action)
  const names = declared.map(({ name }) => name).join(' and ')
  const keys = declared.flatMap(({ legacy }) => (legacy.actionNames === 'any' ? [] : legacy.actionNames.map(actionKey)))
  const mistakes = twice(keys).map((key) => `${path}: the ActionName ${key} means two of ${names}`)
  if (new Set(declared.map(({ legacy }) => legacy.method)).size > 1)
    mistakes.push(`${path}: ${names} differ in their method`)
  if (new Set(declared.map(({ family }) => family)).size > 1) mistakes.push(`${path}: ${names} differ in their family`)
  if (declared.filter(({ legacy }) => legacy.byDefault || legacy.actionNames === 'any').length > 1) {
    mistakes.push(`${path}: an absent ActionName means two of ${names}`)
  }
  return mistakes
}

function rememberedFacts(actions: readonly Action[]): ReadonlySet<string> {
  const facts = new Set(['quote_id'])
  for (const { remember, request } of actions) {
    if (!remember) continue
    for (const row of [...request, ...remember]) {
      if (row.kind === 'split') for (const v2 of Object.values(row.v2)) facts.add(v2)
      else if ('v2' in row && row.kind !== 'v2Only') facts.add(row.v2)
    }
  }
  return facts
}

function twice(names: readonly string[]): string[] {
  return [...new Set(names.filter((name, i) => names.indexOf(name) !== i))]
}
