import type { Answer } from '../answer.ts'
import { TEXT_TYPE } from '../http/answers.ts'

/** The answer of `/healthz`: the process runs. */
export const alive: Answer = { status: 200, headers: {}, body: JSON.stringify({ status: 'alive' }) }

/** Returns the answer of `/readyz`, which tells load balancers whether to send calls here. */
export function readiness(ready: boolean): Answer {
  return { status: ready ? 200 : 503, headers: {}, body: JSON.stringify({ status: ready ? 'ready' : 'not ready' }) }
}

/** The answer of `/`. */
export const welcome: Answer = {
  status: 200,
  headers: { 'Content-Type': TEXT_TYPE },
  body: `Transload answers the version-1 calls of a vehicle-transport service from its version 2.
Point the old integration at this host, or try a call below /dry-run first. The interface: /openapi.json
`,
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
