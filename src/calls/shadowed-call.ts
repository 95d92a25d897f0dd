import type { Call } from '../observe/call.ts'
import type { Account } from '../service/account.ts'
import type { Plan } from './plan.ts'

/** An answered call that may be compared with the service's own version-1 answers. */
export interface ShadowedCall {
  readonly plan: Plan
  /** The body of the answer that the caller got. */
  readonly answer: string
  readonly tenant: string
  readonly account: Account
  readonly requestId: string
}

/** Notes an answered call, which is compared later if it is sampled. Returns at once, and never throws. */
export type NoteShadowed = (call: Pick<Call, 'afterwards'>, shadowed: ShadowedCall) => void
