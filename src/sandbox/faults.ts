import * as z from 'zod'

const times = z.union([
  z.custom<number>((value) => typeof value === 'number' && value > 0, 'must be a positive number or "always"'),
  z.literal('always'),
])
const common = {
  /** Which requests it meets; every one by default. A path is exact, or a prefix if it ends in `*`; no query. */
  on: z
    .object({ method: z.string().optional(), path: z.union([z.string(), z.instanceof(RegExp)]).optional() })
    .optional(),
  /** How many of them. @default 1 */
  times: times.optional(),
}
const milliseconds = z.number().nonnegative()

/** The faults that the stand-in can be told to make, as the control endpoint takes them. */
export const faultSchema = z.discriminatedUnion('kind', [
  /** Any answer at all; the request is only carried out with `process`. */
  z.strictObject({
    kind: z.literal('status'),
    ...common,
    status: z.int().min(200).max(999),
    headers: z.record(z.string(), z.string()).optional(),
    body: z.union([z.string(), z.record(z.string(), z.unknown()), z.array(z.unknown())]).optional(),
    process: z.boolean().optional(),
  }),
  /** The connection is reset as soon as the request's headers are there; nothing is done. */
  z.strictObject({ kind: z.literal('reset-before'), ...common }),
  /** Everything is done, then the connection is reset without an answer. */
  z.strictObject({ kind: z.literal('reset-after'), ...common }),
  /** Everything is done, half of the answer is sent, then the connection is closed. */
  z.strictObject({ kind: z.literal('reset-mid-body'), ...common }),
  /** Everything is done, and never answered. */
  z.strictObject({ kind: z.literal('timeout'), ...common }),
  /** Nothing is done, and never answered. */
  z.strictObject({ kind: z.literal('timeout-unprocessed'), ...common }),
  /** Done at once, answered later. */
  z.strictObject({ kind: z.literal('delay'), ...common, ms: milliseconds }),
  /** The body comes one byte every `ms`. */
  z.strictObject({ kind: z.literal('drip'), ...common, ms: milliseconds }),
  /** Half of the body, without a length, and then an orderly close. */
  z.strictObject({ kind: z.literal('half-json'), ...common }),
  /** `Content-Length` is off by so many bytes. @default 10 too many */
  z.strictObject({ kind: z.literal('wrong-length'), ...common, by: z.int().optional() }),
  /** Done, and answered without any id. */
  z.strictObject({ kind: z.literal('no-id'), ...common }),
  /** Done, and answered with an empty body. */
  z.strictObject({ kind: z.literal('empty'), ...common }),
  /** Done, and answered with a page instead of JSON. */
  z.strictObject({ kind: z.literal('not-json'), ...common }),
  /** The answer is compressed whether asked for or not, and grows by so many megabytes when inflated. @default 0 */
  z.strictObject({ kind: z.literal('gzip'), ...common, megabytes: z.number().nonnegative().optional() }),
  /** Two `100 Continue` come before the answer. */
  z.strictObject({ kind: z.literal('continue-twice'), ...common }),
  /** The answer is in Latin-1, with a field that shows it. */
  z.strictObject({ kind: z.literal('latin1'), ...common }),
  /** The answer has so many megabytes more than it should. */
  z.strictObject({ kind: z.literal('huge'), ...common, megabytes: z.number().positive() }),
  /** A new connection is closed before a request is read; `on` cannot apply. */
  z.strictObject({ kind: z.literal('close-on-accept'), ...common }),
])

/** One thing that goes wrong, for which requests, how often. */
export type Fault = z.infer<typeof faultSchema>
/** The faults that meet a request, in place of those that meet a connection. */
export type RequestFault = Exclude<Fault, { kind: 'close-on-accept' }>

/** The faults that are still to happen, in the order they were given. */
export interface FaultQueue {
  add(...faults: readonly Fault[]): void
  clear(): void
  /** How many faults still stand. */
  size(): number
  /** Takes the first fault that meets this request. */
  takeForRequest(method: string, path: string): RequestFault | undefined
  /** Takes a fault that meets a new connection. */
  takeForConnection(): boolean
}

/** An empty queue. */
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
