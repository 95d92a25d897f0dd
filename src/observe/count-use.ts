import type { IncomingMessage } from 'node:http'
import { type CountedCall, DONE, REPLAYED } from '../migration/tally.ts'
import { VERSION_2_BODY } from '../migration/version-2-body.ts'
import type { Call } from './call.ts'

/** Counts the use that a caller makes of the gateway. */
export type CountUse = (call: Call, incoming: IncomingMessage, status: number) => void

const FIRST_ERROR_STATUS = 400

/**
 * Makes the function that counts answered calls. It counts only calls whose credential is accepted: nothing is stored for
 * strangers, and what the gateway itself asks the service is no call.
 */
export function createCountUse(
  count: (tenant: string, call: CountedCall) => void,
  sourceOf: (incoming: IncomingMessage) => string,
): CountUse {
  return (call, incoming, status) => {
    const { use, acceptance } = call
    if (use === undefined || acceptance === undefined || !acceptance.isProven()) return
    count(call.tenant ?? '', {
      use,
      action: call.action ?? (use === 'version-1' && call.error === undefined ? VERSION_2_BODY : ''),
      outcome: outcomeOf(call, status),
      requestId: call.id,
      agent: incoming.headers['user-agent'] ?? '',
      source: sourceOf(incoming),
      request: call.request,
      notes: call.notes,
    })
  }
}

/** Returns the code of the error that a call ended with; a passed-through error has the service's status. */
function outcomeOf({ error, replayed }: Call, status: number): string {
  if (error !== undefined) return error
  if (status >= FIRST_ERROR_STATUS) return `service-${status}`
  return replayed ? REPLAYED : DONE
}
