import type { Answer } from '../../language/answer.ts'

const STYLE = `:root {
  color-scheme: light dark;
  --text: light-dark(#1a1d21, #e7eaee); --soft: light-dark(#5b6470, #a2abb6); --paper: light-dark(#fff, #101317);
  --panel: light-dark(#f6f7f9, #181c22); --line: light-dark(#dfe3e8, #313842); --link: light-dark(#0b5cad, #7ab8ff);
  --version1: light-dark(#b4530a, #f2a45c); --version2: light-dark(#0f766e, #4fd1c5);
  --bad: light-dark(#b42318, #ff9b92); --good: light-dark(#166b2e, #6fdc8c); --warn: light-dark(#855900, #e3b341);
  --mono: ui-monospace, "SF Mono", Menlo, Consolas, monospace;
  --tiny: 0.75rem; --small: 0.84rem; --body: 0.94rem; --large: 1.12rem; --huge: 1.65rem;
}
* { box-sizing: border-box; }
[hidden] { display: none !important; }
body { margin: 0; background: var(--paper); color: var(--text); font: var(--body)/1.5 system-ui, "Segoe UI", Roboto, sans-serif; overflow-wrap: break-word; }
body > header, main { max-width: 78rem; margin: 0 auto; padding: 0 1.5rem; }
main { padding-bottom: 4rem; }
bdi { overflow-wrap: anywhere; }
a { color: var(--link); text-underline-offset: 0.15em; }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; border-radius: 2px; }
.skip { position: absolute; left: -100rem; }
.skip:focus { left: 1rem; top: 1rem; background: var(--paper); padding: 0.5rem; z-index: 2; }
h1 { font-size: var(--huge); line-height: 1.2; letter-spacing: -0.015em; margin: 1.75rem 0 0.5rem; }
h2 { font-size: var(--large); line-height: 1.3; margin: 2rem 0 0.5rem; }
h3 { font-size: var(--body); margin: 1.25rem 0 0.5rem; }
p { max-width: 46rem; margin: 0.5rem 0; }
p.soft:has(+ h1) { margin: 1.75rem 0 0; } p.soft + h1 { margin-top: 0; }
h1 .pill { vertical-align: middle; }
.soft, small, caption, th, dt { color: var(--soft); }
.lead { font-size: var(--large); color: var(--soft); max-width: 48rem; }
small, caption, th, dt, .filter label, .values, .dates, .key { font-size: var(--small); }
.good { color: var(--good); } .bad { color: var(--bad); } .warn { color: var(--warn); }
b.bad, b.warn { font-weight: 600; }

/* The shell */
body > header { display: flex; align-items: center; gap: 1.5rem; height: 3.25rem; }
body::before { content: ""; position: absolute; inset: 0 0 auto; height: 3.25rem; background: var(--panel); border-bottom: 1px solid var(--line); z-index: -1; }
.mark { display: flex; gap: 0.5rem; align-items: center; color: var(--text); font-weight: 650; text-decoration: none; }
header nav { flex: 1; min-width: 0; overflow-x: auto; scrollbar-width: none; }
header ul { display: flex; gap: 0.25rem; list-style: none; margin: 0; padding: 0.25rem 0; }
header li a { display: block; padding: 0.25rem 0.6rem; border-radius: 0.4rem; color: var(--soft); text-decoration: none; white-space: nowrap; }
header li a:hover, header li a[aria-current] { color: var(--text); background: var(--line); }

/* Parts: pill, strip, rows, facts, timeline, list, code, notice, empty state */
.pill { display: inline-block; padding: 0 0.5rem; border-radius: 1rem; font-size: var(--small); font-weight: 600; white-space: nowrap; background: color-mix(in srgb, currentColor 8%, transparent); }
.strip { display: flex; flex-wrap: wrap; margin: 1rem 0; border: 1px solid var(--line); border-radius: 0.6rem; }
.strip > div { flex: 1 1 auto; padding: 0.6rem 1.1rem; border-right: 1px solid var(--line); }
.strip > div:last-child { border: 0; }
dd { margin: 0; } .strip dd { font-weight: 600; }
.rows { list-style: none; margin: 1rem 0; padding: 0; border: 1px solid var(--line); border-radius: 0.6rem; }
.rows > li { display: grid; grid-template-columns: minmax(3rem, max-content) 1fr auto; gap: 0.1rem 1rem; align-items: center; padding: 0.6rem 1.1rem; }
.rows > li + li { border-top: 1px solid var(--line); }
.rows > li > b { font-size: var(--large); font-variant-numeric: tabular-nums; }
.rows small { display: block; }
.facts { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: 0.3rem 1.5rem; margin: 1rem 0; }
.facts > div { display: contents; }
.timeline { list-style: none; margin: 1rem 0; padding: 0; border-left: 2px solid var(--line); }
.timeline li { padding: 0.15rem 0 0.15rem 1rem; } .timeline time { font: var(--small) var(--mono); margin-right: 0.75rem; }
.case { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1.3fr); gap: 0 2.5rem; }
.case > section > h2:first-child { margin-top: 1rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: var(--small); }
caption { text-align: left; padding: 0.3rem 0; }
th { font-weight: 600; }
th, td { text-align: left; vertical-align: top; padding: 0.4rem 1.2rem 0.4rem 0; border-bottom: 1px solid var(--line); }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
table.list td { white-space: nowrap; vertical-align: middle; } table.list th { white-space: nowrap; }
table.list a { text-decoration: none; } table.list a:hover { text-decoration: underline; }
table.list bdi { display: inline-block; max-width: 18rem; overflow: hidden; text-overflow: ellipsis; vertical-align: bottom; }
td time { white-space: nowrap; }
td p { margin: 0 0 0.4rem; }
code, pre, textarea { font: 0.82rem/1.6 var(--mono); }
pre { overflow-x: auto; background: var(--panel); border: 1px solid var(--line); border-radius: 0.6rem; padding: 0.75rem 1rem; margin: 0.5rem 0; }
.code { position: relative; } .scripted .code pre { padding-right: 4.5rem; } .case .code pre { white-space: pre-wrap; overflow-wrap: anywhere; } .code .copy { position: absolute; top: 0.45rem; right: 0.45rem; }
.copy { display: none; font-size: var(--tiny); padding: 0.1rem 0.5rem; background: var(--paper); color: var(--link); border-color: var(--line); font-weight: 400; }
.scripted .copy { display: inline-block; } td .copy { opacity: 0; } tr:hover .copy, .copy:focus { opacity: 1; }
.notice { border-left: 0.25rem solid currentColor; padding: 0.2rem 0.8rem; }
.empty { border: 1px dashed var(--line); border-radius: 0.6rem; padding: 1.25rem; margin: 1rem 0; color: var(--soft); }

/* Forms */
input, select, textarea, button, .button { font: inherit; color: var(--text); background: var(--paper); border: 1px solid var(--soft); border-radius: 0.4rem; padding: 0.35rem 0.7rem; }
textarea { font: 0.82rem/1.6 var(--mono); width: 100%; resize: vertical; }
button, .button { background: var(--link); border-color: var(--link); color: var(--paper); font-weight: 600; cursor: pointer; text-decoration: none; display: inline-block; }
button.plain, .button.plain { background: none; color: var(--link); border-color: var(--line); font-weight: 400; }
.filter { display: flex; flex-wrap: wrap; gap: 0.5rem 1rem; align-items: end; margin: 1rem 0; }
.filter input, .filter select, .filter button { height: 2.3rem; }
.filter label { display: grid; gap: 0.2rem; color: var(--soft); }
.tabs { display: flex; flex-wrap: wrap; gap: 0 1.25rem; margin: 1rem 0; border-bottom: 1px solid var(--line); } .tabs span { color: var(--soft); font-variant-numeric: tabular-nums; }
.tabs a { padding: 0.3rem 0; text-decoration: none; } .tabs a[aria-current] { color: var(--text); font-weight: 650; box-shadow: 0 2px var(--link); }
.pages { display: flex; gap: 1.5rem; }
summary { cursor: pointer; padding: 0.3rem 0; color: var(--link); }

/* Charts */
.chart { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: 0.35rem 0.75rem; margin: 1rem 0; }
.chart .key { grid-column: 2; color: var(--soft); } .key span { white-space: nowrap; margin-right: 1.2rem; } .key svg { display: inline; }
.chart > svg { width: 100%; height: 9rem; display: block; }
.values, .dates { display: flex; justify-content: space-between; color: var(--soft); font-variant-numeric: tabular-nums; }
.values { flex-direction: column; text-align: right; margin: -0.6rem 0; } .dates { grid-column: 2; }
svg .version1 { fill: var(--version1); } svg .version2 { fill: var(--version2); } svg .bad { fill: var(--bad); } svg .calls { fill: var(--link); }
svg .axis { stroke: var(--line); fill: none; vector-effect: non-scaling-stroke; }
svg .trend { stroke: var(--version2); stroke-width: 2; fill: none; vector-effect: non-scaling-stroke; }
.of { white-space: nowrap; } .of svg { display: inline-block; vertical-align: middle; }
.share { width: 6rem; height: 0.5rem; background: var(--version1); border-radius: 0.25rem; } .share rect { fill: var(--version2); }
.trendline { display: block; width: 5rem; height: 1.2rem; }

@media (max-width: 48rem) {
  .case { grid-template-columns: minmax(0, 1fr); gap: 0 0.5rem; } .code pre { white-space: pre-wrap; overflow-wrap: anywhere; }
  body > header, main { padding: 0 1rem; } main { padding-bottom: 3rem; }
  body > header { gap: 0.4rem; } .mark b { display: none; }
  h1 { font-size: 1.4rem; margin-top: 1.25rem; }
  .strip > div { flex-basis: 50%; border-bottom: 1px solid var(--line); }
  .facts { gap: 0.3rem 1rem; }
  table:not(.plain), :not(.plain) > :is(caption, tbody), :not(.plain) > tbody > tr { display: block; width: 100%; }
  :not(.plain) > thead { position: absolute; left: -100rem; }
  table.cards tr { border: 1px solid var(--line); border-radius: 0.6rem; margin: 0 0 0.5rem; padding: 0.4rem 0.9rem; }
  table.cards td { display: grid; grid-template-columns: 8rem minmax(0, 1fr); gap: 0.5rem; border: 0; padding: 0.15rem 0; text-align: left; white-space: normal; }
  table.cards td::before { content: attr(data-title); color: var(--soft); }
  table.cards td:has(> div:empty) { display: none; }
  table.list tr { display: flex; flex-wrap: wrap; gap: 0.1rem 0.75rem; border-bottom: 1px solid var(--line); padding: 0.5rem 0; }
  .tabs { flex-wrap: nowrap; overflow-x: auto; } .tabs a { white-space: nowrap; }
  table.list td { display: none; width: auto; padding: 0; border: 0; }
  table.list td.line1, table.list td.line2 { display: block; min-width: 0; } table.list td:empty { display: none; }
  table.list td.line2 { order: 2; color: var(--soft); } table.list tr::after { content: ""; flex-basis: 100%; order: 1; }
  table.list a { text-decoration: none; } table.list a:hover { text-decoration: underline; }
  table.list td.line2 { white-space: normal; overflow-wrap: anywhere; } table.list bdi { max-width: 45vw; } table.list td.line2 bdi { max-width: 100%; white-space: normal; } td .copy { opacity: 1; }
  .filter { display: grid; grid-template-columns: 1fr 1fr; } .filter label:first-of-type { grid-column: 1 / -1; } .filter :is(input, select) { width: 100%; min-width: 0; }
  header li:first-child { display: none; } header li a { font-size: var(--small); padding: 0.25rem 0.3rem; } header ul { gap: 0; }
  .rows > li { grid-template-columns: minmax(2rem, max-content) 1fr; } .rows > li > :last-child:not(span) { grid-column: 2; justify-self: start; }
}
@media print { body > header, .skip, form { display: none; } details > * { display: block; } }

/* The workbench and the reference */
.pair { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 0 2rem; } .pair h2 { margin-top: 1rem; } .pair > section { min-width: 0; }
.block { display: flex; gap: 0.6rem; align-items: center; min-height: 2.3rem; margin: 0 0 0.6rem; color: var(--soft); } .block > * { min-width: 0; overflow-wrap: anywhere; }
.n { display: inline-block; min-width: 1.5rem; padding: 0 0.3rem; border-radius: 1rem; background: var(--line); color: var(--text); font: 600 var(--tiny)/1.5 system-ui, sans-serif; text-align: center; text-decoration: none; }
.steps { padding-left: 1.2rem; } .steps h2 { margin-top: 1.5rem; }
#examples { align-items: baseline; }
.pane { max-height: min(38rem, 60vh); overflow: auto; }
.pair > section > .pane, .pair .editor { margin: 0 0 0.75rem; }
#version2 .code pre, #answer .code pre { white-space: pre-wrap; }
#account caption { display: none; }
.verdict h2 { margin: 0.5rem 0 0.25rem; overflow-wrap: anywhere; } .verdict h2 code { font-size: 1em; } .verdict p { max-width: none; margin: 0 0 0.5rem; }
.editor { display: grid; border: 1px solid var(--soft); border-radius: 0.6rem; }
.editor:focus-within { outline: 3px solid var(--link); outline-offset: 2px; }
.editor > * { grid-area: 1 / 1; min-height: 22rem; width: 100%; margin: 0; padding: 1rem; border: 0; background: none; white-space: pre-wrap; overflow-wrap: anywhere; overflow: hidden; }
.editor pre { color: transparent; }
.editor textarea { resize: none; outline: none; }
.is-problem { background: color-mix(in srgb, var(--bad) 25%, transparent); box-shadow: 0 0.15rem 0 var(--bad); }
.is-unknown, .is-noted { background: color-mix(in srgb, var(--warn) 20%, transparent); }
[data-n] { border-radius: 0.25rem; }
.lit, tr:has(:target) td, p:target { background: color-mix(in srgb, var(--link) 35%, transparent); }
a.n.lit, .n.lit { background: var(--link); color: var(--paper); }
body:has(.reference) > :is(header, main) { max-width: 96rem; }
.reference { display: grid; grid-template-columns: 11rem minmax(0, 1fr); gap: 2rem; }
.rail { position: sticky; top: 0; align-self: start; max-height: 100vh; overflow-y: auto; padding: 2rem 0; font-size: var(--small); }
.rail ul { list-style: none; padding: 0; margin: 0 0 1rem; } .rail li { padding: 0.15rem 0; } .rail a { color: var(--soft); text-decoration: none; } .rail a:hover { color: var(--text); }
.rail input { width: 100%; } .rail label { color: var(--soft); } .rail p { margin: 0 0 1rem; }
.entry { border-top: 1px solid var(--line); } .entry, .entry [id] { scroll-margin-top: 1rem; } .entry table { font-size: 0.875rem; }
.entry h2 code { font-size: 0.85em; font-weight: 400; }
.beside { display: grid; grid-template-columns: minmax(0, 1fr) 18rem; gap: 2rem; }
.sample { position: sticky; top: 1rem; align-self: start; } .sample h3 { margin: 0.75rem 0 0.25rem; } .sample pre { max-height: 40vh; overflow: auto; margin: 0; font-size: 0.78rem; }
.entry td a { color: inherit; text-decoration-color: var(--link); }
.without { font-size: 0.875rem; max-width: none; } th, .entry td { overflow-wrap: break-word; } .entry dd { font-size: var(--small); } .entry td { padding-right: 0.8rem; } .entry td:first-child { min-width: 9.5rem; } .entry td:nth-child(3), .entry td:nth-child(4), .entry td:first-child { overflow-wrap: anywhere; } #errors td { overflow-wrap: break-word; } #errors small { display: block; }
@media (min-width: 60rem) { #account td:nth-child(2) { min-width: 12rem; } #account td:nth-child(4) { min-width: 16rem; } #account td:last-child { width: 40%; } }
@media (min-width: 90rem) { .entry td:first-child { min-width: 15rem; } .beside { grid-template-columns: minmax(0, 1fr) 24rem; } }
@media (max-width: 75rem) { .beside { grid-template-columns: minmax(0, 1fr); } .sample { position: static; order: -1; } .sample pre { max-height: 16rem; } }
@media (max-width: 48rem) { .pair, .reference { grid-template-columns: minmax(0, 1fr); gap: 0; } .rail { position: static; max-height: none; padding: 1rem 0 0; } .rail ul { columns: 2; } .editor > * { min-height: 14rem; } .beside > *, .beside { display: block; }
  #account tr { position: relative; } #account td:first-child { display: block; position: absolute; right: 0.9rem; width: auto; } #account td:first-child::before { content: none; } #account td:nth-child(2) { padding-right: 2rem; }
  #errors tr { border-bottom: 1px solid var(--line); padding: 0.4rem 0; } #errors td { display: block; border: 0; padding: 0.1rem 0; } #errors td:nth-child(3)::before { content: "Booked? "; } #errors td:nth-child(4)::before { content: "Safe to resend? "; } }
`

