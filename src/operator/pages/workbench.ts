import { readFileSync } from 'node:fs'
import { html } from 'hono/html'
import { type Destination, type DryRun, explainPlan, planFromNames } from '../../calls/dry-run.ts'
import { version1 } from '../../calls/read-request.ts'
import { readBody, readJsonValue, readQuery } from '../../edge/body/read.ts'
import { type Assumption, assumptions } from '../../labs/certify/assumptions.ts'
import type { Answer } from '../../language/answer.ts'
import { errorTable, GatewayError } from '../../language/errors.ts'
import type { Action } from '../../language/mapping/action.ts'
import type { Catalog } from '../../language/mapping/catalog.ts'
import type { CompiledAction } from '../../language/mapping/compile.ts'
import { type ExplainedReply, explainReplyTranslation } from '../../language/mapping/explain.ts'
import type { FlatBody } from '../../language/mapping/fields.ts'
import type { Row, Settings } from '../../language/mapping/row.ts'
import { fieldsOf, placesOf } from '../../language/mapping/row-parts.ts'
import { messages } from '../../language/messages.ts'
import { createEquivalents } from '../reports/report.ts'
import { type Column, type Html, named, publicPage, shown, table } from './layout.ts'
import { type Language, languages, snippet } from './snippets.ts'

/** The parts that the pages for visitors are made of. */
interface WorkbenchDeps {
  readonly catalog: Catalog
  readonly destination: Destination
  readonly settings: Settings
  readonly sunset: Date | undefined
}

/** The input of a visitor. */
interface Input {
  readonly body: string
  /** The name of an action; empty if the request tells it. */
  readonly action: string
  /** A version-2 reply; empty for the declared example. */
  readonly reply: string
}

/** The result. */
type Outcome =
  | { readonly kind: 'translated'; readonly compiled: CompiledAction; readonly run: DryRun; readonly fields: FlatBody }
  | { readonly kind: 'refused'; readonly message: string }

/** Shows the workbench with a declared example, or with what a form has sent. Nothing of it is kept. */
export function workbenchPage(deps: WorkbenchDeps, form: URLSearchParams): Promise<Answer> {
  const chosen = form.get('example') ?? form.get('action') ?? ''
  const example = deps.catalog.actions.get(chosen) ?? deps.catalog.actions.values().next().value
  const isExample = form.has('example') || !form.has('body')
  const input: Input = isExample
    ? {
        body: JSON.stringify(example?.action.example.request ?? {}, null, 2),
        action: example?.action.name ?? '',
        reply: '',
      }
    : { body: form.get('body') ?? '', action: form.get('action') ?? '', reply: form.get('reply') ?? '' }
  const outcome = translated(input, deps)
  return publicPage(
    'Workbench',
    html`<h1>From version 1 to version 2, field by field</h1>
<p class="lead">Paste a version-1 request of the vehicle-transport service: a body, a whole <code>curl</code> line, or a raw HTTP request.
Nothing that you paste is stored or logged.</p>
<nav class="tabs" aria-label="Examples"><span>Examples</span>${[...deps.catalog.actions.values()].map(
      ({ action }) =>
        html`<a href="/?example=${action.name}"${action.name === input.action ? html` aria-current="true"` : ''}>${action.name}</a>`,
    )}</nav>
<form method="post" action="/" id="workbench">
<div class="pair">
<section><h2>Version 1</h2>
<label class="block">Action <select name="action"><option value="">told by the request</option>${[
      ...deps.catalog.actions.keys(),
    ].map((name) => html`<option${name === input.action ? html` selected` : ''}>${name}</option>`)}</select></label>
<textarea name="body" rows="22" spellcheck="false" aria-label="A version-1 request">
${linesOf(input.body)}</textarea>
<p><button>Translate</button> <span id="link"></span></p>
</section>
<section id="version2" aria-live="polite"><h2>Version 2</h2>${version2Of(outcome)}</section>
</div>
<div id="account">${outcome.kind === 'translated' ? accountOf(outcome) : ''}</div>
<div class="pair" id="back">${outcome.kind === 'translated' ? backOf(outcome.compiled, input.reply, deps) : ''}</div>
</form>
<div id="code">${outcome.kind === 'translated' && outcome.run.ok ? codeOf(outcome.run) : ''}</div>`,
  )
}

