import { randomBytes } from 'node:crypto'
import { NOTHING_FOUND } from '../calls/look-up.ts'
import { AT_VERSION_2_PATHS } from '../calls/native-request.ts'
import { planCall } from '../calls/plan.ts'
import { type Version1, version1 } from '../calls/read-request.ts'
import { idAt } from '../calls/verify.ts'
import type { Comparison, Outcome } from '../compare/answers.ts'
import type { Config } from '../config/config.ts'
import { serviceAddress } from '../config/values.ts'
import { isSuccess, type Sending } from '../service/service.ts'
import { askNatively, askTranslated, compareOutcomes } from '../shadow/ask.ts'
import type { CompareDeps } from '../shadow/compare-call.ts'
import type { CompareOptions } from './certify-compare.ts'
import { UsageError } from './failures.ts'

/** References of test bookings begin with this, whatever the caller's own reference is. */
const PREFIX = 'TL-CERT'
const RANDOM_BYTES = 4

/** Throws unless bookings are asked for at the stage environment that the operator names, and nowhere else. */
export function requireStage(
  { bookings, stage }: CompareOptions,
  { V2_BASE_URL: base, TENANTS_FILE }: Config,
  usage: readonly string[],
): void {
  const lines = ['Usage:', ...usage]
  if (!bookings) throw new UsageError('--stage applies to --bookings only', lines)
  if (stage === undefined) throw new UsageError('--bookings needs --stage, the address of the stage environment', lines)
  const named = serviceAddress.safeParse(stage).data
  if (named?.origin !== base.origin || named.prefix !== base.prefix) {
    throw new UsageError(
      '--stage is another address than V2_BASE_URL; bookings are made at the stage environment only',
      lines,
    )
  }
  if (TENANTS_FILE !== undefined) {
    throw new UsageError('--bookings needs V2_CLIENT_ID, because a tenant may have another address', lines)
  }
}

/** One of the bookings that are compared. */
interface Attempt {
  readonly reference: string
  readonly outcome: Outcome
  readonly cancel: () => Promise<boolean>
}

/**
 * Books natively, translated, and natively again, each under a reference of its own, and cancels all of them. Once it is
 * stopped, it books no more, but cancels.
 */
export async function compareBooking(
  request: Version1,
  tenant: string,
  sending: () => Sending,
  deps: CompareDeps & { readonly isStopped: () => boolean },
): Promise<{ readonly comparison: Comparison; readonly left: readonly string[] }> {
  const run = `${PREFIX}-${randomBytes(RANDOM_BYTES).toString('hex')}`
  const planOf = (reference: string) => planCall(withReference(request, reference), NOTHING_FOUND, deps.settings)
  const attempts: Attempt[] = []
  const natively = async (reference: string): Promise<Attempt> => {
    const outcome = await askNatively(planOf(reference), sending(), deps)
    return { reference, outcome, cancel: () => cancelNatively(reference, sending(), deps) }
  }
  const translated = async (reference: string): Promise<Attempt> => {
    let id: string | undefined
    const send: CompareDeps['send'] = async (...args) => {
      const reply = await deps.send(...args)
      id = idAt(reply, 'id')
      return reply
    }
    const outcome = await askTranslated(planOf(reference), tenant, sending(), { ...deps, send })
    return { reference, outcome, cancel: () => cancel(id, sending(), deps) }
  }
  for (const [i, book] of [natively, translated, natively].entries()) {
    // A service that has no verdict on one booking is asked for no other.
    if (deps.isStopped() || attempts[0]?.outcome.kind === 'none') break
    attempts.push(await book(`${run}-${i + 1}`))
  }
  const left: string[] = []
  for (const { reference, outcome, cancel: undo } of attempts) {
    if (outcome.kind !== 'refused' && !(await undo())) left.push(reference)
  }
  const [first = NOT_SENT, second = NOT_SENT, third = NOT_SENT] = attempts.map(({ outcome }) => outcome)
  const comparison = compareOutcomes(planOf(run), [first, first.kind === 'none' ? first : third], second)
  return { comparison, left }
}

const NOT_SENT: Outcome = { kind: 'none', why: 'the command was stopped' }

function withReference({ compiled, fields }: Version1, reference: string): Version1 {
  const entries = compiled.fields.names.flatMap((name, slot) => {
    const value = fields.values[slot]
    return typeof value === 'string' && name !== REFERENCE ? [[name, value] as const] : []
  })
  return version1(compiled, { entries: [...entries, [REFERENCE, reference]], format: 'json', text: '' })
}

const REFERENCE = 'ReferenceNumber'

async function cancel(id: string | undefined, sending: Sending, { service }: CompareDeps): Promise<boolean> {
  if (id === undefined) return false
  const path = `/v2/shipments/${encodeURIComponent(id)}`
  return succeeds(() => service.send({ method: 'DELETE', path, namesAnId: true }, sending))
}

async function cancelNatively(
  reference: string,
  sending: Sending,
  { service, nativePath }: CompareDeps,
): Promise<boolean> {
  // A version-2 path needs an id, which a version-1 answer does not tell.
  if (nativePath === AT_VERSION_2_PATHS) return false
  const path = `${nativePath === '/' ? '' : nativePath}/deleteShipment.php`
  const body = { [REFERENCE]: reference }
  return succeeds(() => service.send({ method: 'POST', path, namesAnId: true, body, isVersion1: true }, sending))
}

async function succeeds(send: () => Promise<{ readonly status: number }>): Promise<boolean> {
  try {
    return isSuccess((await send()).status)
  } catch {
    return false
  }
}