/** The word mark's picture, which is the icon, too. */
export const MARK =
  '<rect width="24" height="24" rx="6" fill="#0b5cad"/><path d="M5 9h12l-3-3M19 15H7l3 3" fill="none" stroke="#fff" stroke-width="2" stroke-linecap="round" stroke-linejoin="round"/>'

/** The icon of all pages, as an address. */
export const ICON = `data:image/svg+xml,${encodeURIComponent(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24">${MARK}</svg>`)}`

/** Makes the copy buttons work; without scripts they are not shown. A button copies the element before it. */
const COPY = `document.documentElement.classList.add('scripted')
document.addEventListener('click', async ({ target }) => {
  if (!(target instanceof HTMLButtonElement) || !target.matches('.copy')) return
  const from = target.previousElementSibling
  try {
    await navigator.clipboard.writeText(from.title || from.textContent)
    target.textContent = 'Copied'
  } catch {
    getSelection().selectAllChildren(from)
  }
})
`

/** Makes the answer of a file that is part of the program. */
export const fixed = (type: string, body: Answer['body']): Answer => ({
  status: 200,
  headers: {
    'Content-Type': `${type}; charset=utf-8`,
    'Cache-Control': 'no-cache',
    'X-Content-Type-Options': 'nosniff',
  },
  body,
})

/** The address of the style sheet; the pages allow no other style. */
export const STYLE_PATH = '/style.css'

/** The style sheet of the pages. */
export const style = fixed('text/css', STYLE)

/** The address of the script of all pages. */
export const COPY_PATH = '/pages.js'

/** The script of all pages. */
export const copyScript = fixed('text/javascript', COPY)
