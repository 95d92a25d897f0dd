import { html } from 'hono/html'
import { explainCall } from '../../calls/dry-run.ts'
import type { Answer } from '../../language/answer.ts'
import type { Config } from '../../language/config/config.ts'
import { adviceFor, anchorOf, type ErrorCode, errorTable } from '../../language/errors.ts'
import type { Action, Alternative } from '../../language/mapping/action.ts'
import { actionNamesAt, type Catalog, firstEndpoint } from '../../language/mapping/catalog.ts'
import type { CompiledAction } from '../../language/mapping/compile.ts'
import type { Row } from '../../language/mapping/row.ts'
import { fieldsOf } from '../../language/mapping/row-parts.ts'
import { type MessageName, messages } from '../../language/messages.ts'
import type { GatewayRooms } from '../../routes.ts'
import { equivalentOf } from '../reports/equivalents.ts'
import { capitalized, grouped, shortSummary } from '../words.ts'
import { type Column, code, facts, type Html, joined, named, publicPage, table } from './layout.ts'

/** Shows text of a declaration, whose backticks mean code. */
export const prose = (text: string): Html =>
  html`${text.split('`').map((part, at) => (at % 2 === 1 ? html`<code>${part}</code>` : part))}`

const INDENT = 2

/** Returns the paths of an action as callers send them: below the first prefix that is served. */
export const servedPaths = ({ legacy }: Action, { LEGACY_BASE_PATHS: [base] }: Config): readonly string[] =>
  legacy.paths.map((path) => `${base}${path}`)

/** Writes an action's example as the request that one would send. */
export function exampleRequest(action: Action, config: Config): string {
  const { legacy, example } = action
  const line = `${legacy.method} ${servedPaths(action, config)[0]}`
  return legacy.method === 'GET'
    ? `${line}?${new URLSearchParams(example.request)}`
    : `${line}\n\n${JSON.stringify(example.request, null, INDENT)}`
}

/** The values that a row may have, with the texts of version 1 that mean each. */
type ValueTable = NonNullable<ReturnType<typeof valuesOf>>

/** Returns the table of values that a row uses, if it has one. */
function valuesOf(row: Row | undefined, { tables }: Catalog) {
  if (row?.kind === 'move') {
    const { name, summary, values } = row.codec
    return values && { name, about: summary, meanings: values }
  }
  if (row?.kind !== 'lookup') return undefined
  const phrases = tables.get(row.table)?.phrases
  const about = 'The longest of these phrases in a field decides; case is ignored.'
  return phrases && { name: row.table, about, meanings: phrases }
}

/** Every action, field, value and error of version 1, from the declarations. */
export function referencePage(rooms: GatewayRooms): Promise<Answer> {
  const { catalog } = rooms
  const valueTables = new Map<string, ValueTable>()
  const rules = new Map<string, number>()
  const actions = [...catalog.actions.values()]
  const entries = actions.map((compiled) => entryOf(compiled, rooms, valueTables, rules))
  const link = (id: string, text: string) => html`<li><a href="#${id}">${text}</a></li>`
  return publicPage(
    'Reference',
    html`<div class="reference">
<nav class="rail" aria-label="Contents"><p id="find"></p>
<ul>${actions.map(({ action }) => link(action.name, shortSummary(action)))}</ul>
<ul>${link('rules', 'Rules')}${[...valueTables.keys()].map((name) => link(`values-${name}`, `Values: ${name}`))}</ul>
<ul>${link('errors', 'Errors')}<li><a href="/openapi.json">OpenAPI</a></li></ul></nav>
<div>
<h1>Version-1 reference</h1>
<p class="lead">Every version-1 call, field, value and error, and how this gateway translates it.</p>
<p id="none" role="status"></p>
${entries}
<section class="entry" id="rules"><h2>Rules</h2>
<p>The tables above show the first sentence of each.</p>
${[...rules].map(([rule, at]) => html`<p class="without" id="rule-${at}">${prose(rule)}</p>`)}</section>
${[...valueTables.values()].map(
  ({ name, about, meanings }) => html`<section class="entry" id="values-${name}"><h2>Values: ${name}</h2>
<p>${prose(about)}</p>
${facts([...Map.groupBy(Object.entries(meanings), ([, value]) => value)].map(([value, texts]) => [value, named(texts.map(([one]) => one).join(', '))]))}</section>`,
)}
${errorsPart()}
</div></div>`,
  )
}

