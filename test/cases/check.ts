import { expect } from 'vitest'
import { translationSettings } from '../../src/config/translation-settings.ts'
import type { Catalog } from '../../src/mapping/catalog.ts'
import { explainRequestTranslation } from '../../src/mapping/explain.ts'
import type { Explanation } from '../../src/mapping/request.ts'
import { parseJson } from '../../src/text/json.ts'
import { actionOf, type Case, configOf, legacyCall, translate } from './read.ts'

/** Cases with a status are refused before or after the translation. */
export const isTranslated = ({ request, status, replies, missing }: Case) =>
  (request !== undefined && status === undefined) || replies !== undefined || missing !== undefined

/** Checks a case by a catalog alone, without a server. @default catalog: the built-in one */
export function checkCase(one: Case, action: string, catalog?: Catalog): void {
  if (one.request !== undefined && one.status === undefined) checkRequest(one, action, one.request, catalog)
  checkReply(one, action, catalog)
}

function checkRequest(one: Case, action: string, request: NonNullable<Case['request']>, catalog?: Catalog): void {
  const compiled = actionOf(action, catalog)
  const { endpoint } = legacyCall(compiled, request, one.path, catalog)
  const name = typeof request === 'string' ? undefined : request['ActionName']
  expect(endpoint.choose(typeof name === 'string' ? name : undefined)).toMatchObject({ action: { name: action } })

  const { outgoing, explanations, problems, fields, facts } = translate(one, compiled, request, catalog)
  const account = explainRequestTranslation(compiled, fields, translationSettings(configOf(one)), facts)
  if (one.problems) {
    expect(problems).toHaveLength(one.problems.length)
    expect(problems).toMatchObject(one.problems)
  } else {
    expect(problems).toEqual([])
  }
  if (one.sends) {
    expect({ method: outgoing.method, path: outgoing.path, ...bodyOf(outgoing.body) }).toStrictEqual(one.sends)
  }
  if (one.notes) expect(explanations.filter(remarked).map(({ to }) => to)).toEqual(one.notes.map(({ to }) => to))
  for (const { to, ...remarks } of one.notes ?? []) {
    const said = Object.entries(remarks).map(([kind, text]) => [kind, text === true ? expect.any(String) : text])
    const { loss, assumed, warning } = explanations.find((row) => row.to === to) ?? {}
    const spoken = { ...(loss && { loss }), ...(assumed && { assumed }), ...(warning && { warning }) }
    expect({ to, ...spoken }).toEqual({ to, ...Object.fromEntries(said) })
  }
  if (one.remembered) {
    expect(explanations.filter(({ origin }) => origin === 'quote').map(({ to }) => to)).toEqual(one.remembered)
  }
  if (one.unused) expect(account.unused.map(({ field }) => field).sort()).toEqual([...one.unused].sort())
  if (one.unknown) expect(account.unknown).toEqual(one.unknown)
}

const remarked = ({ loss, assumed, warning }: Explanation) =>
  [loss, assumed, warning].some((said) => said !== undefined)

/** A body as the service reads it; a request without one has no such key. */
export function bodyOf(text: string | undefined): { readonly body?: unknown } {
  return text === undefined ? {} : { body: parseJson(text) }
}

function checkReply(one: Case, action: string, catalog?: Catalog): void {
  if (!one.replies && !one.missing) return
  const compiled = actionOf(action, catalog)
  const own = one.request === undefined ? undefined : translate(one, compiled, one.request, catalog).own
  const { reply, missing } = compiled.reply(one.service ?? undefined, {
    settings: translationSettings(configOf(one)),
    own,
  })
  expect(missing).toEqual(one.missing ?? [])
  if (one.replies) expect(reply).toStrictEqual(one.replies)
}
