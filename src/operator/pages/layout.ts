import type { IncomingMessage } from 'node:http'
import { html } from 'hono/html'
import type { Answer } from '../../language/answer.ts'
import { escapeControls, printableJson } from '../../language/text/service-text.ts'
import { STYLE_PATH } from './fixed.ts'

/** HTML whose texts are escaped. */
export type Html = ReturnType<typeof html>

/** No frames and no foreign addresses; one style sheet, and one script for visitors. */
const policy = (script: string) =>
  [
    "default-src 'none'",
    ...(script === '' ? [] : [`script-src 'self'`, `connect-src 'self'`]),
    "style-src 'self'",
    "img-src 'self' data:",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join('; ')

const ADMIN_PAGES = [
  ['/', 'Transload'],
  ['/bookings', 'Bookings'],
  ['/events', 'Events'],
  ['/migration', 'Migration'],
  ['/settings', 'Settings'],
] as const

const PUBLIC_PAGES = [
  ['/', 'Transload'],
  ['/reference', 'Reference'],
  ['/guide', 'Guide'],
  ['/openapi.json', 'OpenAPI'],
] as const

/** The address of the script of the pages for visitors. */
export const SCRIPT_PATH = '/workbench.js'

/** Makes the answer of a page for operators. */
export const page = (title: string, content: Html): Promise<Answer> => pageWith(title, content, ADMIN_PAGES, '')

/** Makes the answer of a page for visitors. */
export const publicPage = (title: string, content: Html): Promise<Answer> =>
  pageWith(title, content, PUBLIC_PAGES, SCRIPT_PATH)

/** Makes the answer of a page about a caller, for itself. */
export const ownPage = (title: string, content: Html): Promise<Answer> =>
  pageWith(title, content, [['/my', 'Your migration']], '')

async function pageWith(
  title: string,
  content: Html,
  pages: readonly (readonly [path: string, name: string])[],
  script: string,
): Promise<Answer> {
  const body = await html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${shown(title)} – Transload</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${STYLE_PATH}">
${script === '' ? '' : html`<script type="module" src="${script}"></script>`}
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<nav aria-label="Pages"><ul>${pages.map(([path, name]) => html`<li><a href="${path}">${name}</a></li>`)}</ul></nav>
<main id="content">
${content}
</main>
</body>
</html>
`
  const headers = {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': policy(script),
    'Cache-Control': 'no-store',
    'Referrer-Policy': 'no-referrer',
    'X-Content-Type-Options': 'nosniff',
    Vary: 'Accept',
  }
  return { status: 200, headers, body: String(body) }
}

/** Returns text that a caller or the service chose without characters that a browser obeys. */
export const shown = (text: string): string => escapeControls(text)

/** Shows a name that a caller chose, in its own direction of writing. */
export const named = (text: string): Html => html`<bdi>${shown(text)}</bdi>`

/** A column of a table. */
export interface Column<Row> {
  readonly title: string
  readonly cell: (row: Row) => Html | string | number
  /** Counts stand to the right. */
  readonly isNumber?: boolean
}

/** Shows rows as a table. Its roles are explicit because browsers forget them where the style shows no table. */
export function table<Row>(caption: string, columns: readonly Column<Row>[], rows: readonly Row[]): Html {
  const classOf = ({ isNumber = false }: Column<Row>) => (isNumber ? 'number' : 'text')
  return html`<div class="scroll" role="region" aria-label="${caption}" tabindex="0"><table role="table">
<caption>${caption}</caption>
<thead role="rowgroup"><tr role="row">${columns.map((column) => html`<th role="columnheader" scope="col" class="${classOf(column)}">${column.title}</th>`)}</tr></thead>
<tbody role="rowgroup">${rows.map((row) => html`<tr role="row">${columns.map((column) => cellOf(column, row, classOf(column)))}</tr>\n`)}</tbody>
</table></div>`
}

/** Narrow screens show a row as a card: each cell with its title, and nothing of empty cells. */
const cellOf = <Row>({ title, cell }: Column<Row>, row: Row, kind: string): Html =>
  html`<td role="cell" class="${kind}" data-title="${title}"><div>${cell(row)}</div></td>`

/** A column of numbers. */
export const count = <Row>(title: string, cell: (row: Row) => string | number): Column<Row> => ({
  title,
  cell,
  isNumber: true,
})

/** Shows rows as a table, or words where there are none. */
export const section = <Row>(
  rows: readonly Row[],
  caption: string,
  columns: readonly Column<Row>[],
  none = 'None.',
): Html => (rows.length === 0 ? html`<p class="soft">${none}</p>` : table(caption, columns, rows))

const MINUTE_CHARACTERS = 16

/** Writes a time (ISO 8601, UTC) to the minute. */
export const minuteOf = (time: string): string => time.slice(0, MINUTE_CHARACTERS).replace('T', ' ')

/** Shows a time (ISO 8601, UTC) to the minute. */
export const moment = (time: string): Html => html`<time datetime="${time}">${minuteOf(time)}</time>`

export const JSON_SUFFIX = '.json'
const INDENT = 2

/** Tells if a request asks for a page rather than for JSON. */
export function wantsHtml({ url = '', headers }: IncomingMessage): boolean {
  return /\btext\/html\b/i.test(headers.accept ?? '') && !url.split('?', 1)[0]?.endsWith(JSON_SUFFIX)
}

/** Answers a program. */
export function json(value: object): Answer {
  const headers = { 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff', Vary: 'Accept' }
  return { status: 200, headers, body: `${printableJson(value, INDENT)}\n` }
}

/** The calls of a day. */
interface Bar {
  readonly date: string
  readonly version1: number
  readonly version2: number
}

const WIDTH = 900
const HEIGHT = 160
const GAP = 0.2
const DIGITS = 2

/** Writes a number with separators: `12,345`. */
export const grouped = (value: number): string => value.toLocaleString('en')

/** Draws calls by day: version 1 at the bottom, version 2 on top. A table beside it has the figures. */
export function chart(days: readonly Bar[], about: string): Html {
  const most = roundUp(Math.max(1, ...days.map(({ version1, version2 }) => version1 + version2)))
  const step = WIDTH / Math.max(1, days.length)
  const bars = (value: (day: Bar) => number, below: (day: Bar) => number): string =>
    days
      .map((day, i) => {
        if (value(day) === 0) return ''
        const bottom = HEIGHT - (below(day) / most) * HEIGHT
        const top = bottom - (value(day) / most) * HEIGHT
        return `M${short(i * step)} ${short(top)}h${short(step * (1 - GAP))}V${short(bottom)}H${short(i * step)}z`
      })
      .join('')
  const dates = [days[0], days[Math.floor(days.length / 2)], days.at(-1)]
  return html`<figure class="chart">
<figcaption class="key soft"><span>${swatch('version1')} version 1</span> <span>${swatch('version2')} version 2</span> <span>calls a day</span></figcaption>
<div class="values" aria-hidden="true">${[most, most / 2, 0].map((value) => html`<span>${grouped(value)}</span>`)}</div>
<svg role="img" aria-label="${about}" preserveAspectRatio="none" viewBox="0 0 ${WIDTH} ${HEIGHT}">
<path class="axis" d="M0 0h${WIDTH}M0 ${HEIGHT / 2}h${WIDTH}M0 ${HEIGHT}h${WIDTH}"/>
<path class="version1" d="${bars(version1Of, none)}"/><path class="version2" d="${bars(version2Of, version1Of)}"/></svg>
<div class="dates" aria-hidden="true">${dates.map((day) => html`<span>${day?.date ?? ''}</span>`)}</div>
</figure>`
}

/** Returns the next number that is 1, 2, 4 or 6 times a power of ten, so that its half is a plain one, too. */
function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value))
  return Math.max(2, ([1, 2, 4, 6].find((factor) => factor * power >= value) ?? 10) * power)
}

const version1Of = ({ version1 }: Bar) => version1
const version2Of = ({ version2 }: Bar) => version2
const none = () => 0

const short = (value: number) => value.toFixed(DIGITS)

const swatch = (kind: string): Html =>
  html`<svg aria-hidden="true" viewBox="0 0 10 10" width="10" height="10"><rect class="${kind}" width="10" height="10"/></svg>`
