import type { Answer } from '../../language/answer.ts'
import { VISITOR_STYLE } from './visitor-style.ts'

const STYLE = `:root {
  color-scheme: light dark;
  --text: #1a1d21; --soft: #5b6470; --paper: #ffffff; --panel: #f6f7f9; --line: #dfe3e8; --link: #0b5cad;
  --version1: #b4530a; --version2: #0f766e; --bad: #b42318; --good: #1a7f37; --warn: #9a6700;
  --mono: ui-monospace, "SF Mono", Menlo, Consolas, monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --text: #e7eaee; --soft: #a2abb6; --paper: #101317; --panel: #181c22; --line: #313842; --link: #7ab8ff;
    --version1: #f2a45c; --version2: #4fd1c5; --bad: #ff9b92; --good: #6fdc8c; --warn: #e3b341;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--text); font: 1rem/1.55 system-ui, "Segoe UI", Roboto, sans-serif; overflow-wrap: break-word; }
main, nav ul { max-width: 80rem; margin: 0 auto; padding: 0 1.5rem; }
main { padding-bottom: 4rem; }
bdi { overflow-wrap: anywhere; }
a { color: var(--link); text-underline-offset: 0.15em; }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; border-radius: 2px; }
.skip { position: absolute; left: -100rem; }
.skip:focus { left: 1rem; top: 1rem; background: var(--paper); padding: 0.5rem; }
nav { border-bottom: 1px solid var(--line); background: var(--panel); }
nav ul { display: flex; flex-wrap: wrap; gap: 0.25rem 1.5rem; list-style: none; padding-top: 0.9rem; padding-bottom: 0.9rem; }
nav a { color: var(--soft); text-decoration: none; }
nav a:hover, nav a[aria-current] { color: var(--text); }
nav li:first-child a { color: var(--text); font-weight: 650; }
h1 { font-size: 2rem; line-height: 1.2; letter-spacing: -0.015em; margin: 2rem 0 0.75rem; }
h2 { font-size: 1.25rem; line-height: 1.3; margin: 2.5rem 0 0.75rem; }
h3 { font-size: 1rem; margin: 1.5rem 0 0.5rem; }
p { max-width: 46rem; }
p.soft:has(+ h1) { margin: 2rem 0 0; } p.soft + h1 { margin-top: 0; }
.soft { color: var(--soft); }
.verdict { border-left: 0.25rem solid var(--line); padding: 0.1rem 1rem; margin: 1rem 0; }
.verdict.safe { border-color: var(--good); } .verdict.failing, .verdict.after-end { border-color: var(--bad); }
.verdict.calling, .verdict.moving { border-color: var(--version1); }
.state { font-weight: 600; white-space: nowrap; }
.state.safe, .answer.safe, .good { color: var(--good); }
.state.failing, .state.after-end, .blocks, .bad { color: var(--bad); font-weight: 600; }
.warn { color: var(--warn); font-weight: 600; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(13rem, 1fr)); gap: 1rem; margin: 1.5rem 0; padding: 0; list-style: none; }
.cards > li { border: 1px solid var(--line); border-radius: 0.6rem; padding: 1rem 1.2rem; }
.cards .figure { display: block; font-size: 1.7rem; line-height: 1.3; font-weight: 650; font-variant-numeric: tabular-nums; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 0.94rem; }
caption { text-align: left; color: var(--soft); padding: 0.3rem 0; }
th { font-weight: 600; color: var(--soft); font-size: 0.86rem; }
th, td { text-align: left; vertical-align: top; padding: 0.5rem 1.2rem 0.5rem 0; border-bottom: 1px solid var(--line); min-width: 4rem; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
code, pre, textarea { font: 0.875rem/1.6 var(--mono); }
pre { overflow-x: auto; background: var(--panel); border: 1px solid var(--line); border-radius: 0.6rem; padding: 1rem; margin: 0.5rem 0; }
input, select, textarea, button, .button { font: inherit; color: var(--text); background: var(--paper); border: 1px solid var(--soft); border-radius: 0.4rem; padding: 0.4rem 0.7rem; }
textarea { font: 0.875rem/1.6 var(--mono); width: 100%; resize: vertical; }
button, .button { background: var(--link); border-color: var(--link); color: var(--paper); font-weight: 600; cursor: pointer; text-decoration: none; display: inline-block; }
.filter { display: flex; flex-wrap: wrap; gap: 0.75rem 1rem; align-items: end; margin: 1rem 0; }
.filter input, .filter select, .filter button { height: 2.5rem; }
.filter label { display: grid; gap: 0.2rem; color: var(--soft); font-size: 0.86rem; }
.pages { display: flex; gap: 1.5rem; }
.chart { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: 0.35rem 0.75rem; margin: 1rem 0; }
.chart .key { grid-column: 2; } .key span { white-space: nowrap; margin-right: 1.2rem; } .key svg { display: inline; }
.chart > svg { width: 100%; height: 11rem; display: block; }
.values, .dates { display: flex; justify-content: space-between; color: var(--soft); font-size: 0.8rem; font-variant-numeric: tabular-nums; }
.values { flex-direction: column; text-align: right; margin: -0.6rem 0; } .dates { grid-column: 2; }
svg .version1 { fill: var(--version1); } svg .version2 { fill: var(--version2); }
svg .axis { stroke: var(--line); fill: none; vector-effect: non-scaling-stroke; }
summary { cursor: pointer; padding: 0.3rem 0; color: var(--link); }
.lead { font-size: 1.1rem; color: var(--soft); max-width: 48rem; }
.pair { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 2rem; }
.pair h2 { margin-top: 1.25rem; } .pair > section { min-width: 0; }
.tabs { display: flex; flex-wrap: wrap; gap: 0.4rem 1rem; margin: 1.25rem 0 0; font-size: 0.92rem; background: none; border: 0; }
.tabs span { color: var(--soft); } .tabs a[aria-current] { color: var(--text); font-weight: 650; text-decoration: none; }
.block { display: flex; gap: 0.6rem; align-items: center; margin: 0 0 0.6rem; color: var(--soft); font-size: 0.92rem; }
.notice { border-left: 0.25rem solid currentColor; padding: 0.2rem 0.8rem; }
.n { display: inline-block; min-width: 1.5rem; padding: 0 0.3rem; border-radius: 1rem; background: var(--line); color: var(--text); font: 600 0.75rem/1.5 system-ui, sans-serif; text-align: center; text-decoration: none; }
button.plain { background: none; color: var(--link); border-color: var(--line); font-weight: 400; }
.steps { padding-left: 1.2rem; } .steps h2 { margin-top: 1.5rem; }
td p { margin: 0 0 0.4rem; }
@media (max-width: 48rem) {
  .pair { grid-template-columns: minmax(0, 1fr); gap: 0.5rem; }
  main, nav ul { padding-left: 1rem; padding-right: 1rem; }
  h1 { font-size: 1.6rem; }
  table, caption, tbody, tr, td { display: block; width: 100%; }
  thead { position: absolute; left: -100rem; }
  tr { border: 1px solid var(--line); border-radius: 0.6rem; margin: 0 0 0.75rem; padding: 0.4rem 0.9rem; }
  td, td.number { display: grid; grid-template-columns: 9rem minmax(0, 1fr); gap: 0.5rem; border: 0; padding: 0.2rem 0; text-align: left; }
  td::before { content: attr(data-title); color: var(--soft); }
  td:has(> div:empty) { display: none; }
  .filter label, .filter input, .filter select { width: 100%; }
}
@media print { nav, .skip, form { display: none; } details > * { display: block; } }
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
  body: STYLE + VISITOR_STYLE,
}
