import { html } from 'hono/html'
import type { Drift } from '../store/drift.ts'
import { type Html, moment, named, table } from './layout.ts'

/** Shows how the replies of the service differ from what the gateway knows; nothing if they do not. */
export function driftSection(drift: readonly Drift[]): Html | '' {
  if (drift.length === 0) return ''
  return html`<h2>Changes of the service</h2>
<p class="soft">Replies of the service differ from what the gateway knows. Calls go on as before; a new field or value may need a mapping.
<code>transload check --drift</code> lists the same.</p>
${table<Drift>(
  'Differences, the one that was seen first last',
  [
    { title: 'Difference', cell: ({ kind }) => kind },
    { title: 'Place', cell: ({ path }) => named(path) },
    { title: 'Replies', cell: ({ count }) => count, isNumber: true },
    { title: 'First seen', cell: ({ firstAt }) => moment(new Date(firstAt).toISOString()) },
    { title: 'Last seen', cell: ({ lastAt }) => moment(new Date(lastAt).toISOString()) },
  ],
  drift,
)}`
}