/** An action: its paths, its fields, and an example with its answer. */
function entryOf(
  { action, fields }: CompiledAction,
  rooms: GatewayRooms,
  valueTables: Map<string, ValueTable>,
  rules: Map<string, number>,
): Html {
  const { catalog } = rooms
  const { legacy, service, example } = action
  const endpoint = firstEndpoint(action, catalog)
  const known = fields.names.map((field) => ({
    field,
    places: [],
    note: '',
    ...equivalentOf(action.name, field, catalog),
  }))
  const request = { entries: Object.entries(example.request), format: 'json', text: '' } as const
  const { run } = explainCall(request, endpoint, rooms)
  const ruleOf = (field: string, note: string) => {
    const row = action.request.find((one) => fieldsOf(one).includes(field))
    const values = valuesOf(row, catalog)
    if (values) valueTables.set(values.name, values)
    const hasDefault = row && 'fallbacks' in row && row.fallbacks.some(({ kind }) => kind === 'setting')
    const rule = values
      ? html`<a href="#values-${values.name}">One of ${grouped(Object.keys(values.meanings).length)} values</a>.`
      : ruleText(note)
    return html`${rule}${hasDefault && html` If absent, a default is <b class="warn">assumed</b>.`}`
  }
  /** Only the first sentence of a rule stands in a table: many fields share one. */
  const ruleText = (note: string) => {
    const rule = capitalized(note)
    const [first = '', ...more] = rule.split(/(?<=\.) /)
    if (more.length === 0) return prose(rule)
    const at = rules.get(rule) ?? rules.size
    rules.set(rule, at)
    return html`<a href="#rule-${at}">${prose(first)}</a>`
  }
  const without = Map.groupBy(
    known.filter(({ places }) => places.length === 0),
    ({ note }) => note,
  )
  const title = shortSummary(action)
  const [path, ...aliases] = servedPaths(action, rooms.config)
  const others = aliases.length > 0 && html`Also at ${codes(aliases)}.`
  const names =
    legacy.actionNames !== 'any' &&
    html`<code>ActionName</code> is ${codes(actionNamesAt(endpoint, action))}${legacy.byDefault && ', or absent'}.`
  return html`<section class="entry" id="${action.name}"><h2>${title} — <code>${legacy.method} ${path}</code></h2>
<p>${prose(action.summary.slice(title.length + 1).trim())} ${others}
${names}
Version 2: <code>${service.method} ${service.path}</code>. <a href="/?example=${action.name}">Try it in the workbench</a></p>
<div class="beside"><div>
${table<(typeof known)[number]>(
  `Fields: ${title}`,
  [
    ['Field', ({ field }) => breakable(field, /(?<=[a-z])(?=[A-Z])/)],
    ['Required', ({ field }) => requiredOf(field, action)],
    ['Example', ({ field }) => example.request[field] ?? ''],
    ['Version 2', 'places', placesOf],
    ['Rule', ({ field, note }) => ruleOf(field, note)],
  ],
  known.filter(({ places }) => places.length > 0),
)}
${[...without].map(
  ([why, all]) =>
    html`<p class="without">Not used: ${codes(all.map(({ field }) => field))} <span class="soft">(${prose(why)})</span></p>`,
)}
</div><div class="sample"><h3>Request</h3>${code(exampleRequest(action, rooms.config))}
<h3>Response</h3>${code(JSON.stringify(run.reply.v1, null, INDENT))}</div></div></section>`
}

const codes = (texts: readonly string[]): Html => joined(texts.map((text) => html`<code>${text}</code>`))

