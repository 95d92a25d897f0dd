import * as z from 'zod'

const times = z.union([
  z.custom<number>((value) => typeof value === 'number' && value > 0, 'must be a positive number or "always"'),
  z.literal('always'),
])
const common = {
  /**
   * The requests that it applies to; all by default. A path is exact, or a prefix if it ends in `*`; the query is
   * ignored.
   */
  on: z
    .object({ method: z.string().optional(), path: z.union([z.string(), z.instanceof(RegExp)]).optional() })
    .optional(),
  /** The number of these requests. @default 1 */
  times: times.optional(),
}
const milliseconds = z.number().nonnegative()

/** The faults that the stand-in can make, as the control endpoint accepts them. */
export const faultSchema = z.discriminatedUnion('kind', [
  /** Any answer. The request is carried out only with `process`. */
  z.strictObject({
    kind: z.literal('status'),
    ...common,
    status: z.int().min(200).max(999),
    headers: z.record(z.string(), z.string()).optional(),
    body: z.union([z.string(), z.record(z.string(), z.unknown()), z.array(z.unknown())]).optional(),
    process: z.boolean().optional(),
  }),
  /** The connection is reset when the request's headers have arrived; nothing is carried out. */
  z.strictObject({ kind: z.literal('reset-before'), ...common }),
  /** Carried out; then the connection is reset without an answer. */
  z.strictObject({ kind: z.literal('reset-after'), ...common }),
  /** Carried out; half of the answer is sent, then the connection is closed. */
  z.strictObject({ kind: z.literal('reset-mid-body'), ...common }),
  /** Carried out and never answered. */
  z.strictObject({ kind: z.literal('timeout'), ...common }),
  /** Neither carried out nor answered. */
  z.strictObject({ kind: z.literal('timeout-unprocessed'), ...common }),
  /** Carried out at once, answered later. */
  z.strictObject({ kind: z.literal('delay'), ...common, ms: milliseconds }),
  /** The body is sent one byte every `ms`. */
  z.strictObject({ kind: z.literal('drip'), ...common, ms: milliseconds }),
  /** Half of the body is sent, without a length, then the connection closes in order. */
  z.strictObject({ kind: z.literal('half-json'), ...common }),
  /** `Content-Length` is off by so many bytes. @default 10 too many */
  z.strictObject({ kind: z.literal('wrong-length'), ...common, by: z.int().optional() }),
  /** Carried out; the answer has no id. */
  z.strictObject({ kind: z.literal('no-id'), ...common }),
  /** Carried out; the answer's body is empty. */
  z.strictObject({ kind: z.literal('empty'), ...common }),
  /** Carried out; the answer is a page instead of JSON. */
  z.strictObject({ kind: z.literal('not-json'), ...common }),
  /** Carried out; the answer's body is this text, of any form. */
  z.strictObject({ kind: z.literal('body'), ...common, body: z.string() }),
  /**
   * Carried out; every text of the answer, except ids, statuses and types, ends in control characters and half a
   * character.
   */
  z.strictObject({ kind: z.literal('strange-strings'), ...common }),
  /** Carried out; the answer has one more member, nested so many levels deep. */
  z.strictObject({ kind: z.literal('deep'), ...common, levels: z.int().positive().max(1_000_000) }),
  /** The answer is compressed, asked for or not, and grows by so many megabytes when inflated. @default 0 */
  z.strictObject({ kind: z.literal('gzip'), ...common, megabytes: z.number().nonnegative().optional() }),
  /** The answer is compressed as `deflate`, without the zlib wrapper that RFC 9110 asks for. */
  z.strictObject({ kind: z.literal('raw-deflate'), ...common }),
  /** Two `100 Continue` come before the answer. */
  z.strictObject({ kind: z.literal('continue-twice'), ...common }),
  /** The answer is in Latin-1, and one member needs it. */
  z.strictObject({ kind: z.literal('latin1'), ...common }),
  /** The answer is larger by so many megabytes. */
  z.strictObject({ kind: z.literal('huge'), ...common, megabytes: z.number().positive() }),
  /** A new connection is closed before a request is read; `on` cannot apply. */
  z.strictObject({ kind: z.literal('close-on-accept'), ...common }),
])

/** A fault, the requests that it applies to, and how often. */
export type Fault = z.infer<typeof faultSchema>
/** The faults of requests, without those of connections. */
export type RequestFault = Exclude<Fault, { kind: 'close-on-accept' }>

/** The faults that are still to happen, in the order they were given. */
export interface FaultQueue {
  add(...faults: readonly Fault[]): void
  clear(): void
  /** The number of faults that are left. */
  size(): number
  /** Takes the first fault that applies to this request. */
  takeForRequest(method: string, path: string): RequestFault | undefined
  /** Takes a fault that applies to a new connection. */
  takeForConnection(): boolean
}

/** Makes an empty queue. */
export function faultQueue(): FaultQueue {
  let queue: { fault: Fault; left: number }[] = []

  function take(entry: { fault: Fault; left: number }) {
    entry.left -= 1
    if (entry.left <= 0) queue = queue.filter((other) => other !== entry)
  }

  return {
    add(...faults) {
      for (const fault of faults) {
        const left = fault.times === 'always' ? Number.POSITIVE_INFINITY : (fault.times ?? 1)
        queue.push({ fault, left })
      }
    },
    clear() {
      queue = []
    },
    size: () => queue.length,
    takeForRequest(method, path) {
      for (const entry of queue) {
        const { fault } = entry
        if (fault.kind === 'close-on-accept' || !meets(fault, method, path)) continue
        take(entry)
        return fault
      }
      return undefined
    },
    takeForConnection() {
      const entry = queue.find(({ fault }) => fault.kind === 'close-on-accept')
      if (entry) take(entry)
      return entry !== undefined
    },
  }
}

function meets({ on }: Fault, method: string, path: string): boolean {
  if (on?.method !== undefined && on.method.toUpperCase() !== method) return false
  if (on?.path === undefined) return true
  // search() begins at the start even with a sticky or global expression.
  if (on.path instanceof RegExp) return path.search(on.path) >= 0
  return on.path.endsWith('*') ? path.startsWith(on.path.slice(0, -1)) : path === on.path
}
