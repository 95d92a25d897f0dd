import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import type { Call, CallerFacts } from '../../runtime/call.ts'
import { byCredential, type Who } from '../door.ts'
import type { Caller, Credentials, PassThrough } from './caller.ts'

/* Who calls, for each interface. Only these write the caller of a call, and let it take its part of the caller's limits. */

/** The caller of a version-1 call. */
export const legacyCaller = (credentials: Credentials): Who<unknown, Caller> =>
  byCredential(async (incoming, call) => {
    const { share } = call.request
    const caller = await credentials.identify(incoming, share)
    call.caller = factsOf(caller)
    caller.profile.limits?.enter(share)
    return caller
  })

/** The caller whose numbers an explanation may show: one that the gateway itself verifies. */
export const verifiedCaller = (credentials: Credentials): Who<unknown, Caller | undefined> =>
  byCredential(async (incoming, call) => {
    const caller = await credentials.verified(incoming, call.request.share)
    if (caller) call.caller = factsOf(caller)
    return caller
  })

/** The account of a call that is passed through. */
export const passedCaller = (credentials: Credentials): Who<Buffer | Readable | null, PassThrough> =>
  byCredential(async (incoming, call, body) => {
    const { share } = call.request
    const account = await credentials.passThrough(incoming, body instanceof Readable, share)
    const { tenant, acceptance, authorization, limits } = account
    call.caller = { tenant, acceptance: authorization === undefined ? undefined : acceptance }
    limits?.enter(share)
    return account
  })

/** Notes the caller of a refused call, if the gateway itself verifies it: its errors have the shape that it wants. */
export async function noteVerified(
  credentials: Credentials,
  incoming: IncomingMessage,
  call: Call,
): Promise<Caller | undefined> {
  const caller = await credentials.verified(incoming, call.request.share).catch(() => undefined)
  if (caller) call.caller = factsOf(caller)
  return caller
}

function factsOf({ tenant, account, profile }: Caller): CallerFacts {
  const { errorStatus, support, deprecation } = profile
  return { tenant, acceptance: account.acceptance, errorStatus, support, legacyHeaders: deprecation.headers }
}
