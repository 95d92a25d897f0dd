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

/** Books natively, translated, and natively again, each under a reference of its own, and cancels all three. */
export async function compareBooking(
  request: Version1,
  tenant: string,
  sending: () => Sending,
  deps: CompareDeps,
): Promise<{ readonly comparison: Comparison; readonly left: readonly string[] }> {
  const run = `${PREFIX}-${randomBytes(RANDOM_BYTES).toString('hex')}`
  const references = [`${run}-1`, `${run}-2`, `${run}-3`] as const
  const plans = references.map((reference) => planCall(withReference(request, reference), NOTHING_FOUND, deps.settings))
  const [one, two, three] = plans
  if (!one || !two || !three) throw new Error('there are three plans')
  let id: string | undefined
  const send: CompareDeps['send'] = async (...args) => {
    const reply = await deps.send(...args)
    id = idAt(reply, 'id')
    return reply
  }
  const natives: Outcome[] = []
  let translated: Outcome = { kind: 'none', why: 'the native booking had no outcome' }
  natives.push(await askNatively(one, sending(), deps))
  if (natives[0]?.kind !== 'none') {
    translated = await askTranslated(two, tenant, sending(), { ...deps, send })
    natives.push(await askNatively(three, sending(), deps))
  }
  const [first = translated, second = first] = natives
  const left: string[] = []
  for (const [i, outcome] of [first, second].entries()) {
    const reference = (i === 0 ? references[0] : references[2]) ?? ''
    const isSent = i === 0 || natives.length > 1
    if (isSent && outcome.kind !== 'refused' && !(await cancelNatively(reference, sending(), deps)))
      left.push(reference)
  }
  if (natives.length > 1 && translated.kind !== 'refused' && !(await cancel(id, sending(), deps)))
    left.push(references[1])
  return { comparison: compareOutcomes(two, [first, second], translated), left }
}

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
