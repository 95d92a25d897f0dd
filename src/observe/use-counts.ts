import type { IncomingMessage } from 'node:http'
import { type Recorder, type RecorderDeps, startRecorder } from '../migration/counts.ts'
import { DONE, REPLAYED, VERSION_2_BODY } from '../migration/tally.ts'
import type { Call } from './call.ts'
import type { Logger } from './log.ts'

/** Counts the use that a caller makes of the gateway. */
export type CountUse = (call: Call, incoming: IncomingMessage, status: number) => void

const FIRST_ERROR_STATUS = 400

interface UseCountsDeps extends Omit<RecorderDeps, 'onError'> {
  readonly log: Pick<Logger, 'warn'>
  /** Returns the address or the network that a call comes from. */
  readonly sourceOf: (incoming: IncomingMessage) => string
}

/** The counts of the callers' use, for the migration. */
interface UseCounts {
  readonly count: CountUse
  /** Stores the last counts. */
  readonly close: Recorder['close']
}

/** Starts to count calls and to store the counts. */
export function openUseCounts({ log, sourceOf, ...deps }: UseCountsDeps): UseCounts {
  const onError = (err: unknown) => log.warn({ err }, 'the counts of calls could not be stored')
  const { count, close } = startRecorder({ ...deps, onError })
  return { count: createCountUse(count, sourceOf), close }
}

/**
 * Makes the function that counts answered calls. It counts only calls whose credential is accepted: nothing is stored for
 * strangers, and what the gateway itself asks the service is no call.
 */
function createCountUse(count: Recorder['count'], sourceOf: UseCountsDeps['sourceOf']): CountUse {
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
