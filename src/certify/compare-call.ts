import { findTarget } from '../calls/find.ts'
import { NOTHING_FOUND } from '../calls/look-up.ts'
import { type Plan, planCall } from '../calls/plan.ts'
import type { Version1 } from '../calls/read-request.ts'
import type { Settings } from '../mapping/settings.ts'
import type { Sending, Service } from '../service/service.ts'
import type { Xref } from '../xref/xref.ts'
import { type Comparison, confirmed, hasDifference } from './answers.ts'
import { type AskDeps, askNatively, askTranslated, compareOutcomes, failedOutcome } from './ask.ts'

/** The dependencies of a comparison. */
export interface CompareDeps extends AskDeps {
  readonly service: Service
  readonly xref: Xref
  readonly settings: Settings
}

/** Compares the answers to a call that only asks. A difference counts if a second comparison shows it, too. */
export async function compareCall(
  request: Version1,
  tenant: string,
  sending: () => Sending,
  deps: CompareDeps,
): Promise<Comparison> {
  const comparison = await compareOnce(request, tenant, sending, deps)
  return hasDifference(comparison)
    ? confirmed(comparison, await compareOnce(request, tenant, sending, deps))
    : comparison
}

/**
 * Asks for the translated answer between the native ones: a price that moves meanwhile makes them differ from each other,
 * which is noise.
 */
async function compareOnce(
  request: Version1,
  tenant: string,
  sending: () => Sending,
  deps: CompareDeps,
): Promise<Comparison> {
  let plan: Plan
  try {
    plan = planCall(request, await findTarget(request, tenant, sending(), deps), deps.settings)
  } catch (error) {
    // The service is asked by the caller's own name, which its version-1 handling may know.
    plan = planCall(request, NOTHING_FOUND, deps.settings)
    const first = await askNatively(plan, sending(), deps)
    return compareOutcomes(plan, [first, await askNatively(plan, sending(), deps)], failedOutcome(error))
  }
  const first = await askNatively(plan, sending(), deps)
  const translated = await askTranslated(plan, tenant, sending(), deps)
  return compareOutcomes(plan, [first, await askNatively(plan, sending(), deps)], translated)
}
