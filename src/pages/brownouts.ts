import { html } from 'hono/html'
import { windowsToCome } from '../deprecation/brownouts.ts'
import type { TenantBrownouts } from '../observe/brownouts.ts'
import { type Html, named, table } from './layout.ts'

/** A brownout that is not over, as the page shows it. */
export interface ShownBrownout {
  /** Empty for all callers. */
  readonly tenant: string
  readonly start: string
  readonly end: string
  readonly isActive: boolean
}

/** Returns the brownouts that are not over, the next one first. */
export function brownoutsToCome(all: readonly TenantBrownouts[], now: number): readonly ShownBrownout[] {
  return all
    .flatMap(({ tenant, windows }) => windowsToCome(windows, now).map((window) => ({ tenant, ...window })))
    .sort((one, other) => one.start - other.start)
    .map(({ tenant, start, end }) => ({
      tenant,
      start: new Date(start).toISOString(),
      end: new Date(end).toISOString(),
      isActive: start <= now,
    }))
}

/** The most brownouts that a page shows; `transload check` prints all. */
const MOST_SHOWN = 50

/** Shows the brownouts that are active or to come; nothing without any. */
export function brownoutTable(brownouts: readonly ShownBrownout[]): Html {
  if (brownouts.length === 0) return html``
  return html`<h2>Brownouts</h2>
<p>In these times legacy calls are refused.</p>
${table<ShownBrownout>(
  'Brownouts, the next one first',
  [
    { title: 'Callers', cell: ({ tenant }) => (tenant === '' ? 'all' : named(tenant)) },
    { title: 'From', cell: ({ start }) => minute(start) },
    { title: 'Until', cell: ({ end }) => minute(end) },
    { title: 'Now', cell: ({ isActive }) => (isActive ? 'active' : 'to come') },
  ],
  brownouts.slice(0, MOST_SHOWN),
)}`
}

const MINUTE_CHARACTERS = 16
const minute = (moment: string) => moment.slice(0, MINUTE_CHARACTERS).replace('T', ' ')
