import { readConfig } from '../config/config.ts'
import { loadMappings } from '../config/mappings.ts'
import { readTenantNames } from '../config/tenants-file.ts'
import { type MigrationReport, readReport } from '../migration/report.ts'
import { suggestion } from '../text/nearest.ts'
import { readArguments } from './arguments.ts'
import { CommandFailed, UsageError } from './failures.ts'
import { migrationCsv } from './migration-csv.ts'
import { migrationMarkdown } from './migration-markdown.ts'
import { print, printJson } from './output.ts'
import { withExistingStore, withoutService } from './store.ts'

const USAGE = ['Usage:', '  transload migration report [--tenant NAME] [--format md|csv|json]']

/** How a report is written. */
const formats: Readonly<Record<string, (report: MigrationReport) => void>> = {
  md: (report) => print(...migrationMarkdown(report)),
  csv: (report) => print(...migrationCsv(report)),
  json: (report) => printJson(report, INDENT),
}
const INDENT = 2

/** Reports from the store who still uses version 1; the gateway may run or not. */
export async function migration(args: readonly string[]): Promise<number> {
  const { values } = readArguments(args, {
    usage: USAGE,
    options: { tenant: { type: 'string' }, format: { type: 'string' } },
    explained: {
      tenant: 'Reports on this tenant only.',
      format: 'The form of the report: md (Markdown, the default), csv or json.',
    },
    examples: ['transload migration report', 'transload migration report --tenant acme --format json'],
    verbs: { report: { operands: [], options: ['tenant', 'format'] } },
  })
  const { tenant, format = 'md' } = values
  const write = Object.hasOwn(formats, format) ? formats[format] : undefined
  if (!write) {
    const known = Object.keys(formats)
    throw new UsageError(
      `unknown format ${format}${suggestion(format, known) || `; the formats are ${known.join(', ')}`}`,
      USAGE,
    )
  }
  return withExistingStore(async (store) => {
    const config = readConfig(withoutService(), { certificates: false })
    const catalog = await loadMappings(config.MAPPINGS_DIR, config.LOOKUPS_FILE)
    const deps = { store, catalog, quietDays: config.QUIET_DAYS, tenants: namesOf(config) }
    const report = await readReport(deps, { tenant })
    if (tenant !== undefined && report.tenants.length === 0) throw new CommandFailed(`there is no tenant ${tenant}`)
    write(report)
    return 0
  })
}

function namesOf({ TENANTS_FILE: file, V2_CLIENT_ID: id }: ReturnType<typeof readConfig>): readonly string[] {
  if (file !== undefined) return readTenantNames(file)
  return id === undefined ? [] : [id]
}
