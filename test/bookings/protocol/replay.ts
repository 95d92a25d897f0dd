import { setImmediate } from 'node:timers/promises'
import { StoreDown } from '../../../src/outside/store/store.ts'
import type { World } from './world.ts'

/*
 * Runs asynchronous code one operation at a time. The state of such code is its history: what its operations returned, and what it saw of
 * its process. To continue from a history, the code runs again from the start and gets the same answers.
 */

/** An operation that the code waits for. */
export interface Operation {
  readonly name: string
  readonly args: readonly unknown[]
}

/** The result of an operation; a failure is an error of the store with this message. */
export type Result = { readonly value: unknown } | { readonly failure: string }

/** One exchange between the code and its process: it saw a value or changed something. */
export type Exchange =
  | { readonly look: (world: World) => unknown; readonly value: unknown }
  | { readonly effect: (world: World) => World }

/** One part of a run: from the result of an operation to the next operation. */
export interface Part {
  /** Absent in the first part. */
  readonly result?: Result | undefined
  /** The values that the code saw of its process in this part, in order. */
  readonly seen: readonly unknown[]
}

/** Connects code with its process and with the world. */
export interface Ports {
  /** Asks the world for something; resolves when the explorer decides. */
  ask: (name: string, ...args: unknown[]) => Promise<unknown>
  /** Reads something of the process. */
  see: <T>(look: (world: World) => T) => T
  /** Changes something of the process, or writes a request. */
  effect: (effect: (world: World) => World) => void
}

/** A program under exploration; it handles its own errors. */
export type Program = (ports: Ports) => Promise<unknown>

/** Runs a program through a history and the result of the operation that it waits for, up to its next operation. */
export async function runOn(
  program: Program,
  before: readonly Part[],
  result: Result | undefined,
  world: World,
): Promise<{
  readonly part: Part
  readonly exchanges: readonly Exchange[]
  /** The operation that the code waits for now; absent if it has ended. */
  readonly operation?: Operation
  /** The result that the code returned at its end. */
  readonly outcome?: unknown
}> {
  const seen: unknown[] = []
  const exchanges: Exchange[] = []
  const newest: Part = { result, seen }
  const history = [...before, newest]
  const last = history.length - 1
  let now = world
  let part = 0
  let read = 0
  let operation: Operation | undefined
  let ended: { readonly outcome: unknown } | undefined
  let broken: unknown

  const fail = (message: string): never => {
    broken = new Error(message)
    throw broken
  }
  void program({
    ask: (name, ...args) => {
      if (operation) fail(`${name} is asked while ${operation.name} is waited for`)
      if (part === last) {
        operation = { name, args }
        return new Promise(() => {})
      }
      if (read !== history[part]?.seen.length) fail(`the code is not determined by its history before ${name}`)
      part += 1
      read = 0
      const given = history[part]?.result ?? fail(`${name} has no result`)
      return 'failure' in given ? Promise.reject(new StoreDown(given.failure)) : Promise.resolve(given.value)
    },
    see: <T>(look: (world: World) => T) => {
      if (part === last) {
        const value = look(now)
        seen.push(value)
        exchanges.push({ look, value })
      }
      read += 1
      // The same look has seen it.
      return history[part]?.seen[read - 1] as T
    },
    effect: (effect) => {
      if (part !== last) return
      exchanges.push({ effect })
      now = effect(now)
    },
  }).then(
    (outcome) => {
      ended = { outcome }
    },
    (error: unknown) => {
      broken ??= error
    },
  )
  // Microtasks do everything that the code can do without an operation.
  await setImmediate()
  if (broken) throw broken
  if (!operation && !ended) throw new Error('The code waits for something that the explorer does not control.')
  return { part: newest, exchanges, ...ended, ...(operation && !ended && { operation }) }
}
