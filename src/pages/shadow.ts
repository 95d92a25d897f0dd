import { html } from 'hono/html'
import { percent } from '../migration/wording.ts'
import type { Comparisons, Difference, FieldCount } from '../store/comparisons.ts'
import { DAY_MS } from '../store/scoreboard.ts'
import { type Html, moment, shown, table } from './layout.ts'

/** The results of shadowed calls, as the page shows them. */
export interface ShownShadow {
  readonly days: number
  /** Those that differ most come first. */
  readonly fields: readonly Omit<FieldCount, 'day'>[]
  /** The newest first; shapes of values only. */
  readonly differences: readonly (Omit<Difference, 'at'> & { readonly at: string })[]
}

/** How many days are added up: what was put right before does not count for long. */
const DAYS = 7
const MOST_DIFFERENCES = 30

/** Reads the results of the last days; undefined if nothing was compared. */
export async function readShadow(
  store: Pick<Comparisons, 'comparedFields' | 'differences'> & { readonly now: () => number },
): Promise<ShownShadow | undefined> {
  const since = Math.floor(store.now() / DAY_MS) - DAYS + 1
  const sums = new Map<string, Omit<FieldCount, 'day'>>()
  for (const { day: _, ...count } of await store.comparedFields(since)) {
    const key = `${count.action}\n${count.field}`
    const { equal = 0, differs = 0, noise = 0 } = sums.get(key) ?? {}
    sums.set(key, {
      ...count,
      equal: equal + count.equal,
      differs: differs + count.differs,
      noise: noise + count.noise,
    })
  }
  if (sums.size === 0) return undefined
  const differences = (await store.differences())
    .filter(({ at }) => at >= since * DAY_MS)
    .slice(0, MOST_DIFFERENCES)
    .map((difference) => ({ ...difference, at: new Date(difference.at).toISOString() }))
  return { days: DAYS, fields: [...sums.values()].sort((one, other) => other.differs - one.differs), differences }
}

/** Shows how translated answers compare with the service's own; nothing without comparisons. */
export function shadowSection(shadow: ShownShadow | undefined): Html {
  if (!shadow) return html``
  const { days, fields, differences } = shadow
  const total = (what: 'equal' | 'differs') => fields.reduce((sum, field) => sum + field[what], 0)
  const counted = total('equal') + total('differs')
  return html`<h2>Translated answers against the service's own</h2>
<p>In the last ${days} days, ${counted === 0 ? 'no field was comparable' : `${percent(total('equal') / counted)} of the compared fields were equal`}. Noise differs between two native answers already.</p>
${table<ShownShadow['fields'][number]>(
  'Compared fields, those that differ first',
  [
    { title: 'Action', cell: ({ action }) => shown(action) },
    { title: 'Field', cell: ({ field }) => shown(field) },
    { title: 'Equal', cell: ({ equal }) => equal, isNumber: true },
    { title: 'Differs', cell: ({ differs }) => differs, isNumber: true },
    { title: 'Noise', cell: ({ noise }) => noise, isNumber: true },
  ],
  fields,
)}
${differences.length === 0 ? '' : differenceTable(differences)}`
}

function differenceTable(differences: ShownShadow['differences']): Html {
  return table<ShownShadow['differences'][number]>(
    'Differences, the newest first; letters and digits are masked',
    [
      { title: 'Time', cell: ({ at }) => moment(at) },
      { title: 'Action', cell: ({ action }) => shown(action) },
      { title: 'Field', cell: ({ field }) => shown(field) },
      { title: 'Service', cell: ({ native }) => html`<code>${shown(native) || 'absent'}</code>` },
      { title: 'Gateway', cell: ({ translated }) => html`<code>${shown(translated) || 'absent'}</code>` },
      { title: 'Request id', cell: ({ requestId }) => shown(requestId) },
    ],
    differences,
  )
}
