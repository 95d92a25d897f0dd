import { type Html, minuteOf, named, table } from '../pages/layout.ts'
import type { TenantReport } from './report.ts'

/* Tables of a report: the same as text, as Markdown, and on a page. */

export interface ReportTable<Cell extends string | number = string | number> {
  readonly title: string
  readonly head: readonly string[]
  readonly rows: readonly (readonly Cell[])[]
}

type Things = readonly Readonly<Record<string, unknown>>[]

/** Makes a table of things: a column for each of the named members, in this order. */
export function tableOf<Cell extends string | number>(
  title: string,
  things: Things,
  columns: string,
  headingOf: (name: string) => string,
  cellOf: (value: unknown, name: string) => Cell,
): ReportTable<Cell> {
  const names = columns.split(' ')
  return { title, head: names.map(headingOf), rows: things.map((one) => names.map((name) => cellOf(one[name], name))) }
}

/** Shows a table on a page. */
export function tableOnPage({ title, head, rows }: ReportTable): Html {
  const cellAt = (i: number) => (row: ReportTable['rows'][number]) => {
    const cell = row[i] ?? ''
    return typeof cell === 'number' ? cell : named(cell)
  }
  return table(
    title,
    head.map((name, i) => [name, cellAt(i)]),
    rows,
  )
}

/** The headings of columns that are not called as their members. */
const HEADINGS: Readonly<Record<string, string>> = {
  equivalents: 'Version 2',
  mistakes: 'Caller errors',
  first: 'First seen',
  last: 'Last seen',
  requestId: 'Request id of the last one',
}

function cellOf(value: unknown, name: string): string | number {
  if (typeof value === 'number') return value
  if (Array.isArray(value)) return value.join(', ')
  const text = String(value ?? '')
  if (name === 'first' || name === 'last') return minuteOf(text)
  return name === 'name' && text === '' ? 'all others' : text
}

/** Returns what is known of a tenant's calls, without tables that are empty. */
export function tenantTables(tenant: TenantReport): readonly ReportTable[] {
  const actions = tenant.actions.map((one) => ({ ...one, action: one.action || 'not recognized' }))
  const of = (title: string, things: Things, columns: string) =>
    tableOf(
      title,
      things,
      columns,
      (name) => HEADINGS[name] ?? name.replace(/^./, (letter) => letter.toUpperCase()),
      cellOf,
    )
  return [
    // An interface has no index.
    of(
      'Remaining work',
      tenant.work.map((one) => ({ ...one })),
      'kind action name blocks equivalents note count',
    ),
    of('Actions', actions, 'action calls replayed failed mistakes'),
    of('Errors', tenant.errors, 'name count last requestId'),
    of('Fields', tenant.fields, 'action field used unused lossy assumed last'),
    of('Unknown fields', tenant.unknownFields, COUNTED),
    of('User agents', tenant.agents, COUNTED),
    of('Networks', tenant.networks, COUNTED),
  ].filter(({ rows }) => rows.length > 0)
}

const COUNTED = 'name count first last'
