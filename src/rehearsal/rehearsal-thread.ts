import { parentPort, workerData } from 'node:worker_threads'
import type { Block } from './recording.ts'
import { type BlockResult, openRehearsal, type Setup, type Tally } from './rehearsal.ts'

/** A message of this thread: the result of a block, or at the end all that was found. */
export type ThreadMessage = { readonly result: BlockResult } | { readonly tally: Tally }

const { tally, rehearse } = await openRehearsal(workerData as Setup)

parentPort?.on('message', (block: Block | 'end') => {
  const message: ThreadMessage = block === 'end' ? { tally } : { result: rehearse(block) }
  parentPort?.postMessage(message)
})
