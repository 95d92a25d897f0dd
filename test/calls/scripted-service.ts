import type { Exclusive } from '../../src/calls/approve.ts'
import type { UpstreamReply } from '../../src/service/exchange.ts'
import type { Sending, Service } from '../../src/service/service.ts'

/** A client of a service that gives these replies one after the other, and keeps what it is asked. */
export function scriptedService(...replies: readonly (UpstreamReply | Error)[]) {
  const asked: Parameters<Service['send']>[] = []
  const left = [...replies]
  const send: Service['send'] = async (...call) => {
    asked.push(call)
    const reply = left.shift()
    if (reply instanceof Error) throw reply
    if (reply === undefined) throw new Error('the service is asked once too often')
    return reply
  }
  return {
    service: { send, outgoing: () => fail(), circuits: () => [] } satisfies Service,
    /** The requests so far, one line each. */
    lines: () => asked.map(([{ method, path }]) => `${method} ${path}`),
    asked,
  }
}

function fail(): never {
  throw new Error('no call writes a request by itself')
}

/** A deadline that no test reaches; the scripted service reads no account. */
export const SENDING = { account: {}, requestId: 'id', deadline: performance.now() + 600_000 } as unknown as Sending

/** Locks that are free, and keep the keys and the times, in milliseconds, that were asked for. */
export function freeLocks(isHeld = () => true) {
  const keys: string[] = []
  const waits: number[] = []
  const exclusive: Exclusive = (key, waitMs, work) => {
    keys.push(key)
    waits.push(waitMs)
    return work(isHeld)
  }
  return { exclusive, keys, waits }
}
