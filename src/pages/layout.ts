import { html } from 'hono/html'
import type { Answer } from '../answer.ts'
import { escapeControls } from '../text/plain-text.ts'
import { STYLE_PATH } from './style.ts'

/** HTML whose texts are escaped. */
export type Html = ReturnType<typeof html>

/** No scripts, frames, forms or foreign addresses; one style sheet. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const HEADERS = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': CONTENT_SECURITY_POLICY,
  'Cache-Control': 'no-store',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  Vary: 'Accept',
}

/** Makes the answer of a page. */
export async function page(title: string, content: Html): Promise<Answer> {
  const body = await html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${shown(title)} – Transload</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${STYLE_PATH}">
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<nav aria-label="Pages"><ul><li><a href="/migration">Migration</a></li><li><a href="/bookings">Bookings</a></li></ul></nav>
<main id="content">
${content}
</main>
</body>
</html>
`
  return { status: 200, headers: HEADERS, body: String(body) }
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

const MINUTE_CHARACTERS = 16

/** Shows a time (ISO 8601, UTC) to the minute. */
export const moment = (time: string): Html =>
  html`<time datetime="${time}">${time.slice(0, MINUTE_CHARACTERS).replace('T', ' ')}</time>`

/** Tells if a request asks for a page rather than for JSON. */
export function asksForHtml(accept: string | undefined): boolean {
  return /\btext\/html\b/i.test(accept ?? '')
}
