import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { availableParallelism } from 'node:os'
import type { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { setFlagsFromString } from 'node:v8'
import { Worker } from 'node:worker_threads'
import { type Block, type Reading, readBlocks } from './recording.ts'
import {
  type BlockResult,
  createJoin,
  type Join,
  merge,
  newTally,
  openRehearsal,
  type Rehearsal,
  type Setup,
  type Tally,
} from './rehearsal.ts'
import type { ThreadMessage } from './rehearsal-thread.ts'

/** The findings of a run, with their places. */
export interface Found {
  readonly tally: Tally
  readonly peaks: Join['peaks']
  /** The file of each block, and the number of lines of the file before it. */
  readonly blocks: readonly { readonly file: number; readonly linesBefore: number }[]
  readonly rehearsal: Rehearsal
}

interface RunOptions {
  readonly setup: Setup
  readonly names: readonly string[]
  readonly input: Readable
  readonly reading: Reading
  /** Takes what calls and their replies tell of numbers. */
  readonly learnFile: string | undefined
  readonly onLines: (lines: number) => void
  /** Does more with a block, such as asking the service. */
  readonly onBlock?: ((block: Block, rehearsal: Rehearsal) => Promise<void>) | undefined
  /** @default all cores */
  readonly threads?: number | undefined
}

/** So much is rehearsed in this thread alone; starting others takes longer than that. */
const SMALL_BLOCKS = 16
/** Blocks that wait for each other thread, so that it never waits for this one, which rehearses the rest. */
const BLOCKS_AHEAD = 4

/**
 * Calls leave nothing behind that is worth a larger young generation, which V8 would let grow to 100 MB, and old objects are
 * collected when they have grown by a third instead of fourfold.
 */
const HEAP_FLAGS = ['--semi-space-growth-factor=1', '--heap-growing-percent=30']

/** Rehearses recordings on all cores. Results are joined in the order of the blocks. */
export async function rehearseAll(options: RunOptions): Promise<Found> {
  const { setup, names, input, reading, learnFile, onLines, threads = availableParallelism() } = options
  const rehearsal = await openRehearsal(setup)
  for (const flag of HEAP_FLAGS) setFlagsFromString(flag)
  const join = createJoin(rehearsal.config.DEDUPE_WINDOW)
  const blocks: { file: number; linesBefore: number }[] = []
  const lines: number[] = []
  const learned = learnFile === undefined ? undefined : createWriteStream(learnFile, { mode: OWNER_ONLY })
  const waiting = new Map<number, BlockResult>()
  let total = 0
  let next = 0

  function receive(result: BlockResult): void {
    waiting.set(result.no, result)
    for (let ready = waiting.get(next); ready; ready = waiting.get(next)) {
      waiting.delete(next)
      join.add(ready)
      const { file } = blocks[next] ?? { file: 0 }
      blocks[next] = { file, linesBefore: lines[file] ?? 0 }
      lines[file] = (lines[file] ?? 0) + ready.lines
      total += ready.lines
      learned?.write(ready.learned)
      next += 1
    }
    onLines(total)
  }

  const pool: Thread[] = []
  for await (const block of readBlocks(names, input, rehearsal.catalog, reading)) {
    blocks.push({ file: block.file, linesBefore: 0 })
    await options.onBlock?.(block, rehearsal)
    while (block.no >= SMALL_BLOCKS && pool.length < threads - 1) pool.push(startThread(setup, receive))
    const free = pool.find(({ queued }) => queued() < BLOCKS_AHEAD)
    if (free) free.send(block)
    else {
      receive(rehearsal.rehearse(block))
      // Other threads, the reader and signals have their turn.
      await new Promise(setImmediate)
    }
    if (learned?.writableNeedDrain) await once(learned, 'drain')
  }
  const tally = newTally()
  merge(tally, rehearsal.tally)
  for (const thread of pool) merge(tally, await thread.end())
  merge(tally, join.tally)
  if (learned) await finished(learned.end())
  return { tally, peaks: join.peaks, blocks, rehearsal }
}

/** Larger young generations are no faster, and take memory. */
const YOUNG_MB = 8
/** The file has numbers of callers. */
const OWNER_ONLY = 0o600

interface Thread {
  readonly queued: () => number
  readonly send: (block: Block) => void
  /** Resolves with all that the thread found. */
  readonly end: () => Promise<Tally>
}

function startThread(setup: Setup, onResult: (result: BlockResult) => void): Thread {
  // The thread runs from the same kind of file as this module: .ts in development, .js once built.
  const extension = import.meta.url.endsWith('.ts') ? '.ts' : '.js'
  const worker = new Worker(new URL(`./rehearsal-thread${extension}`, import.meta.url), {
    workerData: setup,
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB },
  })
  const { promise: tally, resolve, reject } = Promise.withResolvers<Tally>()
  // A failure is told at the end of the run, or when a block is sent.
  tally.catch(() => undefined)
  let queued = 0
  worker.on('error', reject).on('message', (message: ThreadMessage) => {
    if ('tally' in message) return resolve(message.tally)
    queued -= 1
    onResult(message.result)
  })
  return {
    queued: () => queued,
    send(block) {
      worker.postMessage(block, [block.bytes.buffer])
      queued += 1
    },
    async end() {
      worker.postMessage('end')
      const found = await tally
      await worker.terminate()
      return found
    },
  }
}
