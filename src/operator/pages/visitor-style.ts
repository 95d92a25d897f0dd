/** The styles of the workbench and the reference. */
export const VISITOR_STYLE = `
.pair { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 0 2rem; } .pair h2 { margin-top: 1rem; } .pair > section { min-width: 0; }
.block { display: flex; gap: 0.6rem; align-items: center; height: 2.3rem; margin: 0 0 0.6rem; color: var(--soft); }
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
.entry { border-top: 1px solid var(--line); scroll-margin-top: 1rem; } .entry table { font-size: 0.875rem; }
.entry h2 code { font-size: 0.85em; font-weight: 400; }
.beside { display: grid; grid-template-columns: minmax(0, 1fr) 18rem; gap: 2rem; }
.sample { position: sticky; top: 1rem; align-self: start; } .sample h3 { margin: 0.75rem 0 0.25rem; } .sample pre { max-height: 40vh; overflow: auto; margin: 0; font-size: 0.78rem; }
.entry td a { color: inherit; text-decoration-color: var(--link); }
.without { font-size: 0.875rem; max-width: none; } th, .entry td { overflow-wrap: break-word; } .entry dd { font-size: var(--small); } .entry td { padding-right: 0.8rem; } .entry td:first-child { min-width: 9.5rem; } .entry td:nth-child(3), .entry td:nth-child(4), .entry td:first-child { overflow-wrap: anywhere; } #errors td { overflow-wrap: break-word; } #errors small { display: block; }
@media (min-width: 60rem) { #account td:nth-child(2) { min-width: 12rem; } #account td:nth-child(4) { min-width: 16rem; } #account td:last-child { width: 40%; } }
@media (min-width: 90rem) { .entry td:first-child { min-width: 15rem; } .beside { grid-template-columns: minmax(0, 1fr) 24rem; } }
@media (max-width: 75rem) { .beside { grid-template-columns: minmax(0, 1fr); } .sample { position: static; order: -1; } .sample pre { max-height: 16rem; } }
@media (max-width: 48rem) { .pair, .reference { grid-template-columns: minmax(0, 1fr); gap: 0; } .rail { position: static; max-height: none; padding: 1rem 0 0; } .rail ul { columns: 2; } .editor > * { min-height: 14rem; } .beside > *, .beside { display: block; }
  #account tr { position: relative; } #account td:first-child { display: block; position: absolute; right: 0.9rem; width: auto; } #account td:first-child::before { content: none; }
  #errors td { display: block; } #errors td:nth-child(3)::before { content: "Booked? "; } #errors td:nth-child(4)::before { content: "Safe to resend? "; } }
`
