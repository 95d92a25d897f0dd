import { closeSync, fstatSync, openSync, readSync, type Stats, statSync } from 'node:fs'

/** The index of a WAL, in shared memory; a file with `-shm` at its end. */
export interface WalIndex {
  readonly identity: Pick<Stats, 'dev' | 'ino'>
  read(): WalProgress
}

/** The progress of the WAL and of its checkpoints. */
export interface WalProgress {
  /** False while another process changes the index: `walPages` may be wrong then. */
  readonly isSettled: boolean
  /** The length of the WAL, in pages. */
  readonly walPages: number
  readonly isCheckpointRunning: boolean
  /** Changes when a checkpoint begins, when it ends, and when the WAL starts over. */
  readonly progress: string
}

/** The layout of the index, in the byte order of the machine (https://www.sqlite.org/walformat.html, 2.1). */
const INDEX_BYTES = 136
const HEADER_BYTES = 48
/** Offsets in words of four bytes. */
const WORD = { FRAMES: 4, SALT_1: 8, SALT_2: 9, COPIED: 24, COPY_ATTEMPTED: 32 }

/** Opens the index of an open database; undefined if there is none. */
export function openWalIndex(path: string): WalIndex | undefined {
  const file = openOnce(path)
  if (!file) return undefined
  const words = new Uint32Array(INDEX_BYTES / Uint32Array.BYTES_PER_ELEMENT)
  const bytes = Buffer.from(words.buffer)
  const word = (offset: number): number => words[offset] ?? 0
  return {
    identity: file.identity,
    read() {
      readSync(file.descriptor, bytes, 0, INDEX_BYTES, 0)
      const [copied, attempted] = [word(WORD.COPIED), word(WORD.COPY_ATTEMPTED)]
      return {
        // SQLite writes one copy of the header after the other.
        isSettled: bytes.compare(bytes, HEADER_BYTES, 2 * HEADER_BYTES, 0, HEADER_BYTES) === 0,
        walPages: word(WORD.FRAMES),
        isCheckpointRunning: attempted > copied,
        progress: `${copied} ${attempted} ${word(WORD.SALT_1)} ${word(WORD.SALT_2)}`,
      }
    },
  }
}

/** The indexes that this thread has open: descriptors by identity. */
const opened = new Map<string, number>()

/**
 * Opens each index once and leaves it open: closing one that SQLite has open in this process would release SQLite's locks
 * (https://www.sqlite.org/howtocorrupt.html, 2.2).
 */
function openOnce(path: string): { readonly descriptor: number; readonly identity: Stats } | undefined {
  const found = statSync(path, { throwIfNoEntry: false })
  if (!found) return undefined
  const known = opened.get(`${found.dev} ${found.ino}`)
  const descriptor = known ?? openSync(path, 'r')
  const identity = fstatSync(descriptor)
  opened.set(`${identity.dev} ${identity.ino}`, descriptor)
  return { descriptor, identity }
}

/** Closes the indexes that SQLite has deleted, because no process uses them any more. */
export function closeDeletedIndexes(): void {
  for (const [key, descriptor] of opened) {
    if (fstatSync(descriptor).nlink > 0) continue
    closeSync(descriptor)
    opened.delete(key)
  }
}
