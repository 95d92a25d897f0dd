import { readFileSync } from 'node:fs'
import { html } from 'hono/html'
import { type ExplainedCall, explainCall, refusalAt } from '../../calls/dry-run.ts'
import { type DryRun, pathShownIn } from '../../calls/explain-plan.ts'
import { dryRunReply } from '../../calls/explain-reply.ts'
import { readBody, readQuery } from '../../edge/body/read.ts'
import { deprecationFor } from '../../edge/callers/caller.ts'
import type { Answer } from '../../language/answer.ts'
import { GatewayError, gatewayError } from '../../language/errors.ts'
import { closureNotice } from '../../language/legacy-headers.ts'
import { actionKey, type Catalog, type Endpoint, firstEndpoint } from '../../language/mapping/catalog.ts'
import { ACTION_NAME, type CompiledAction } from '../../language/mapping/compile.ts'
import { type FlatBody, looseName } from '../../language/mapping/fields.ts'
import { placesOf } from '../../language/mapping/row-parts.ts'
import type { GatewayRooms } from '../../routes.ts'
import { equivalentOf } from '../reports/equivalents.ts'
import { plural } from '../words.ts'
import { fixed } from './fixed.ts'
import { type Column, code, type Html, named, publicPage, shown, table } from './layout.ts'
import { exampleRequest, prose } from './reference.ts'
import { programsOf } from './snippets.ts'

/** The input of a visitor. */
interface Input {
  readonly body: string
  /** A legacy path; empty if the request tells it. */
  readonly path: string
  /** A version-2 reply to an action; empty for the declared example. */
  readonly reply: string
  readonly replyTo: string
}

type PasteOutcome = ReturnType<typeof outcomeOf>
/** A call that has been explained. */
type ExplainedPaste = Extract<PasteOutcome, { readonly kind: 'explained' }>

/** Shows the workbench with a declared example, or with what a form has sent. Nothing of it is kept. */
export function workbenchPage(rooms: GatewayRooms, form: URLSearchParams): Promise<Answer> {
  const { actions, endpoints } = rooms.catalog
  const example = actions.get(form.get('example') ?? '') ?? actions.values().next().value
  const of = (name: keyof Input) => form.get(name) ?? ''
  const body = form.has('body') ? of('body') : example ? exampleRequest(example.action, rooms.config) : ''
  const input: Input = { body, path: of('path'), reply: of('reply'), replyTo: of('replyTo') }
  const outcome = outcomeOf(input, rooms)
  const rows = outcome.kind === 'explained' ? rowsOf(outcome, rooms.catalog) : []
  const action = outcome.kind === 'explained' ? outcome.run.action : ''
  const answered = outcome.kind === 'explained' && outcome.run.ok && outcome.plan ? action : ''
  return publicPage(
    'Workbench',
    html`<h1>Test a version-1 request</h1>
<p class="lead">Paste a body, a whole <code>curl</code> line, or a raw HTTP request. You see what the gateway would do with it. Nothing is sent, stored or logged.</p>
${noticeOf(rooms)}
<nav class="tabs" aria-label="Examples" id="examples"><span>Examples</span>${[...actions.keys()].map(
      (name) => html`<a href="/?example=${name}"${name === action && html` aria-current="true"`}>${name}</a>`,
    )}</nav>
<form method="post" action="/" id="workbench">
<div id="verdict" aria-live="polite">${verdictOf(outcome, rows)}</div>
<div class="pair">
<section><h2>Version 1</h2>
<label class="block">Path, if none is pasted <select name="path"><option value="">as the fields suggest</option>${[
      ...endpoints.values(),
    ].map(({ method, path }) => {
      const served = `${rooms.config.LEGACY_BASE_PATHS[0]}${path}`
      return html`<option value="${served}"${served === input.path && html` selected`}>${method} ${served}</option>`
    })}</select></label>
<div class="editor pane"><pre id="marks" aria-hidden="true">${marked(body, outcome, rows)}
</pre><textarea name="body" spellcheck="false" aria-label="A version-1 request">
${linesOf(body)}</textarea></div>
<p><button>Translate</button></p>
</section>
<section id="version2">${version2Of(outcome, rows)}</section>
</div>
<div id="account">${accountOf(rows)}</div>
<div class="pair" id="back" data-action="${answered}">${backOf(outcome, input, rooms)}</div>
</form>
<div id="code">${outcome.kind === 'explained' && outcome.run.ok && requestCode(outcome.run)}</div>`,
  )
}

