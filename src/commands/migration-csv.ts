import type { MigrationReport } from '../migration/report.ts'
import type { TenantReport } from '../migration/tenant-report.ts'
import { verdictStates } from '../migration/verdict.ts'
import { toCell } from '../xref/csv-cell.ts'

const COLUMNS = ['tenant', 'what', 'action', 'name', 'count', 'first', 'last', 'detail']

/** Writes a report as the lines of a CSV file: one row for each fact. */
export function migrationCsv({ tenants }: MigrationReport): readonly string[] {
  return [COLUMNS, ...tenants.flatMap(rowsOf)].map((cells) => cells.map((cell) => toCell(String(cell))).join(','))
}

type Cells = readonly (string | number)[]

function rowsOf(report: TenantReport): readonly Cells[] {
  const { tenant, verdict, firstSeen = '', lastSeen = '' } = report
  const row = (what: string, action: string, name: string, count: Cells[number], ...rest: Cells): Cells => [
    tenant,
    what,
    action,
    name,
    count,
    ...(rest.length > 0 ? rest : ['', '', '']),
  ]
  return [
    row('verdict', '', verdictStates[verdict.state], '', firstSeen, lastSeen, verdict.reasons.join(' ')),
    ...report.use.flatMap(({ date, version1, version2, refused, dryRuns }) =>
      Object.entries({ 'version 1': version1, 'version 2': version2, errors: refused, 'dry runs': dryRuns })
        .filter(([, count]) => count > 0)
        .map(([name, count]) => row('day', '', name, count, date, date, '')),
    ),
    ...report.actions.map(({ action, calls, replayed, refused }) =>
      row('action', action, action, calls, '', '', `${replayed} replayed, ${refused} errors`),
    ),
    ...report.fields.flatMap(({ action, field, last, used, unused, lossy, assumed }) =>
      Object.entries({ used, unused, lossy, assumed })
        .filter(([, count]) => count > 0)
        .map(([kind, count]) => row(`field ${kind}`, action, field, count, '', last, '')),
    ),
    ...report.unknownFields.map(({ name, count, first, last }) =>
      row('field unknown', '', name || OTHERS, count, first, last, ''),
    ),
    ...report.agents.map(({ name, count, first, last }) =>
      row('user agent', '', name || OTHERS, count, first, last, ''),
    ),
    ...report.networks.map(({ name, count, first, last }) =>
      row('network', '', name || OTHERS, count, first, last, ''),
    ),
    ...report.errors.map(({ name, count, first, last, requestId }) =>
      row('error', '', name, count, first, last, `request ${requestId}`),
    ),
    ...report.work.map(({ kind, action, name, count, equivalents, note, blocks }) =>
      row(
        blocks ? `work, ${blocks}` : 'work',
        action,
        name || OTHERS,
        count,
        '',
        '',
        [kind, ...equivalents, note].join('; '),
      ),
    ),
  ]
}

const OTHERS = '(all others)'
