import { AsyncLocalStorage } from 'node:async_hooks'
import type { Call } from './call.ts'

/*
 * The call that the running code works for. Only time is accounted by it, never behavior: the store and the service's
 * client add what they took to the call that waited for them, without a parameter through every layer between.
 */

const calls = new AsyncLocalStorage<Call>()

/** Runs the work of a call. */
export const runCall = <Args extends readonly unknown[], T>(call: Call, work: (...args: Args) => T, ...args: Args): T =>
  calls.run(call, work, ...args)

/** Returns the call that the running code works for; undefined for work of the gateway itself. */
export const currentCall = (): Call | undefined => calls.getStore()