/** Says what refuses every call now, and what a page for strangers cannot know. */
function noticeOf({ config, callers, store }: GatewayRooms): Html | '' {
  if (callers.mode === 'tenants')
    return html`<p class="soft">This page ignores tenants' own settings, such as <code>ActionName</code>s, defaults, and the end of version 1. With a tenant's credential, a dry run applies them, and <a href="/my">the migration page</a> shows the dates.</p>`
  const refused = closureNotice(deprecationFor(config), store.now())
  if (refused === undefined) return ''
  return html`<p class="notice warn">${refused} This page still shows how a call is translated.</p>`
}

/** Text of several lines, without characters that a browser obeys. */
const linesOf = (text: string) => text.split(/\r?\n/).map(shown).join('\n')

/** Explains the request as its path would take it. */
function outcomeOf(input: Input, rooms: GatewayRooms) {
  const { catalog, config } = rooms
  const pasted = pastedRequest(input.body)
  const path = pasted.path ?? input.path
  const [, kind, called = ''] = /^\/(legacy|dry-run)(\/.*)/.exec(rooms.route(path)) ?? []
  let endpoint = catalog.endpoints.get(called.toLowerCase())
  try {
    if (pasted.path?.includes('/v2/'))
      return { kind: 'passed' as const, request: `${pasted.method} ${path.slice(path.indexOf('/v2/'))}` }
    if (pasted.path !== undefined && !endpoint) {
      const paths = config.LEGACY_BASE_PATHS.flatMap((base) =>
        [...catalog.endpoints.values()].map((one) => base + one.path),
      )
      throw gatewayError('path-unknown', { paths: paths.join(', ') })
    }
    if (endpoint && pasted.method !== undefined && pasted.method !== endpoint.method && kind === 'legacy')
      throw gatewayError('method-wrong', { methods: endpoint.method })
    const body = pasted.method === 'GET' ? readQuery(pasted.query) : readBody(Buffer.from(pasted.body), undefined)
    endpoint ??= meantEndpoint(body, catalog)
    const call = explainCall(body, endpoint, rooms)
    const compiled = catalog.actions.get(call.run.action)
    if (!compiled) throw new Error(`there is no action ${call.run.action}`)
    return { kind: 'explained' as const, compiled, body, ...call }
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    const { status, headers, body } = refusalAt(endpoint?.path ?? path, error, '', rooms)
    const v1: unknown = JSON.parse(String(body))
    return { kind: 'refused' as const, answer: { status, headers, v1 } }
  }
}

