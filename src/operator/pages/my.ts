import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { html } from 'hono/html'
import type { GatewayRooms } from '../../app.ts'
import { toGatewayError } from '../../edge/answers.ts'
import type { Caller } from '../../edge/callers/caller.ts'
import { legacyCaller } from '../../edge/door.ts'
import type { Answer } from '../../language/answer.ts'
import { gatewayError, RETRY_SOON } from '../../language/errors.ts'
import { windowsToCome } from '../../language/legacy-headers.ts'
import type { Call } from '../../runtime/call.ts'
import { STORE_EVERY_MS } from '../../state/uses/counts.ts'
import { toCell } from '../file-records.ts'
import { readReport } from '../reports/report.ts'
import { problemsOf } from '../reports/work.ts'
import { fixItKit } from './fix-it-kit.ts'
import { json, moment, ownPage, queryOf, wantsHtml } from './layout.ts'
import { brownoutTable, tenantPage } from './migration.ts'

/** Answers `/my`: the migration page of the caller alone, as a page, as JSON, or its fix-it kit. */
export async function ownMigration(incoming: IncomingMessage, call: Call, deps: GatewayRooms): Promise<Answer> {
  const caller = await provenCaller(incoming, call, deps)
  const { tenant } = caller
  const { sunset, retiredFrom, windows } = caller.profile.deprecation
  // Counts under any other name may be those of several callers.
  if (!OWN_NAME.test(tenant)) throw gatewayError('path-unknown/tenant', {})
  await deps.uses.flush()
  const report = await readReport({ ...deps, tenants: [tenant] }, tenant)
  const [own] = report.tenants
  if (!own) throw gatewayError('path-unknown/tenant', {})
  if (queryOf(incoming).has('kit')) return fixItKit(own, deps, caller)
  const problems = problemsOf(own)
  const now = deps.store.now()
  const brownouts = windowsToCome(windows, now).map(({ start, end }) => ({
    from: new Date(start),
    until: new Date(end),
  }))
  if (!wantsHtml(incoming)) {
    const links = { kit: '/my?kit', numbers: '/my/numbers.csv' }
    return json({
      generatedAt: report.generatedAt,
      countedWithinSeconds: STORE_EVERY_MS / 1_000,
      ...own,
      problems,
      brownouts,
      sunset,
      retiredFrom,
      ...links,
    })
  }
  const end = (what: string, date: Date | undefined) => date && html`<p>${what} ${moment(date.toISOString())}.</p>`
  const first = html`${end('Version 1 is scheduled to end on', sunset)}
${end('All version-1 calls are refused from', retiredFrom)}
${brownoutTable([{ tenant, windows }], now)}
<p><a href="/my/numbers.csv" download>Your numbers</a>, with their version-2 ids.</p>
`
  return tenantPage(own, report, { show: ownPage, at: 'Your migration', kit: '/my?kit', first })
}

/** Names that are never shortened or replaced where calls are counted. */
const OWN_NAME = /^[^\ufffd]{1,255}$/

/** Returns the caller, if the gateway knows it or the service accepts its credential. */
async function provenCaller(incoming: IncomingMessage, call: Call, deps: GatewayRooms): Promise<Caller> {
  const caller = await legacyCaller(deps.callers)(incoming, call)(undefined)
  const deadline = performance.now() + deps.config.UPSTREAM_TIMEOUT_MS
  try {
    await deps.prove({ account: caller.account, requestId: call.request.id, deadline })
  } catch (cause) {
    const { status, headers } = toGatewayError(cause)
    if (DECIDED.has(status)) throw cause
    throw gatewayError('service-unavailable/proof', {}, { cause, headers: { ...RETRY_SOON.headers, ...headers } })
  }
  return caller
}

/** The service's refusals of a credential, and a fault of the gateway itself. */
const DECIDED: ReadonlySet<number> = new Set([401, 403, 500])

/** Answers `/my/numbers.csv`: the caller's own numbers with the service's ids, a part at a time. */
export async function ownNumbers(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  call: Call,
  deps: GatewayRooms,
): Promise<void> {
  const { tenant } = await provenCaller(incoming, call, deps)
  const parts = deps.store.scan({ tenant })[Symbol.asyncIterator]()
  // A store that is down is an error, not an empty file.
  let part = await parts.next()
  async function* lines() {
    yield 'name,kind,vin,id,since\n'
    for (; !part.done; part = await parts.next()) {
      const rows = part.value.map(({ name, kind, vin, id, at }) => [name, kind, vin, id, new Date(at).toISOString()])
      yield rows.map((cells) => `${cells.map(toCell).join(',')}\n`).join('')
    }
  }
  outgoing.writeHead(200, {
    'Content-Type': 'text/csv; charset=utf-8',
    'Content-Disposition': 'attachment; filename="numbers.csv"',
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    'X-Request-Id': call.request.id,
  })
  outgoing.setTimeout(deps.readerTimeoutMs, () => outgoing.destroy())
  if (incoming.method === 'HEAD') outgoing.end()
  else await pipeline(Readable.from(lines()), outgoing)
}