/** Text of several lines, without characters that a browser obeys. */
const linesOf = (text: string) => text.split(/\r?\n/).map(shown).join('\n')

function translated({ body, action }: Input, { catalog, destination, settings }: WorkbenchDeps): Outcome {
  try {
    const pasted = pastedRequest(body)
    const fields = pasted.isQuery ? readQuery(pasted.body) : readBody(Buffer.from(pasted.body), undefined)
    const compiled = actionOf(action, pasted.path, fields, catalog)
    const run = explainPlan(planFromNames(version1(compiled, fields), settings), destination)
    return { kind: 'translated', compiled, run, fields }
  } catch (error) {
    if (error instanceof GatewayError) return { kind: 'refused', message: error.message }
    throw error
  }
}

/** A word of a shell: in single quotes, in double quotes, or plain. */
const WORD = /'((?:[^']|'\\'')*)'|"((?:\\.|[^"\\])*)"|((?:\\.|[^\s'"\\])+)/gs
const REQUEST_LINE = /^(?:GET|POST|PUT|DELETE) (\S+)(?: HTTP\/[\d.]+)?\r?\n/
const DATA = /^(?:-d|--data(?:-raw|-binary|-ascii|-urlencode)?)$/

interface Pasted {
  readonly path: string | undefined
  readonly body: string
  readonly isQuery: boolean
}