/** A word of a shell: in single quotes, also as browsers copy it (`$'O\'Neil'`), in double quotes, or plain. */
const WORD = /\$'((?:\\.|[^'\\])*)'|'((?:[^']|'\\'')*)'|"((?:\\.|[^"\\])*)"|((?:\\.|[^\s'"\\])+)/gs
const REQUEST_LINE = /^([A-Z]{3,7}) (\/\S*|https?:\/\/\S+)(?: HTTP\/[\d.]+)?(?=\r?\n|$)/
const DATA = /^(?:-d|--json|--data(?:-raw|-binary|-ascii)?)=?$/
/** After these, a value may have any character. */
const ENCODED_DATA = /^(?:-F|--form(?:-string)?|--data-urlencode)=?$/
/** After these, a value may look like an address, and is not that of the call. */
const NO_ADDRESS = /^(?:-[AbeHoux]|--(?:user-agent|cookie|referer|header|output|user|proxy|cacert))=?$/

/** Finds the method, the path and the body in what was pasted, which may be a body alone. */
function pastedRequest(pasted: string) {
  const text = pasted.trim()
  if (/^(?:\$ )?curl(?:\.exe)?\s/.test(text)) {
    const words = [...text.replaceAll(/\\\r?\n/g, ' ').matchAll(WORD)].map(
      ([, escaped, single, double, plain]) =>
        escaped?.replaceAll(/\\(.)/gs, (_, letter) => (letter === 'n' ? '\n' : letter)) ??
        single?.replaceAll("'\\''", "'") ??
        double?.replaceAll(/\\(["\\$`])/g, '$1') ??
        plain?.replaceAll(/\\(.)/g, '$1') ??
        '',
    )
    const after = (option: RegExp) => words.filter((_, at) => option.test(words[at - 1] ?? ''))
    const encoded = after(ENCODED_DATA).map((field) => field.split(/=(.*)/s, 2).map(encodeURIComponent).join('='))
    const data = [...after(DATA), ...encoded].join('&')
    const isGet = words.some((word) => /^(?:-G|--get)$/.test(word))
    const method = isGet ? 'GET' : (after(/^(?:-X|--request)$/)[0] ?? (data === '' ? 'GET' : 'POST'))
    const target =
      words.find((word, at) => /^https?:\/\/|^[\w.-]+(:\d+)?\//.test(word) && !NO_ADDRESS.test(words[at - 1] ?? '')) ??
      ''
    return requestTo(
      method,
      isGet && data !== '' ? `${target}${target.includes('?') ? '&' : '?'}${data}` : target,
      data,
    )
  }
  const [, method, target = ''] = REQUEST_LINE.exec(text) ?? []
  if (method === undefined) return { method, path: undefined, query: '', body: text }
  const end = /\r?\n\r?\n/.exec(text)
  return requestTo(method, target, end ? text.slice(end.index + end[0].length) : '')
}

function requestTo(method: string, target: string, body: string) {
  const [path = '', query = ''] = target.replace(/^(?:https?:\/\/)?[^/?]*/, '').split('?', 2)
  return { method, path, query, body }
}

/** Finds the path that a body without one means: by its `ActionName`, else by its fields. */
function meantEndpoint({ entries }: FlatBody, catalog: Catalog): Endpoint {
  const [, name] = entries.find(([field]) => looseName(field) === looseName(ACTION_NAME)) ?? []
  const key = typeof name === 'string' ? actionKey(name) : undefined
  const named = [...catalog.endpoints.values()].find(({ accepted }) => accepted.some((one) => actionKey(one) === key))
  const sent = new Set(entries.map(([field]) => field))
  const [fitting] = [...catalog.actions.values()].toSorted((one, other) => shareOf(other, sent) - shareOf(one, sent))
  if (!fitting) throw new Error('There are no actions.')
  return named ?? firstEndpoint(fitting.action, catalog)
}

/** The part of the fields that an action knows, in either version. */
function shareOf({ fields, action }: CompiledAction, sent: ReadonlySet<string>) {
  const places = new Set(action.request.flatMap(placesOf).map((place) => place.split(/[.[]/, 1)[0]))
  const known = [...sent].filter((name) => fields.slotOf(name) !== undefined || places.has(name))
  return known.length + 1 / (fields.names.length + 1)
}

/** A field with what becomes of it. Its number ties it to its text in the request, and to its place. */
type FieldRow = ReturnType<typeof rowsOf>[number]

const text = (value: unknown) => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))

/** Lists every field once, what needs attention first. */
function rowsOf({ run, body, compiled, plan }: ExplainedPaste, catalog: Catalog) {
  const { fields: index, action } = compiled
  const sent = new Map(
    body.entries.map(([name, value]) => {
      const known = index.names[index.slotOf(name) ?? -1] ?? name
      return [known, typeof value === 'string' ? value : value === null ? '' : 'not a single value']
    }),
  )
  const refused = new Set(run.problems.map(({ field }) => field))
  const label = (kind: string, words: string | undefined) =>
    words === undefined ? '' : html`<b class="warn">${kind}</b> ${shown(words)} `
  const field = (kind: 'problem' | 'unknown' | 'used' | 'unused', name: string, said: Html | string, to = '') => {
    return { kind, names: [name], from: name, sent: sent.get(name) ?? '', to, after: undefined, said }
  }
  const translated = run.fields.map(({ from, before, after, to, loss, assumed, warning, origin }) => {
    const isNoted = (loss ?? assumed ?? warning) !== undefined
    const shownBefore = text(before ?? sent.get(from[0] ?? ''))
    const isChanged = plan && from.length > 0 && !isNoted && shownBefore !== text(after)
    const rule = isChanged ? (equivalentOf(action.name, from[0] ?? '', catalog)?.note ?? '') : ''
    return {
      kind: isNoted ? ('noted' as const) : ('used' as const),
      /** The fields as the request and the declarations call them. */
      names: from,
      from: from.join(' + ') || ORIGINS[origin],
      sent: from.length > 0 ? shownBefore : '',
      /** Empty if nothing of it is sent. */
      to,
      after,
      said: html`${label('assumed', assumed)}${label('lost', loss)}${label('note', warning)}${prose(rule)}`,
    }
  })
  const unused = run.unused
    .filter((one) => !refused.has(one.field))
    .map(({ field: name, why }) =>
      action.target?.namedBy.includes(name)
        ? field('used', name, prose(why), IN_PATH)
        : field('unused', name, html`<b>not used</b> ${prose(shown(why))}`),
    )
  const rows = [
    ...run.problems.map((one) => field('problem', one.field, html`<b class="bad">problem</b> ${shown(one.message)}`)),
    ...run.unknown.flatMap((name) => {
      const meant = run.didYouMean?.[name]
      if (refused.has(name) && meant === undefined) return []
      const what = meant ? html`Did you mean <code>${meant}</code>?` : 'The gateway leaves it out.'
      return field('unknown', name, html`<b class="warn">unknown</b> ${what}`)
    }),
    ...translated.filter(({ kind }) => kind === 'noted'),
    ...[...translated, ...unused].filter(({ kind }) => kind === 'used'),
    ...unused.filter(({ kind }) => kind === 'unused'),
  ]
  return rows.map((row, at) => ({ ...row, number: at + 1 }))
}

/** The place of a field that names a quote or a shipment. */
const IN_PATH = 'the path'

const ORIGINS = {
  caller: '',
  quote: 'the remembered quote',
  default: 'default',
  fixed: 'always the same',
  service: 'the service',
}

/** Says first what would happen. */
function verdictOf(outcome: PasteOutcome, rows: readonly FieldRow[]): Html {
  if (outcome.kind === 'passed')
    return html`<div class="verdict good"><h2>Would be passed on unchanged: <code>${shown(outcome.request)}</code></h2></div>`
  if (outcome.kind === 'refused' || !outcome.run.ok) {
    const status = outcome.kind === 'refused' ? outcome.answer.status : outcome.run.reply.status
    const remarks = outcome.kind === 'refused' ? '' : remarksOf(outcome.run)
    return html`<div class="verdict bad"><h2>Would be refused: ${status}</h2><p>Nothing would be sent to the service. ${remarks}</p></div>`
  }
  const { request } = outcome.run
  const found = [
    [rows.filter(({ kind }) => kind === 'unknown').length, 'unknown field'],
    [outcome.run.fields.filter(({ assumed }) => assumed !== undefined).length, 'assumed value'],
    [outcome.run.fields.filter(({ loss }) => loss !== undefined).length, 'shortened value'],
  ] as const
  const counts = found.filter(([count]) => count > 0).map(([count, what]) => plural(count, what))
  return html`<div class="verdict good"><h2>Would be sent${outcome.plan ? '' : ' unchanged'}: <code>${request.method} ${shown(pathShownIn(request.url).split('?', 1)[0] ?? '')}</code></h2>
<p>${counts.length === 0 ? '' : html`<b class="warn">${counts.join(', ')}</b>. `}${remarksOf(outcome.run)}</p></div>`
}

const remarksOf = ({ remarks = [] }: DryRun) =>
  remarks.map((remark) => html`<span class="soft">${shown(remark)}</span> `)

/** Shows the request to the service, or the answer that the caller gets in its place. */
function version2Of(outcome: PasteOutcome, rows: readonly FieldRow[]): Html {
  if (outcome.kind === 'passed') return html`<h2>Version 2</h2><p class="soft">The request is already version 2.</p>`
  if (outcome.kind === 'refused') return refusedPart(outcome.answer.v1, outcome.answer.headers)
  const { request, ok, reply } = outcome.run
  if (!ok) return refusedPart(reply.v1, reply.headers ?? {})
  const numbers = new Map(rows.flatMap(({ to, number }) => (to === '' ? [] : [[to, number] as const])))
  const query = [...new URLSearchParams(request.url.split('?')[1] ?? '')]
  const place = (lines: Html) => html`<pre class="json pane" tabindex="0">${lines}</pre>`
  return html`<h2>Version 2</h2>
<p class="block"><code>${shown(request.url.split('?', 1)[0] ?? '')}</code>${rows
    .filter(({ to }) => to === IN_PATH)
    .map(({ number }) => html`<span id="to-${number}">${badge(number, 'from')}</span>`)}</p>
${
  request.body !== undefined
    ? place(jsonLines(request.body, numbers, '', ''))
    : query.length > 0
      ? place(html`${query.map(([name, value]) => html`${shown(name)} = ${jsonLines(value, numbers, name, '')}\n`)}`)
      : html`<p class="soft">No body.</p>`
}`
}

function refusedPart(v1: unknown, headers: Answer['headers']): Html {
  const [, help] = /<(\/reference#[\w-]+)>/.exec(headers['Link'] ?? '') ?? []
  return html`<h2>The caller gets</h2>
${code(JSON.stringify(v1, null, 2))}
${help && html`<p><a href="${help}">What this error means</a></p>`}`
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

/** A field with its value, in JSON or a form, wherever it stands in what was pasted. Bounded, so that no text takes long. */
const FIELD =
  /"((?:\\.|[^"\\]){0,200})"\s{0,20}:\s{0,20}(?:"(?:\\.|[^"\\]){0,4096}"|[^\s,}\]]+)|(?<=^|[?&\s'"])([^\s&='"?{}:,]{1,200})=[^&'"\s]*/g

/** Repeats the request with its fields marked; it lies under the request that one edits. */
function marked(pasted: string, outcome: PasteOutcome, rows: readonly FieldRow[]): Html {
  if (outcome.kind !== 'explained') return html`${linesOf(pasted)}`
  const { fields } = outcome.compiled
  const byName = new Map<string, Set<FieldRow>>()
  for (const row of rows) for (const name of row.names) byName.set(name, (byName.get(name) ?? new Set()).add(row))
  let end = 0
  const parts = [...pasted.matchAll(FIELD)].map(({ 0: found, 1: json, 2: form, index }) => {
    const before = pasted.slice(end, index)
    end = index + found.length
    const name = unescaped(json, form)
    const known = fields.names[fields.slotOf(name) ?? -1] ?? name
    const own = [...(byName.get(known) ?? byName.get(name) ?? [])]
    if (own.length === 0) return html`${linesOf(before)}${linesOf(found)}`
    return html`${linesOf(before)}<span class="is-${own[0]?.kind}" data-n="${own.map(({ number }) => number).join(' ')}">${linesOf(found)}</span>`
  })
  return html`${parts}${linesOf(pasted.slice(end))}`
}

/** Reads a name as it stands in JSON or in a form; one with a wrong escape is what it is. */
function unescaped(json: string | undefined, form = ''): string {
  try {
    return json === undefined ? decodeURIComponent(form.replaceAll('+', ' ')) : JSON.parse(`"${json}"`)
  } catch {
    return json ?? form
  }
}

function accountOf(rows: readonly FieldRow[]): Html | string {
  if (rows.length === 0) return ''
  // These are the last rows.
  const unused = rows.filter(({ kind }) => kind === 'unused')
  const first = rows.slice(0, rows.length - unused.length)
  return html`<h2>Field by field</h2>${first.length === 0 ? '' : table('The fields of the request', COLUMNS, first)}
${unused.length === 0 ? '' : html`<details><summary>Not used (${unused.length})</summary>${table('Fields that are not used', COLUMNS, unused)}</details>`}`
}

/** The most characters of a cell: the text stands beside the table, too. */
const MOST_CELL_CHARACTERS = 120

const cut = (words: string) =>
  words.length <= MOST_CELL_CHARACTERS ? words : `${words.slice(0, MOST_CELL_CHARACTERS)}…`

const COLUMNS: readonly Column<FieldRow>[] = [
  [
    'No.',
    ({ number, to }) =>
      html`<span id="from-${number}">${to === '' ? html`<span class="n" data-n="${number}">${number}</span>` : badge(number, 'to')}</span>`,
  ],
  ['Version 1', ({ number, from }) => html`<code data-n="${number}">${named(cut(from))}</code>`],
  ['Sent', ({ sent }) => named(cut(sent))],
  [
    'Version 2',
    ({ number, to, after }) =>
      to === ''
        ? ''
        : html`<code data-n="${number}">${named(cut(after === undefined ? to : `${to} = ${text(after)}`))}</code>`,
  ],
  ['Why', 'said'],
]

const MOST_REPLY_ROWS = 18

/** The way back: a version-2 reply, and the version-1 answer. A refused call has none, but keeps the reply. */
function backOf(outcome: PasteOutcome, { reply, replyTo }: Input, rooms: GatewayRooms): Html | string {
  if (outcome.kind !== 'explained' || !outcome.run.ok)
    return html`<input type="hidden" name="replyTo" value="${replyTo}"><input type="hidden" name="reply" value="${linesOf(reply)}">`
  const { compiled, plan } = outcome
  if (!plan) return html`<p class="soft">The service's reply comes back unchanged.</p>`
  const { name, example } = compiled.action
  const given = replyTo === name && reply.trim() !== '' ? reply : JSON.stringify(example.reply, null, 2)
  return html`<section><h2>If the service replies</h2><input type="hidden" name="replyTo" value="${name}">
<textarea name="reply" rows="${Math.min(given.split('\n').length + 1, MOST_REPLY_ROWS)}" spellcheck="false" aria-label="A version-2 reply">
${linesOf(given)}</textarea></section>
<section id="answer" aria-live="polite"><h2>The caller gets</h2>${answerOf(given, compiled, plan, rooms)}</section>`
}

function answerOf(given: string, compiled: CompiledAction, plan: ExplainedCall['plan'], rooms: GatewayRooms): Html {
  try {
    const { problems, reply, unused, unknown, remarks = [] } = dryRunReply(Buffer.from(given), compiled, rooms, plan)
    const left = [...unused, ...unknown.map((field) => ({ field, why: 'unknown' }))]
    return html`${problems.map(({ message }) => html`<p class="notice bad">${shown(message)}</p>`)}
${problems.length > 0 ? '' : html`${code(JSON.stringify(reply.v1, null, 2))}`}
${remarks.map((remark) => html`<p class="soft">${shown(remark)}</p>`)}
${left.length === 0 ? '' : html`<details><summary>Not in the answer (${left.length})</summary><ul>${left.map(({ field, why }) => html`<li><code>${named(field)}</code> ${prose(why)}</li>`)}</ul></details>`}`
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    return html`<p class="notice bad">The reply is not JSON.</p>`
  }
}

/** A larger body is not printed in every language. */
const MOST_CODE_CHARACTERS = 8 * 1024

function requestCode({ request, curl }: DryRun): Html {
  if ((curl?.length ?? 0) > MOST_CODE_CHARACTERS)
    return html`<p class="soft">The request is too long to show as code.</p>`
  return html`<h2>The version-2 call as code</h2>
<p class="soft">Each program runs as printed.</p>
${programsOf(request).map(([title, text]) => html`<details name="code"><summary>${title}</summary>${code(text.trimEnd())}</details>`)}`
}

/** The script of the pages; the build puts it beside the program. */
export const script = fixed('text/javascript', readFileSync(new URL('./workbench-client.js', import.meta.url)))
