import { hash } from 'node:crypto'
import { html, raw } from 'hono/html'
import { planFromNames } from '../../calls/dry-run.ts'
import { explainPlan } from '../../calls/explain-plan.ts'
import { version1 } from '../../calls/read-request.ts'
import { deprecationFor, type OwnCaller } from '../../edge/callers/caller.ts'
import type { Answer } from '../../language/answer.ts'
import type { CompiledAction } from '../../language/mapping/compile.ts'
import type { GatewayRooms } from '../../routes.ts'
import { equivalentOf } from '../reports/equivalents.ts'
import type { TenantReport } from '../reports/report.ts'
import { todoFor, type WorkItem } from '../reports/work.ts'
import { plural, shortSummary, tenantName } from '../words.ts'
import { credentialAdvice } from './guide.ts'
import { codeOf, type Html, joined, named, table } from './layout.ts'
import { programsOf } from './snippets.ts'

const STYLE = `body { margin: 2rem auto; padding: 0 1rem; max-width: 52rem; font: 1rem/1.6 system-ui, sans-serif; }
pre { overflow-x: auto; padding: 1rem; background: #f4f5f7; font: 0.85rem/1.5 ui-monospace, monospace; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; } caption, th, td { text-align: left; vertical-align: top; } th, td { padding: 0.2rem 1rem 0.2rem 0; }
summary { cursor: pointer; padding: 0.3rem 0; }`

const HASH = hash('sha256', STYLE, 'base64')

/** One file for the developers of a tenant: a letter, and the calls that they make as version-2 code. No value of theirs is in it. */
export async function fixItKit(report: TenantReport, rooms: GatewayRooms, own: OwnCaller | undefined): Promise<Answer> {
  const { tenant, actions, work } = report
  const { catalog, callers, config } = rooms
  const { account: address = rooms.address, profile } = own ?? {}
  const { sunset, retiredFrom } = profile?.deprecation ?? deprecationFor(config)
  const lastDay = retiredFrom ?? sunset
  const used = actions.flatMap(({ action, calls }) => {
    const compiled = catalog.actions.get(action)
    return compiled ? [{ compiled, calls }] : []
  })
  const end = lastDay ? ` Version 1 ends on ${lastDay.toISOString().slice(0, 'yyyy-mm-dd'.length)}.` : ''
  const fields = work.filter(({ kind }) => kind !== 'action')
  const isWithout = ({ kind, equivalents }: WorkItem) => kind === 'field' && equivalents.length === 0
  const decisions = fields.filter((item) => !isWithout(item) && (item.blocks !== undefined || item.kind === 'assumed'))
  const without = Map.groupBy(fields.filter(isWithout), ({ note }) => note)
  const body = await html`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Moving to version 2</title><style>${raw(STYLE)}</style></head>
<body>
<h1>Moving ${named(tenantName(tenant))} to version 2</h1>
<p>Dear developers,</p>
<p>Your integration calls version 1 of the vehicle-transport service. For now, a gateway translates its calls.${end} Below is each kind
of call that it made in the last 90 days, as a program that calls version 2, with the fields that it sends and example values. Pick
the code in your language, and try it with the service's test address first.</p>
<ul>
<li>${credentialAdvice(callers.mode, profile?.support ?? config.SUPPORT_CONTACT)}</li>
<li>In the programs, <code>SERVICE_URL</code> is the address of the service, ${address.origin}${address.prefix}.</li>
<li>Version 2 identifies quotes and shipments by its own ids. Keep the id from each reply; your own numbers are only references.</li>
<li>Any status other than 2xx is an error, and its body says why. Do not send a booking again until you know that the first one was not made.</li>
</ul>
${used.map(({ compiled, calls }) => actionPart(compiled, calls, exampleOf(compiled, report, rooms, own)))}
<h2>Fields that need a decision</h2>
${table<WorkItem>(
  'Fields that no mapping knows, that lose part of their value, or whose value is assumed',
  [
    ['Action', 'action'],
    ['Field', ({ name: field }) => named(field || 'others')],
    ['What to do', (item) => named(todoFor(item))],
  ],
  decisions,
)}
${[...without].map(([why, some]) => html`<p>Leave out ${namesOf(some.map(({ name: field }) => field))}: ${why}.</p>`)}
</body>
</html>
`
  return {
    status: 200,
    headers: {
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Disposition': 'attachment; filename="version-2.html"',
      'Content-Security-Policy': `default-src 'none'; style-src 'sha256-${HASH}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
      'Cache-Control': 'no-store',
      'X-Content-Type-Options': 'nosniff',
    },
    body: String(body),
  }
}

/** Names fields or places, each once. */
const namesOf = (names: readonly string[]) => joined([...new Set(names)].map(codeOf))

function actionPart({ action }: CompiledAction, calls: number, { request, rest }: ReturnType<typeof exampleOf>): Html {
  return html`<h2>${shortSummary(action)}</h2>
<p>${plural(calls, 'call')} in 90 days. Version 2: <code>${request.method} ${action.service.path}</code>.</p>
${rest.length > 0 && html`<p>These calls also send ${joined(rest.map(([field, places]) => html`${codeOf(field)} (${namesOf(places)})`))}.</p>`}
${programsOf(request).map(([title, text]) => html`<details><summary>${title}</summary><pre>${text}</pre></details>`)}`
}

/** Makes the call that a tenant makes, of the declared example's values, and tells the fields that the example lacks, with their places. */
function exampleOf(
  compiled: CompiledAction,
  { fields }: TenantReport,
  { catalog, service, address, settings }: GatewayRooms,
  own: OwnCaller | undefined,
) {
  const { action } = compiled
  const sent = new Set(fields.filter((use) => use.action === action.name && use.used > 0).map(({ field }) => field))
  const example = Object.entries(action.example.request)
  const explained = (some: typeof example) =>
    explainPlan(planFromNames(version1(compiled, some), own?.profile.settings ?? settings), {
      service,
      address: own?.account ?? address,
    })
  const theirs = explained(example.filter(([field]) => sent.has(field)))
  return {
    request: (theirs.ok ? theirs : explained(example)).request,
    rest: [...sent].flatMap((field) => {
      // Not those that are a part of the path.
      const places = equivalentOf(action.name, field, catalog)?.places.filter((place) => !place.includes('/')) ?? []
      return places.length === 0 || Object.hasOwn(action.example.request, field) ? [] : [[field, places] as const]
    }),
  }
}