/** Finds the body in what was pasted. */
function pastedRequest(pasted: string): Pasted {
  const text = pasted.trim()
  if (/^curl\s/.test(text)) {
    const words = [...text.replaceAll(/\\\r?\n/g, ' ').matchAll(WORD)].map(
      ([, single, double, plain]) =>
        single?.replaceAll("'\\''", "'") ??
        double?.replaceAll(/\\(["\\$`])/g, '$1') ??
        plain?.replaceAll(/\\(.)/g, '$1') ??
        '',
    )
    const data = words.filter((_, at) => DATA.test(words[at - 1] ?? ''))
    return requestTo(
      words.find((word) => /^https?:\/\/|^[\w.-]+(:\d+)?\//.test(word)),
      data.join('&'),
    )
  }
  const [line, target] = REQUEST_LINE.exec(text) ?? []
  if (line === undefined) return { path: undefined, body: text, isQuery: false }
  const end = /\r?\n\r?\n/.exec(text)
  return requestTo(target, end ? text.slice(end.index + end[0].length) : '')
}

function requestTo(target: string | undefined, body: string): Pasted {
  const [path = '', query = ''] = (target ?? '').split('?', 2)
  return body === '' ? { path, body: query, isQuery: true } : { path, body, isQuery: false }
}

/** Finds the action that a request means: as chosen, by its path, by its `ActionName`, else by its fields. */
function actionOf(chosen: string, path: string | undefined, { entries }: FlatBody, catalog: Catalog): CompiledAction {
  const known = catalog.actions.get(chosen)
  const sent = new Set(entries.map(([name]) => name))
  const [, name] = entries.find(([field]) => field.toLowerCase() === 'actionname') ?? []
  const actionName = typeof name === 'string' ? name : undefined
  const endpoint = catalog.endpoints.get(`/${path?.split('/').findLast((part) => part !== '') ?? ''}`.toLowerCase())
  const named = endpoint?.choose(actionName) ?? (actionName === undefined ? undefined : byName(actionName, catalog))
  const fits = [...catalog.actions.values()].toSorted((one, other) => shareOf(other, sent) - shareOf(one, sent))
  const found = (path === undefined ? undefined : endpoint?.choose(actionName)) ?? known ?? named ?? fits[0]
  if (!found) throw new Error('There are no actions.')
  return found
}

const byName = (name: string, catalog: Catalog) =>
  [...catalog.endpoints.values()]
    .filter(({ accepted }) => accepted.some((one) => one.toLowerCase() === name.toLowerCase()))
    .map((endpoint) => endpoint.choose(name))[0]

/** The part of the fields that an action knows. */
const shareOf = ({ fields }: CompiledAction, sent: ReadonlySet<string>) =>
  [...sent].filter((name) => fields.slotOf(name) !== undefined).length + 1 / (fields.names.length + 1)

function version2Of(outcome: Outcome): Html {
  if (outcome.kind === 'refused') return html`<p class="notice bad">${shown(outcome.message)}</p>`
  const { request, fields, problems, remarks = [] } = outcome.run
  const numbers = new Map(fields.map(({ to }, at) => [to, at + 1]))
  return html`${problems.map(({ message }) => html`<p class="notice bad">${shown(message)}</p>`)}
${remarks.map((remark) => html`<p class="soft">${shown(remark)}</p>`)}
<p><code><b>${request.method}</b> ${shown(request.url)}</code></p>
${request.over ? html`<p class="soft">The shipment is read first; this is laid over it, and the whole is sent.</p>` : ''}
${request.body === undefined ? html`<p class="soft">No body.</p>` : html`<pre class="json" tabindex="0">${jsonLines(request.body, numbers, '', '')}</pre>`}`
}

/** Writes JSON, each leaf with the number of its origin. */
function jsonLines(
  value: unknown,
  numbers: ReadonlyMap<string, number>,
  path: string,
  indent: string,
  comma = '',
): Html {
  const inner = `${indent}  `
  if (typeof value !== 'object' || value === null || Object.keys(value).length === 0) {
    const number = numbers.get(path) ?? numbers.get(path.replaceAll(/\[\d+\]/g, '[0]'))
    const text = shown(JSON.stringify(value) ?? '')
    return number === undefined
      ? html`${text}${comma}`
      : html`<span data-n="${number}" id="to-${number}">${text}</span>${comma} ${badge(number, 'from')}`
  }
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  const lines = Object.entries(value).map(([name, part], at, all) => {
    const next = Array.isArray(value) ? `${path}[${name}]` : path === '' ? name : `${path}.${name}`
    const key = Array.isArray(value) ? '' : `${JSON.stringify(name)}: `
    return html`${inner}${key}${jsonLines(part, numbers, next, inner, at < all.length - 1 ? ',' : '')}\n`
  })
  return html`${open}\n${lines}${indent}${close}${comma}`
}

/** A number that leads from a field to its place, or back. */
const badge = (number: number, to: 'from' | 'to') =>
  html`<a class="n" data-n="${number}" href="#${to}-${number}" aria-label="${to === 'to' ? `Field ${number}: to its place` : `Place ${number}: to its field`}">${number}</a>`

interface FieldRow {
  readonly number: number | undefined
  readonly from: string
  readonly before: string
  readonly to: string
  readonly said: Html | string
}

const text = (value: unknown) => (value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value))

function accountOf({ run, fields }: Extract<Outcome, { kind: 'translated' }>): Html {
  const sent = new Map(fields.entries.map(([name, value]) => [name, typeof value === 'string' ? value : text(value)]))
  const said = (kind: string, words: string | undefined) =>
    words === undefined ? '' : html`<b class="warn">${kind}</b> ${shown(words)} `
  const rows: readonly FieldRow[] = [
    ...run.fields.map(({ from, before, after, to, rule, loss, assumed, warning, origin }, at) => ({
      number: at + 1,
      from: from.join(' + ') || origin,
      before: from.length > 0 ? text(before ?? sent.get(from[0] ?? '')) : '',
      to: `${to} = ${text(after)}`,
      said: html`${said('assumed', assumed)}${said('lost', loss)}${said('note', warning)}<span class="soft">${rule ?? ''}</span>`,
    })),
    ...run.problems.map(({ field, message }) => ({
      ...NOWHERE,
      from: field,
      before: sent.get(field) ?? '',
      said: html`<b class="bad">problem</b> ${shown(message)}`,
    })),
    ...run.unused.map(({ field, why }) => ({
      ...NOWHERE,
      from: field,
      before: sent.get(field) ?? '',
      said: html`<b>not used</b> ${shown(why)}`,
    })),
    ...run.unknown.map((field) => ({
      ...NOWHERE,
      from: field,
      before: sent.get(field) ?? '',
      said: html`<b class="warn">unknown</b> ${run.didYouMean?.[field] ? html`did you mean <code>${run.didYouMean[field]}</code>?` : 'no mapping knows it'}`,
    })),
  ]
  return html`<h2>Every field, and what became of it</h2>${table('The fields of the request', ROWS, rows)}`
}

/** The most characters of a cell: the text stands beside the table, too. */
const MOST_CELL_CHARACTERS = 120

const cut = (words: string) =>
  words.length <= MOST_CELL_CHARACTERS ? words : `${words.slice(0, MOST_CELL_CHARACTERS)}…`

const NOWHERE = { number: undefined, to: '' } as const

const ROWS: readonly Column<FieldRow>[] = [
  {
    title: 'No.',
    cell: ({ number }) => (number === undefined ? '' : html`<span id="from-${number}">${badge(number, 'to')}</span>`),
  },
  {
    title: 'Version 1',
    cell: ({ number, from }) =>
      html`<code${number === undefined ? '' : html` data-n="${number}"`}>${named(cut(from))}</code>`,
  },
  { title: 'Sent', cell: ({ before }) => named(cut(before)) },
  { title: 'Version 2', cell: ({ to }) => (to === '' ? '' : html`<code>${named(cut(to))}</code>`) },
  { title: 'Why', cell: ({ said }) => said },
]

/** The way back: a version-2 reply, and the version-1 answer. */
function backOf(compiled: CompiledAction, reply: string, { settings }: WorkbenchDeps): Html {
  const given = reply.trim() === '' ? JSON.stringify(compiled.action.example.reply, null, 2) : reply
  return html`<section><h2>A version-2 reply</h2>
<textarea name="reply" rows="14" spellcheck="false" aria-label="A version-2 reply">
${linesOf(given)}</textarea></section>
<section id="answer" aria-live="polite"><h2>What the version-1 caller gets</h2>${answerOf(explainedReply(compiled, given, settings))}</section>`
}

function explainedReply(compiled: CompiledAction, reply: string, settings: Settings): ExplainedReply | undefined {
  try {
    return explainReplyTranslation(compiled, readJsonValue(reply), settings, undefined)
  } catch {
    return undefined
  }
}

function answerOf(found: ExplainedReply | undefined): Html {
  if (!found) return html`<p class="notice bad">The reply is not JSON.</p>`
  const { reply, unused, unknown, missing } = found
  return html`${missing.map((field) => html`<p class="notice bad">${shown(field)} is missing from the reply.</p>`)}
<pre tabindex="0">${linesOf(JSON.stringify(reply, null, 2))}</pre>
${unused.length + unknown.length === 0 ? '' : html`<details><summary>What version 1 does not show</summary><ul>${unused.map(({ field, why }) => html`<li><code>${named(field)}</code> ${why}</li>`)}${unknown.map((field) => html`<li><code>${named(field)}</code> unknown</li>`)}</ul></details>`}`
}

/** A larger body is not printed in every language. */
const MOST_CODE_CHARACTERS = 8 * 1024

function codeOf({ request, curl }: DryRun): Html {
  if ((curl?.length ?? 0) > MOST_CODE_CHARACTERS)
    return html`<p class="soft">The request is too long to show as code.</p>`
  return html`<h2>Take the code home</h2>
<p class="soft">Each runs as it is printed.</p>
${Object.entries(languages).map(
  ([language, title]) =>
    html`<details name="code"><summary>${title}</summary><pre tabindex="0">${snippet(language as Language, request)}</pre></details>`,
)}`
}

/** The values that a row may have, with the texts of version 1 that mean each. */
interface ValueTable {
  readonly name: string
  readonly about: string
  readonly meanings: Readonly<Record<string, string>>
}

/** Returns the table of values that a row uses, if it has one. */
function valuesOf(row: Row | undefined, { tables }: Catalog): ValueTable | undefined {
  if (row?.kind === 'move') {
    const { name, summary, values } = row.codec
    return values && { name, about: summary, meanings: values }
  }
  const phrases = row?.kind === 'lookup' ? tables.get(row.table)?.phrases : undefined
  if (row?.kind !== 'lookup' || !phrases) return undefined
  return { name: row.table, about: 'The longest of these phrases in a field decides, in any case.', meanings: phrases }
}

const assumedFields = Map.groupBy(
  assumptions.filter(({ field }) => field !== undefined),
  ({ field }) => field ?? '',
)

/** Every action, field, value and error of version 1, from the declarations, with the assumptions that they rest on. */
export function referencePage({ catalog }: WorkbenchDeps): Promise<Answer> {
  const equivalent = createEquivalents(catalog)
  const valueTables = new Map<string, ValueTable>()
  const shownAssumptions = new Set<Assumption>()
  const ruleOf = (action: Action, field: string) => {
    const row = action.request.find((one) => fieldsOf(one).includes(field))
    const values = valuesOf(row, catalog)
    if (values) valueTables.set(values.name, values)
    const names = new Set((row ? placesOf(row) : []).map((place) => place.split('.').at(-1) ?? ''))
    const rests = [...names].flatMap((name) => assumedFields.get(name) ?? [])
    for (const one of rests) shownAssumptions.add(one)
    const hasDefault = row && 'fallbacks' in row && row.fallbacks.some(({ kind }) => kind === 'setting')
    return html`${equivalent(action.name, field)?.note ?? ''}${values ? html` <a href="#values-${values.name}">values</a>` : ''}${hasDefault ? html` <b class="warn">assumed</b> if absent` : ''}${rests.length === 0 ? '' : html` <span class="soft">rests on ${rests.map(({ id }, at) => html`${at > 0 ? ', ' : ''}<a href="#${id}">${id}</a>`)}</span>`}`
  }
  const actions = [...catalog.actions.values()].map(
    ({ action, fields }) => html`<h2 id="${action.name}">${action.summary}</h2>
<p><code>${action.legacy.method} ${action.legacy.paths.join(', ')}</code>${action.legacy.actionNames === 'any' ? '' : html` with <code>ActionName</code> ${action.legacy.actionNames.join(', ')}`}
becomes <code>${action.service.method} ${action.service.path}</code>. <a href="/?example=${action.name}">Open in the workbench</a></p>
${table<string>(
  `Fields of ${action.name}`,
  [
    { title: 'Field', cell: (field) => html`<code>${field}</code>` },
    {
      title: 'Version 2',
      cell: (field) =>
        html`${(equivalent(action.name, field)?.places ?? []).map((place) => html`<code>${place}</code> `)}`,
    },
    { title: 'Rule', cell: (field) => ruleOf(action, field) },
  ],
  fields.names,
)}`,
  )
  return publicPage(
    'Reference',
    html`<h1>Version 1, and where it went</h1>
<p class="lead">Every action, field, value and error, as the gateway's declarations have them. <a href="/openapi.json">OpenAPI description</a></p>
<p id="find"></p>
<nav class="tabs" aria-label="Parts"><span>Parts</span>${[...catalog.actions.keys(), ...[...valueTables.keys()].map((name) => `values-${name}`), 'errors', 'assumptions'].map((name) => html`<a href="#${name}">${name.replace(/^values-/, '')}</a>`)}</nav>
${actions}
${[...valueTables.values()].map(
  ({ name, about, meanings }) => html`<h2 id="values-${name}">Values: ${name}</h2>
<p>${about}</p>
${table<readonly [string, readonly (readonly [string, string])[]]>(
  `Values of ${name}`,
  [
    { title: 'Version 2', cell: ([value]) => html`<code>${value}</code>` },
    { title: 'Version 1', cell: ([, texts]) => named(texts.map(([text]) => text).join(', ')) },
  ],
  [...Map.groupBy(Object.entries(meanings), ([, value]) => value)],
)}`,
)}
<h2 id="errors">Errors</h2>
${table<readonly [string, { readonly status: number; readonly title: string }]>(
  'Errors, with the messages that callers see',
  [
    { title: 'Status', cell: ([, { status }]) => status },
    { title: 'Code', cell: ([code]) => html`<code>${code}</code>` },
    {
      title: 'Message',
      cell: ([code]) =>
        html`${Object.entries(messages).map(([name, message]) => (name.split('/')[0] === code ? html`<p>${message}</p>` : ''))}`,
    },
  ],
  Object.entries(errorTable),
)}
<h2 id="assumptions">Assumptions</h2>
<p>What the fields above rest on, and the service's document does not say. <code>transload certify assumptions</code> tries it.</p>
${table<Assumption>(
  'Assumptions about the service',
  [
    { title: 'Name', cell: ({ id }) => html`<code id="${id}">${id}</code>` },
    { title: 'Assumption', cell: ({ sentence }) => sentence },
    { title: 'Tried by', cell: ({ how }) => how },
  ],
  [...shownAssumptions],
)}`,
  )
}

/** The script of the pages; the build puts it beside the program. */
export const script: Answer = {
  status: 200,
  headers: {
    'Content-Type': 'text/javascript; charset=utf-8',
    'Cache-Control': 'no-cache',
    'X-Content-Type-Options': 'nosniff',
  },
  body: readFileSync(new URL('./workbench-client.js', import.meta.url)),
}
