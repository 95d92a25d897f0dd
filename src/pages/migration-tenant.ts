import { html } from 'hono/html'
import type { Answer } from '../answer.ts'
import type { MigrationReport } from '../migration/report.ts'
import type { ActionUse, Counted, CountedError, FieldUse, TenantReport } from '../migration/tenant-report.ts'
import { percent } from '../migration/wording.ts'
import type { WorkItem } from '../migration/work.ts'
import { chart, chartKey } from './chart.ts'
import { type Column, type Html, moment, named, page, table } from './layout.ts'
import { dayTable, everyDay, tenantName, verdictBox } from './migration-parts.ts'

/** Shows the use that one tenant makes of the gateway, and the work that is left. */
export function tenantPage(tenant: TenantReport, { generatedAt }: MigrationReport): Promise<Answer> {
  const days = everyDay(tenant.use, generatedAt)
  const seen =
    tenant.firstSeen === undefined
      ? 'This tenant has never called.'
      : html`First seen ${moment(tenant.firstSeen)}, last seen ${moment(tenant.lastSeen ?? '')}; last version-1 call: ${tenant.lastVersion1 === undefined ? 'none' : moment(tenant.lastVersion1)}.`
  return page(
    tenant.tenant || 'Callers without a name',
    html`<h1>${tenantName(tenant.tenant)}</h1>
<p class="soft">${seen} As of ${moment(generatedAt)}; times are UTC.</p>
${verdictBox(tenant.verdict)}
<h2>Work that is left</h2>
${section(tenant.work, 'Version-1 use within the quiet days, what blocks first', WORK, 'None: there was no version-1 call within the quiet days.')}
<h2>Calls over time</h2>
${chartKey()}
${chart(days, 'Calls by day', 'large')}
<p>Share of version 2 in each of the last four weeks: ${tenant.weeklyShares.map((share) => (share === null ? 'no calls' : percent(share))).join(', ')}.</p>
${dayTable(days)}
<h2>Actions</h2>
${section(tenant.actions, 'Version-1 calls by action, in 90 days', ACTIONS, 'No version-1 call in 90 days.')}
<h2>Errors</h2>
${section(tenant.errors, 'Errors, with the request id of the last one for the log', ERRORS, 'None.')}
<h2>Fields</h2>
${section(tenant.fields, 'Version-1 fields, how often each was sent', FIELDS, 'None.')}
<h2>Unknown fields</h2>
${section(tenant.unknownFields, 'Fields that no mapping knows', counted('Field'), 'None.')}
<h2>Callers</h2>
${section(tenant.agents, 'User agents', counted('User agent'), 'None.')}
${section(tenant.networks, 'Source networks', counted('Network'), 'None.')}`,
  )
}

function section<Row>(rows: readonly Row[], caption: string, columns: readonly Column<Row>[], none: string): Html {
  return rows.length === 0 ? html`<p class="soft">${none}</p>` : table(caption, columns, rows)
}

/** Shows a name that may stand for all further names. */
const nameOrRest = (name: string): Html => (name === '' ? html`<em>all others</em>` : html`<code>${named(name)}</code>`)

const WORK: readonly Column<WorkItem>[] = [
  { title: 'Kind', cell: ({ kind }) => KINDS[kind] },
  { title: 'Action', cell: ({ action }) => action },
  { title: 'Name', cell: ({ name }) => nameOrRest(name) },
  { title: 'Blocks', cell: ({ blocks }) => (blocks === undefined ? '' : html`<span class="blocks">${blocks}</span>`) },
  { title: 'Version 2', cell: ({ equivalents }) => html`${equivalents.map((place) => html`<code>${place}</code> `)}` },
  { title: 'Note', cell: ({ note }) => note },
  { title: 'Count', cell: ({ count }) => count, isNumber: true },
]

const KINDS: Readonly<Record<WorkItem['kind'], string>> = {
  action: 'action',
  field: 'field',
  assumed: 'assumed value',
  unknown: 'unknown field',
}

const ACTIONS: readonly Column<ActionUse>[] = [
  {
    title: 'Action',
    cell: ({ action }) => (action === '' ? html`<em>not recognized</em>` : html`<code>${action}</code>`),
  },
  { title: 'Calls', cell: ({ calls }) => calls, isNumber: true },
  { title: 'Replayed bookings', cell: ({ replayed }) => replayed, isNumber: true },
  { title: 'Errors', cell: ({ refused }) => refused, isNumber: true },
]

const FIELDS: readonly Column<FieldUse>[] = [
  { title: 'Action', cell: ({ action }) => action },
  { title: 'Field', cell: ({ field }) => html`<code>${named(field)}</code>` },
  { title: 'Used', cell: ({ used }) => used, isNumber: true },
  { title: 'Unused', cell: ({ unused }) => unused, isNumber: true },
  { title: 'Lossy', cell: ({ lossy }) => lossy, isNumber: true },
  { title: 'Assumed', cell: ({ assumed }) => assumed, isNumber: true },
  { title: 'Last seen', cell: ({ last }) => moment(last) },
]

const ERRORS: readonly Column<CountedError>[] = [
  { title: 'Error', cell: ({ name }) => html`<code>${name}</code>` },
  { title: 'Count', cell: ({ count }) => count, isNumber: true },
  { title: 'Last seen', cell: ({ last }) => moment(last) },
  { title: 'Request id of the last one', cell: ({ requestId }) => html`<code>${named(requestId)}</code>` },
]

const counted = (title: string): readonly Column<Counted>[] => [
  { title, cell: ({ name }) => nameOrRest(name) },
  { title: 'Count', cell: ({ count }) => count, isNumber: true },
  { title: 'First seen', cell: ({ first }) => moment(first) },
  { title: 'Last seen', cell: ({ last }) => moment(last) },
]
