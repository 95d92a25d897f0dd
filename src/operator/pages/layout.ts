import type { IncomingMessage } from 'node:http'
import { html, raw } from 'hono/html'
import { parseAccept } from 'hono/utils/accept'
import type { Answer } from '../../language/answer.ts'
import { errorTable, type GatewayError } from '../../language/errors.ts'
import { escapeControls, printableJson } from '../../language/text/service-text.ts'
import type { TextTable } from '../reports/tables.ts'
import { capitalized, durationOf, grouped } from '../words.ts'
import { COPY_PATH, ICON, MARK, STYLE_PATH } from './fixed.ts'

/** HTML whose texts are escaped. */
export type Html = ReturnType<typeof html>

/** No frames and no foreign addresses; one style sheet, and scripts of the gateway's own. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "connect-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ')

/** Makes the answer of a page. */
export type Shell = ReturnType<typeof shellOf>

interface PageOptions {
  /** The name of the page in the navigation that this one belongs to. @default its title */
  readonly at?: string
  /** The browser loads the page again after this time. */
  readonly refreshSeconds?: number
  /** @default 200 */
  readonly status?: number
}

/** The address of the script of the pages for visitors. */
export const SCRIPT_PATH = '/workbench.js'

/** Makes the answers of the pages for operators. */
export const adminShell = (service: string) =>
  shellOf({
    pages: [
      ['/', 'Home'],
      ['/bookings', 'Bookings'],
      ['/events', 'Events'],
      ['/migration', 'Migration'],
      ['/settings', 'Settings'],
    ],
    environment: environmentOf(service),
  })

/** Makes the answer of a page for visitors. */
export const publicPage = shellOf({
  pages: [
    ['/', 'Workbench'],
    ['/reference', 'Reference'],
    ['/guide', 'Guide'],
    ['/openapi.json', 'OpenAPI'],
  ],
  script: SCRIPT_PATH,
})

/** Makes the answer of a page about a caller, for itself. */
export const ownPage = shellOf({ pages: [['/my', 'Your migration']] })

const BADGES = { local: 'soft', test: 'warn', production: 'good' } as const

/** Returns the environment that an address of the service is of, as far as its name tells. */
export function environmentOf(address: string): keyof typeof BADGES {
  const { hostname } = new URL(address)
  if (/^(localhost|127\.|\[::1\])/.test(hostname)) return 'local'
  return /(^|[.-])(stage|staging|test|sandbox|uat|dev|demo)\d*([.-]|$)/.test(hostname) ? 'test' : 'production'
}

type PageLink = readonly [path: string, name: string]