/** Shows a name that may break between its words. */
const breakable = (name: string, between: RegExp): Html =>
  html`<code>${joined(name.split(between), html`<wbr>`)}</code>`

const placesOf = (places: readonly string[]): Html =>
  html`${places.map((place) => html`${breakable(place, /(?<=\.)/)} `)}`

/** Says whether a call must have a field, or which other fields may stand for it. */
function requiredOf(field: string, { request, requires = [], target }: Action): Html | string {
  if (request.some((row) => row.kind === 'move' && row.v1 === field && row.required)) return 'yes'
  if (target?.namedBy.includes(field)) return target.namedBy.length === 1 ? 'yes' : 'one of these'
  const group = requires.find(({ anyOf }) => anyOf.some((one) => !isFact(one) && one.includes(field)))
  if (!group) return ''
  if (group.anyOf.length === 1) return 'yes'
  const names = group.anyOf.map((one) => (isFact(one) ? 'a quote' : html`<code>${one.join(' + ')}</code>`))
  return joined(names, ' or ')
}

const isFact = (one: Alternative): one is Exclude<Alternative, readonly string[]> => 'kind' in one

const BOOKED = { no: 'No', unknown: 'Not known', already: 'Yes, earlier', 'in progress': 'In progress' } as const
const AGAIN = { yes: 'Yes', later: 'Yes, after a wait', corrected: 'After a correction', no: 'No' } as const

/** Messages that only the admin listener answers with. */
const FOR_OPERATORS: ReadonlySet<string> = new Set(
  ['admin', 'booking', 'stored-event', 'tenant'].map((word) => `path-unknown/${word}`),
)

/** Every error as a caller meets it: a row for each message, with an anchor that the error's answer links to. */
function errorsPart(): Html {
  const names = (Object.keys(messages) as MessageName[])
    .filter((name) => !FOR_OPERATORS.has(name))
    // As the type of `messages` requires.
    .map((name) => ({ name, code: name.split('/')[0] as ErrorCode }))
  const anchors = new Set<string>(names.map(({ name }) => name))
  const rows = names
    .toSorted((one, other) => errorTable[one.code].status - errorTable[other.code].status)
    .map(({ name, code }) => {
      const [booked, again, todo] = adviceFor(name)
      // A code without a message of its own leads to the first of its messages.
      const isFirst = !anchors.has(code) && anchors.add(code) !== undefined
      return { name, code, isFirst, booked, again, todo }
    })
  const columns: readonly Column<(typeof rows)[number]>[] = [
    [
      'Error',
      ({ name, code, isFirst }) =>
        html`<code id="${anchorOf(name)}">${code}</code> <small${isFirst ? html` id="${code}"` : ''}>${errorTable[code].status}</small>`,
    ],
    ['Message', ({ name }) => messageOf(messages[name])],
    ['Booked?', ({ booked }) => BOOKED[booked]],
    ['Safe to resend?', ({ again }) => AGAIN[again]],
    ['What to do', 'todo', prose],
  ]
  // Without the titles that a narrow screen shows in cards: they would be a third of the page.
  return html`<section class="entry" id="errors"><h2>Errors</h2>
<p>The <code>Message</code> of an error says what to do, and its <code>Link</code> header leads to its row here. Words in <var>italics</var> differ from call to call.</p>
${table('Errors, with the messages that callers get', columns, rows, 'prose')}</section>`
}

const PLACEHOLDERS: Readonly<Record<string, string>> = {
  serviceSays: " The service's own message follows.",
  end: ' Version 1 ends on a date that follows.',
  problems: 'each field, and what is wrong with it',
}

const messageOf = (message: string): Html =>
  html`${message.split(/\{(\w+)\}/).map((part, at, all) => (at % 2 === 0 ? part : html`${/\w$/.test(all[at - 1] ?? '') ? ' ' : ''}<var>${PLACEHOLDERS[part] ?? part}</var>`))}`
