import type { Writes } from './writes.ts'

/** The writes that a caller may ask of the worker. */
export type WriteName = Exclude<keyof Writes, 'forgetNumbers'>

/** One write, as it goes to the worker; lists of them go together. */
export interface Call {
  readonly no: number
  readonly name: WriteName
  readonly args: readonly unknown[]
}

/** Whether a call may change what is cached. */
export function touches({ name }: Call): boolean {
  return name === 'put' || name === 'load' || name === 'forget'
}

/** What became of one call. */
export interface Answer {
  readonly no: number
  readonly result?: unknown
  /** Why this one write was refused. */
  readonly failed?: string
  /** Why nothing can be written now. */
  readonly down?: string
}

/** What goes to the worker. */
export type ToWorker = { readonly calls: readonly Call[] } | { readonly close: true }

/** What comes from the worker. */
export type FromWorker =
  /** What one commit made durable; `pulse` is its number if it touched links or things. */
  | { readonly answers: readonly Answer[]; readonly pulse?: number }
  | { readonly ready: true }
  | { readonly ready: false; readonly error: string; readonly kind: 'down' | 'too-new' | 'not-a-store' }

/** Messages travel as text: V8 clones one string many times faster than the objects that it stands for. */
export const packed = (message: ToWorker | FromWorker): string => JSON.stringify(message)

/** The message of a text that the other side packed. */
export const unpacked = <M extends ToWorker | FromWorker>(text: string): M => JSON.parse(text)

/** What the worker starts with. */
export interface WorkerData {
  readonly path: string
  /** For tests: the number of pages that the disk seems to have room for; 0 for no limit. Read when a connection opens. */
  readonly room?: Int32Array<SharedArrayBuffer> | undefined
}