/** Makes the frame of pages: their navigation, and what stands in it. */
function shellOf({
  pages,
  script,
  environment,
}: {
  /** The first one is where the word mark leads. */
  readonly pages: readonly [PageLink, ...PageLink[]]
  /** Of the pages for visitors. */
  readonly script?: string
  /** The service's environment, for a badge. */
  readonly environment?: keyof typeof BADGES
}) {
  const [[first, firstName]] = pages
  const scripts = [COPY_PATH, ...(script === undefined ? [] : [script])]
  return async (
    title: string,
    content: Html,
    { at = title, refreshSeconds, status = 200 }: PageOptions = {},
  ): Promise<Answer> => {
    const body = await html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${shown(title)} – Transload</title>
<link rel="icon" href="${ICON}">
<link rel="stylesheet" href="${STYLE_PATH}">
${scripts.map((path) => html`<script type="module" src="${path}"></script>\n`)}</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header><a class="mark" href="${first}" aria-label="Transload: ${firstName}"${current(firstName === at)}><svg viewBox="0 0 24 24" width="24" height="24" aria-hidden="true">${raw(MARK)}</svg><b>Transload</b></a>
<nav aria-label="Pages"><ul>${pages.map(([path, name]) => html`<li><a href="${path}"${current(name === at)}>${name}</a></li>`)}</ul></nav>
${environment && html`<span class="pill ${BADGES[environment]}" title="The service's environment">${environment}</span>`}</header>
<main id="content">
${content}
</main>
</body>
</html>
`
    const headers = {
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Security-Policy': POLICY,
      'Cache-Control': 'no-store',
      'Referrer-Policy': 'no-referrer',
      'X-Content-Type-Options': 'nosniff',
      Vary: 'Accept',
      ...(refreshSeconds && { Refresh: String(refreshSeconds) }),
    }
    return { status, headers, body: String(body) }
  }
}

const current = (isCurrent: boolean) => isCurrent && html` aria-current="page"`

/** Makes the page of an error, for people. */
export async function errorPage(show: Shell, error: GatewayError): Promise<Answer> {
  const title = error.code === 'path-unknown' ? 'Not found' : errorTable[error.code].title
  const content = html`<h1>${title}</h1><p>${shown(error.message)}</p><p><a href="/">Go to the home page</a></p>`
  const answer = await show(title, content, error)
  return { ...answer, headers: { ...error.headers, ...answer.headers } }
}

/** Returns text that a caller or the service chose without characters that a browser obeys. */
export const shown = (text: string): string => escapeControls(text)

/** Shows a name that a caller chose, in its own direction of writing; nothing for an empty one. */
export const named = (text: string): Html | '' => (text === '' ? '' : html`<bdi>${shown(text)}</bdi>`)

/** Shows a name as a link to a page about it. */
export const nameLink = (path: string, query: Readonly<Record<string, string>>, text: string): Html =>
  html`<a href="${path}?${new URLSearchParams(query)}">${named(text)}</a>`

/** Shows what is copied to the letter, such as a VIN; nothing for an empty text. */
export const codeOf = (text: string): Html | '' => (text === '' ? '' : html`<code>${named(text)}</code>`)

/** Shows parts in a row, with something between them. */
export const joined = (parts: readonly (Html | string)[], between: Html | string = ', '): Html =>
  html`${parts.map((part, at) => [at > 0 && between, part])}`

/** The content of a cell or of a fact; `false`, undefined and an empty text are none. */
type Content = Html | string | number | false | undefined

type Look = 'number' | 'number line1' | 'line1' | 'line2'
type Cell<Row> = readonly [title: string, cell: (row: Row) => Content, look?: Look | undefined]
type Member<Row, Name extends keyof Row> = readonly [
  title: string,
  member: Name,
  show?: (value: Row[Name]) => Content,
  look?: Look,
]

/**
 * A column of a table: its title and what it makes of a row, or the member of the row that it shows. Numbers stand to the right. On a
 * telephone, a list has its columns on two lines, and no others.
 */
export type Column<Row> = Cell<Row> | { readonly [Name in keyof Row]: Member<Row, Name> }[keyof Row]

function cellOf<Row>(column: Column<Row>): Cell<Row> {
  const isCell = (one: Column<Row>): one is Cell<Row> => typeof one[1] === 'function'
  if (isCell(column)) return column
  // Without a function that shows it, a member is shown as it is.
  const [title, member, show = (value) => value as Content, look]: Member<Row, keyof Row> = column
  return [title, (row) => show(row[member]), look]
}

/** Rows that are lines, with two on a telephone; rows of prose, which are cards or paragraphs there; or of figures, which scroll. */
type Form = 'list' | 'cards' | 'prose' | 'plain'

/** Shows rows as a table, or words where there are none. Its roles are explicit because browsers forget them where the style shows no table. */
export function table<Row>(
  caption: string,
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  form: Form = 'cards',
  none: Html | string = 'None.',
): Html {
  const [first] = rows
  if (first === undefined) return empty(none)
  const cells = columns
    .map(cellOf)
    .map(([title, cell, look = typeof cell(first) === 'number' ? 'number' : undefined]) => ({
      title,
      cell,
      kind: look && html` class="${look}"`,
    }))
  /** A card has each cell with its title, and nothing of empty cells. */
  const contentOf = ({ title, cell, kind }: (typeof cells)[number], row: Row) => {
    const value = cell(row)
    const content = typeof value === 'number' ? grouped(value) : value
    return form === 'cards'
      ? html`<td role="cell"${kind} data-title="${title}"><div>${content}</div></td>`
      : html`<td role="cell"${kind}>${content}</td>`
  }
  const head = cells.map(({ title, kind }) => html`<th role="columnheader" scope="col"${kind}>${title}</th>`)
  const body = rows.map((row) => html`<tr role="row">${cells.map((one) => contentOf(one, row))}</tr>\n`)
  return html`<div class="scroll" role="region" aria-label="${caption}" tabindex="0"><table role="table" class="${form}">
<caption>${caption}</caption>
<thead role="rowgroup"><tr role="row">${head}</tr></thead>
<tbody role="rowgroup">${body}</tbody>
</table></div>`
}

/** Shows a table of a report. */
export function textTable({ title, head, rows }: TextTable, form?: Form, none?: string): Html {
  const columns = head.map((name, i): Cell<readonly string[]> => {
    const look = /^[\d,]+$/.test(rows[0]?.[i] ?? '') ? 'number' : undefined
    return [capitalized(name), (row) => named(row[i] ?? ''), look]
  })
  return table(title, columns, rows, form, none)
}

/** Says that there is nothing, and the next step. */
export const empty = (words: Html | string): Html => html`<div class="empty">${words}</div>`

/** A state in a word, with its color. */
export const pill = (words: string, kind: 'good' | 'bad' | 'warn' | 'soft' = 'soft'): Html =>
  html`<span class="pill ${kind}">${words}</span>`

/** Shows facts below each other, or as one strip. Facts that are empty are left out. */
export const facts = (
  all: readonly (readonly [name: string, value: Content])[],
  form: 'facts' | 'strip' = 'facts',
): Html =>
  html`<dl class="${form}">${all.map(([name, value]) => value && html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`

/** Shows a case to resolve: its name, state and age; what it is; and what to do. */
export const showCase = (
  show: Shell,
  at: string,
  [name, ...state]: readonly [name: string, state: string, age: string],
  what: Html,
  todo: Html,
): Promise<Answer> =>
  show(
    [name, ...state].join(' · '),
    html`<h1>${named(name)} <span class="soft">· ${state.join(' · ')}</span></h1>
<div class="case"><section>${what}</section><section>${todo}</section></div>`,
    { at },
  )

/** A pane of code, with a button that copies it. */
export const code = (text: string): Html =>
  html`<div class="code"><pre tabindex="0">${text.split('\n').map(shown).join('\n')}</pre><button class="copy" type="button">Copy</button></div>`

const ID_SHOWN = 8

/** Shows an id by its beginning; the whole is in its title, and is what the button copies. */
export const shortId = (id: string): Html | '' =>
  id.length <= ID_SHOWN + 1
    ? named(id)
    : html`<code title="${shown(id)}">${shown(id.slice(0, ID_SHOWN))}…</code> <button class="copy" type="button" aria-label="Copy the id ${shown(id)}">Copy</button>`

/** Shows how long ago a time (ISO 8601, UTC) was; the time itself is in its title. */
export const age = (time: string, now: number): Html =>
  html`<time datetime="${time}" title="${time.slice(0, 19).replace('T', ' ')} UTC">${durationOf(now - Date.parse(time))}</time>`

/** Writes a time (ISO 8601, UTC) to the minute. */
export const minuteOf = (time: string): string => time.slice(0, 'yyyy-mm-ddThh:mm'.length).replace('T', ' ')

/** Shows a time (ISO 8601, UTC) to the minute. */
export const moment = (time: string): Html => html`<time datetime="${time}">${minuteOf(time)}</time>`

const PAGE_OR_JSON = /^(?:text\/html|application\/json)$/i

/** Reads the query of a request. */
export const queryOf = ({ url = '' }: IncomingMessage): URLSearchParams => new URLSearchParams(url.split('?')[1])

/** Reports whether a request asks for a page rather than for JSON. */
export function wantsHtml({ url = '', headers }: IncomingMessage): boolean {
  // The most wanted comes first.
  const best = parseAccept(headers.accept ?? '').find(({ type, q }) => q > 0 && PAGE_OR_JSON.test(type))
  return best?.type.toLowerCase() === 'text/html' && !url.split('?', 1)[0]?.endsWith('.json')
}

/** Answers a program. */
export function json(value: object): Answer {
  const headers = { 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff', Vary: 'Accept' }
  return { status: 200, headers, body: `${printableJson(value, 2)}\n` }
}

/** Values of a chart, with the name of their color. */
type Series = readonly [color: 'version1' | 'version2' | 'calls' | 'bad', words: string, values: readonly number[]]

const WIDTH = 900
const HEIGHT = 160
const GAP = 0.2

/** Draws a bar for each label, from the first series up. A table beside it, or the text above, has the figures. */
export function chart(labels: readonly string[], series: readonly Series[], about: string, unit = ''): Html {
  const sums = labels.map((_, at) => series.reduce((sum, [, , values]) => sum + (values[at] ?? 0), 0))
  const most = roundUp(Math.max(1, ...sums))
  const step = WIDTH / Math.max(1, labels.length)
  const y = (value: number) => short(HEIGHT - (value / most) * HEIGHT)
  const tops = labels.map(() => 0)
  const barOf = (value: number, at: number) => {
    const [bottom = 0, x] = [tops[at], short(at * step)]
    tops[at] = bottom + value
    return value === 0 ? '' : `M${x} ${y(bottom + value)}h${short(step * (1 - GAP))}V${y(bottom)}H${x}z`
  }
  const shownLabels = [labels[0], labels[Math.floor(labels.length / 2)], labels.at(-1)]
  return html`<figure class="chart">
<figcaption class="key">${series.map(([color, words]) => html`<span>${swatch(color)} ${words}</span> `)}</figcaption>
<div class="values" aria-hidden="true">${[most, most / 2, 0].map((value) => html`<span>${grouped(value)}${unit}</span>`)}</div>
<svg role="img" aria-label="${about}" preserveAspectRatio="none" viewBox="0 0 ${WIDTH} ${HEIGHT}">
<path class="axis" d="M0 0h${WIDTH}M0 ${HEIGHT / 2}h${WIDTH}M0 ${HEIGHT}h${WIDTH}"/>
${series.map(([color, , values]) => html`<path class="${color}" d="${values.map(barOf).join('')}"/>`)}</svg>
<div class="dates" aria-hidden="true">${shownLabels.map((label) => html`<span>${label}</span>`)}</div>
</figure>`
}

/** Returns the next number that is 1, 2, 4 or 6 times a power of ten, so that its half is a plain one, too. */
function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value))
  return Math.max(2, ([1, 2, 4, 6].find((factor) => factor * power >= value) ?? 10) * power)
}

const short = (value: number) => value.toFixed(2)

const swatch = (kind: string): Html =>
  html`<svg aria-hidden="true" viewBox="0 0 10 10" width="10" height="10"><rect class="${kind}" width="10" height="10"/></svg>`

/** Draws a share of version 2 as a bar. */
export const shareBar = (share: number): Html =>
  html`<svg class="share" aria-hidden="true" preserveAspectRatio="none" viewBox="0 0 100 1"><rect width="${short(100 * share)}" height="1"/></svg>`

/** Draws shares as a line; null where there were no calls. */
export function trendline(shares: readonly (number | null)[]): Html {
  const points = shares.flatMap((share, at) =>
    share === null ? [] : [`${short((at / Math.max(1, shares.length - 1)) * 100)} ${short(18 - 16 * share)}`],
  )
  return html`<svg class="trendline" aria-hidden="true" preserveAspectRatio="none" viewBox="0 0 100 20"><path class="trend" d="${points.length > 1 ? `M${points.join('L')}` : ''}"/></svg>`
}
