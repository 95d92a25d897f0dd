import type { XrefWrite } from '../store.ts'
import type { FileIdentity } from './file-guard.ts'
import type { Writes } from './writes.ts'

/** The writes that the main thread may request. */
export type WriteName = Exclude<keyof Writes, 'clearTenantNumbers'>

/** One write, on its way to the worker. */
export interface WriteCall {
  readonly no: number
  readonly name: WriteName
  readonly args: readonly unknown[]
}

/** Tells if a write may change cached data. */
export function changesCachedData({ name, args }: WriteCall): boolean {
  if (name === 'change') return namesOf(args) !== null
  return name === 'put' || name === 'unlink' || name === 'load' || name === 'forget' || name === 'prune'
}

/** Returns the names that a change of a claim writes. */
export function namesOf(args: WriteCall['args']): XrefWrite | null {
  // The types of the sending side paired name and arguments.
  return (args as Parameters<Writes['change']>)[2]
}

/** A write of one commit. */
export interface WrittenCall extends WriteCall {
  /** Its result, if that holds the keys that it changed: those of `prune`. */
  readonly result?: unknown
}

/** The outcome of one write. */
export interface WriteResult {
  readonly no: number
  readonly result?: unknown
  /** The error of this one write. */
  readonly failed?: string
  /** The error that keeps the store from writing anything now. */
  readonly down?: string
}

/** A message to the worker. */
export type WriterRequest =
  /** `steps` are housekeeping: each is a commit of its own, after the calls, which do not wait for it. */
  { readonly calls: readonly WriteCall[]; readonly steps: readonly WriteCall[] } | { readonly close: true }

/** A message from the worker. */
export type WriterReply =
  /** The results of one commit; `cacheVersion` is its number if it changed links or things. */
  | { readonly results: readonly WriteResult[]; readonly cacheVersion?: number }
  /** Another process writes to the file: the writes that arrive until it has finished join those that wait. */
  | { readonly waiting: true }
  | { readonly ready: true; readonly file: FileIdentity }
  | { readonly ready: false; readonly error: string; readonly kind: 'down' | 'too-new' | 'not-a-store' | 'lost' }

/** Encodes a message as text: V8 clones one string many times faster than the objects in it. */
export const encode = (message: WriterRequest | WriterReply): string => JSON.stringify(message)

/** Decodes a message from the other thread. */
export const decode = <M extends WriterRequest | WriterReply>(text: string): M => JSON.parse(text)

/** The data that the writing thread starts with. */
export interface WorkerData {
  readonly path: string
  /** The file that this process has opened before; undefined at the start. */
  readonly file?: FileIdentity | undefined
  /**
   * True for a process that replaces another: it does not create a file that is gone.
   * @default false
   */
  readonly mustExist?: boolean | undefined
  /** For tests: the number of pages that fit on the disk; 0 for no limit. Read when a connection opens. */
  readonly room?: Int32Array<SharedArrayBuffer> | undefined
}
