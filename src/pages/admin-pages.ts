import type { IncomingMessage } from 'node:http'
import type { Answer } from '../answer.ts'
import { gatewayError } from '../errors.ts'
import { type MigrationReport, type ReportDeps, readReport } from '../migration/report.ts'
import type { TenantBrownouts } from '../observe/brownouts.ts'
import type { Claims, Store } from '../store/store.ts'
import { printableJson } from '../text/plain-text.ts'
import { bookingsPage, listBookings } from './bookings.ts'
import { brownoutsToCome } from './brownouts.ts'
import { asksForHtml } from './layout.ts'
import { migrationPage, tenantPage } from './migration.ts'

/** The dependencies of the pages for operators. */
export interface AdminPagesDeps extends Omit<ReportDeps, 'tenants' | 'store'> {
  readonly store: ReportDeps['store'] & Pick<Claims, 'listClaims'> & Pick<Store, 'now'>
  /** Returns the tenants that the gateway knows by name. */
  readonly tenants: () => readonly string[]
  readonly brownouts: () => readonly TenantBrownouts[]
}

/** Tenants on one page; a report of the command line has all. */
const MOST_TENANTS = 200
const INDENT = 2
const JSON_SUFFIX = '.json'

/** Answers `/migration` and `/migration/<tenant>`, as a page or as JSON. */
export async function migrationAnswer(
  incoming: IncomingMessage,
  pathName: string | undefined,
  deps: AdminPagesDeps,
): Promise<Answer> {
  const query = (incoming.url ?? '').split('?')[1]
  const name = pathName ?? new URLSearchParams(query).get('tenant')
  return name === null ? allTenants(incoming, deps) : oneTenant(incoming, name, deps)
}

async function allTenants(incoming: IncomingMessage, deps: AdminPagesDeps): Promise<Answer> {
  const report = await readReport({ ...deps, tenants: deps.tenants() }, { most: MOST_TENANTS })
  if (!wantsHtml(incoming)) return json(report)
  return migrationPage(report, brownoutsToCome(deps.brownouts(), deps.store.now()))
}

async function oneTenant(incoming: IncomingMessage, name: string, deps: AdminPagesDeps): Promise<Answer> {
  const read = (tenant: string) => readReport({ ...deps, tenants: deps.tenants() }, { tenant })
  const exact = await read(name)
  if (exact.tenants.length > 0 || !name.endsWith(JSON_SUFFIX)) return ofTenant(exact, wantsHtml(incoming))
  return ofTenant(await read(name.slice(0, -JSON_SUFFIX.length)), false)
}

/** Answers `/bookings`, as a page or as JSON. */
export async function bookingsAnswer(incoming: IncomingMessage, { store }: AdminPagesDeps): Promise<Answer> {
  const lists = await listBookings(store)
  return wantsHtml(incoming) ? bookingsPage(lists) : json(lists)
}

async function ofTenant(report: MigrationReport, asHtml: boolean): Promise<Answer> {
  const [tenant] = report.tenants
  if (!tenant) throw gatewayError('path-unknown/tenant', {})
  return asHtml ? tenantPage(tenant, report) : json(report)
}

function wantsHtml({ url = '', headers }: IncomingMessage): boolean {
  return asksForHtml(headers.accept) && !url.split('?', 1)[0]?.endsWith(JSON_SUFFIX)
}

function json(value: object): Answer {
  const headers = { 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff', Vary: 'Accept' }
  return { status: 200, headers, body: `${printableJson(value, INDENT)}\n` }
}
