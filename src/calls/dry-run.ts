import type { IncomingMessage } from 'node:http'
import { GatewayError } from '../errors.ts'
import type { Endpoint } from '../mapping/catalog.ts'
import type { Settings } from '../mapping/settings.ts'
import { messageText } from '../messages.ts'
import type { Call } from '../observe/call.ts'
import type { Address } from '../service/service.ts'
import { isUuid } from '../text/service-text.ts'
import type { Xref } from '../xref/xref.ts'
import { type DryRun, explainPlan, explainVersion2 } from './explain.ts'
import type { LegacyCallDeps } from './legacy-call.ts'
import { lookUp, NOTHING_FOUND } from './look-up.ts'
import { namingOf } from './names.ts'
import { type Plan, planCall, planVersion2 } from './plan.ts'
import { classify, readRequest, type Version1, type Version2, version1 } from './read-request.ts'
import { withPlaceholder } from './service-request.ts'

/** The dependencies of dry runs. */
export interface DryRunDeps
  extends Pick<LegacyCallDeps, 'catalog' | 'bodyLimitBytes' | 'credentials' | 'service' | 'xref'> {
  /** The service's address for callers without their own. */
  readonly address: Address
  /** The settings of callers without their own. */
  readonly settings: Settings
}

/** Reads, classifies and plans a call as the legacy path does, then explains the plan instead of sending it. */
export async function dryRun(
  incoming: IncomingMessage,
  endpoint: Endpoint,
  call: Call,
  deps: DryRunDeps,
): Promise<DryRun> {
  const body = await readRequest(incoming, call, deps.bodyLimitBytes)
  call.share.enter()
  const caller = await deps.credentials.verified(incoming)
  call.use = 'dry-run'
  call.tenant = caller?.tenant
  call.acceptance = caller?.account.acceptance
  const to = { service: deps.service, address: caller?.account ?? deps.address }
  let request: Version1 | Version2
  try {
    request = classify(body, endpoint, call, deps.catalog, caller?.profile.synonyms ?? {})
  } catch (error) {
    const [first] = endpoint.actions
    if (!first || !(error instanceof GatewayError) || error.code !== 'action-unknown') throw error
    const plan = planFromNames(version1(first, body), deps.settings)
    return explainPlan({ ...plan, problems: [{ field: 'ActionName', code: error.code, message: error.message }] }, to)
  }
  if (request.generation === 2) return explainVersion2(planVersion2(request, endpoint), to)
  const plan = caller
    ? await planFromXref(request, caller.tenant, caller.profile.settings, deps.xref)
    : planFromNames(request, deps.settings)
  return explainPlan(plan, to)
}

/** Plans with the numbers of a verified tenant. */
async function planFromXref(request: Version1, tenant: string, settings: Settings, xref: Xref): Promise<Plan> {
  const known = await lookUp(request, tenant, xref)
  if (known && !('shipments' in known)) return planCall(request, known, settings)
  const plan = planFromNames(request, settings)
  if (!known) return plan
  const field = namingOf(request)?.names[0]?.[0] ?? ''
  const message = messageText(known.message, { vins: known.vins })
  return { ...plan, problems: [{ field, code: 'several-matches', message }, ...plan.problems] }
}

/** Plans without look-ups: the caller's name stands for the id, unless the name is an id itself. */
export function planFromNames(request: Version1, settings: Settings): Plan {
  const own = request.sent('ShipmentNumber')
  const names = namingOf(request)?.names ?? []
  const [namedBy, value] = names.find(([, name]) => isUuid(name)) ?? names[0] ?? []
  if (value !== undefined && isUuid(value))
    return planCall(request, { ...NOTHING_FOUND, id: value, namedBy, own }, settings)
  const plan = planCall(request, { ...NOTHING_FOUND, namedBy, own }, settings)
  if (value === undefined) return plan
  const kind = request.compiled.action.target?.kind
  return { ...plan, toService: withPlaceholder(plan.toService, `{${kind}_id of ${value}}`) }
}
