import { setImmediate } from 'node:timers/promises'

/*
 * Runs asynchronous code one operation at a time. The state of such code is its history: what its operations returned, and
 * what it saw of its process. To go on from a history, the code runs again from its start and gets the same answers.
 */

/** An operation that the code waits for. */
export interface Operation {
  readonly name: string
  readonly args: readonly unknown[]
}

/** The result of an operation; a failure is an error of this name. */
export type Result = { readonly value: unknown } | { readonly failure: string }

/** A change that the code made to its process. */
export interface Effect {
  readonly name: string
  readonly value: unknown
}

/** One thing that passed between the code and its process. */
export type Exchange =
  | { readonly kind: 'seen'; readonly name: string; readonly args: readonly unknown[]; readonly value: unknown }
  | { readonly kind: 'effect'; readonly effect: Effect }

/** One part of a run: from the result of an operation to the next operation. */
export interface Part {
  /** Absent in the first part. */
  readonly result?: Result
  /** The values that the code saw of its process in this part, in order. */
  readonly seen: readonly unknown[]
}

/** Connects code with its process and with the world. */
export interface Ports {
  /** Asks the world for something; resolves when the explorer chooses so. */
  readonly ask: (name: string, ...args: unknown[]) => Promise<unknown>
  /** Reads something of the process. */
  readonly see: (name: string, ...args: unknown[]) => unknown
  /** Changes something of the process. */
  readonly effect: (name: string, value: unknown) => void
}

/** The end of a part. */
export interface Reached {
  /** The part that was run. */
  readonly part: Part
  readonly exchanges: readonly Exchange[]
  /** The operation that the code waits for now; absent if it has ended. */
  readonly operation?: Operation
  /** The result that the code returned at its end. */
  readonly outcome?: unknown
}

/** A program under exploration; it handles its own errors. */
export type Program = (ports: Ports) => Promise<unknown>

/** The memory of the process that a program runs in. */
export interface Memory {
  readonly see: (name: string, args: readonly unknown[]) => unknown
  readonly effect: (effect: Effect) => void
}

/** Runs a program with a history, and on to its next operation, with the result of the operation that it waits for. */
export async function runOn(
  program: Program,
  before: readonly Part[],
  result: Result | undefined,
  memory: Memory,
  failureNamed: (name: string) => Error,
): Promise<Reached> {
  const seen: unknown[] = []
  const exchanges: Exchange[] = []
  const newest: Part = { ...(result && { result }), seen }
  const history = [...before, newest]
  const last = history.length - 1
  let part = 0
  let read = 0
  let operation: Operation | undefined
  let ended: { readonly outcome: unknown } | undefined
  let broken: Error | undefined

  const fail = (message: string): never => {
    broken = new Error(message)
    throw broken
  }
  const ports: Ports = {
    ask: (name, ...args) => {
      if (operation) fail(`${name} is asked while ${operation.name} is waited for`)
      if (part === last) {
        operation = { name, args }
        return new Promise(() => {})
      }
      if (read !== history[part]?.seen.length) fail(`the code is not determined by its history before ${name}`)
      part += 1
      read = 0
      const given = history[part]?.result
      if (!given) return fail(`${name} has no result`)
      return 'failure' in given ? Promise.reject(failureNamed(given.failure)) : Promise.resolve(given.value)
    },
    see: (name, ...args) => {
      if (part === last) {
        const value = memory.see(name, args)
        seen.push(value)
        exchanges.push({ kind: 'seen', name, args, value })
      }
      read += 1
      return history[part]?.seen[read - 1]
    },
    effect: (name, value) => {
      if (part !== last) return
      const effect = { name, value }
      exchanges.push({ kind: 'effect', effect })
      memory.effect(effect)
    },
  }
  void program(ports).then(
    (outcome) => {
      ended = { outcome }
    },
    (error: unknown) => {
      broken ??= error instanceof Error ? error : new Error(String(error))
    },
  )
  // All that the code can do without an operation is done in microtasks.
  await setImmediate()
  if (broken) throw broken
  if (ended) return { part: newest, exchanges, outcome: ended.outcome }
  if (!operation) throw new Error('The code waits for something that the explorer does not control.')
  return { part: newest, exchanges, operation }
}
