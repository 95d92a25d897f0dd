import { html } from 'hono/html'
import type { Answer } from '../answer.ts'
import { escapeControls } from '../text/plain-text.ts'

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
const shown = (text: string): string => escapeControls(text)

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

const STYLE = `:root {
  color-scheme: light dark;
  --text: #1b1f24; --soft: #57606a; --paper: #ffffff; --line: #d0d7de; --panel: #f6f8fa; --link: #0550ae;
  --version1: #b35900; --version2: #00695c; --bad: #a40e26; --good: #116329;
}
@media (prefers-color-scheme: dark) {
  :root {
    --text: #e6edf3; --soft: #a3adb8; --paper: #0d1117; --line: #3d444d; --panel: #161b22; --link: #79c0ff;
    --version1: #f0a04b; --version2: #4fd1c5; --bad: #ff9492; --good: #7ee787;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 0 1rem 3rem; max-width: 76rem; background: var(--paper); color: var(--text);
  font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: break-word;
}
bdi { overflow-wrap: anywhere; }
a { color: var(--link); }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
.skip { position: absolute; left: -100rem; }
.skip:focus { left: 1rem; top: 1rem; background: var(--paper); padding: 0.5rem; }
nav ul { display: flex; flex-wrap: wrap; gap: 1rem; list-style: none; margin: 0; padding: 1rem 0; border-bottom: 1px solid var(--line); }
h1 { font-size: 1.6rem; line-height: 1.2; margin: 1.5rem 0 0.5rem; }
h2 { font-size: 1.2rem; margin: 2rem 0 0.5rem; }
.soft { color: var(--soft); }
.verdict { border-left: 0.4rem solid var(--line); background: var(--panel); padding: 0.5rem 1rem; margin: 1rem 0; }
.verdict p { margin: 0.3rem 0; }
.verdict.safe { border-color: var(--good); }
.verdict.failing { border-color: var(--bad); }
.verdict.calling, .verdict.moving { border-color: var(--version1); }
.state { font-weight: 600; }
.state.safe { color: var(--good); }
.state.failing { color: var(--bad); }
.blocks { color: var(--bad); font-weight: 600; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 0.95rem; }
caption { text-align: left; color: var(--soft); padding: 0.3rem 0; }
th, td { text-align: left; vertical-align: top; padding: 0.35rem 0.8rem 0.35rem 0; border-bottom: 1px solid var(--line); min-width: 4rem; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
code { font: 0.9em ui-monospace, monospace; }
svg { display: block; max-width: 100%; height: auto; }
svg.large { width: 100%; height: 10rem; }
svg .version1 { fill: var(--version1); }
svg .version2 { fill: var(--version2); }
svg .axis { stroke: var(--line); vector-effect: non-scaling-stroke; }
.key span { white-space: nowrap; margin-right: 1.2rem; }
.key svg { display: inline; vertical-align: baseline; }
summary { cursor: pointer; padding: 0.3rem 0; }
@media (max-width: 48rem) {
  table, caption, tbody, tr, td { display: block; width: 100%; }
  thead { position: absolute; left: -100rem; }
  tr { border: 1px solid var(--line); border-radius: 0.4rem; margin: 0 0 0.8rem; padding: 0.3rem 0.8rem; }
  td, td.number { display: grid; grid-template-columns: 8rem minmax(0, 1fr); gap: 0.5rem; border: 0; padding: 0.2rem 0; text-align: left; }
  td::before { content: attr(data-title); color: var(--soft); }
  td:has(> div:empty) { display: none; }
}
@media print { nav, .skip { display: none; } details > * { display: block; } }
`

/** The address of the style sheet; the pages allow no other style. */
export const STYLE_PATH = '/style.css'

/** The style sheet of the pages. */
export const style: Answer = {
  status: 200,
  headers: {
    'Content-Type': 'text/css; charset=utf-8',
    'Cache-Control': 'no-cache',
    'X-Content-Type-Options': 'nosniff',
  },
  body: STYLE,
}
