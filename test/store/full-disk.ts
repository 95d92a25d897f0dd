import { DatabaseSync } from 'node:sqlite'
import { onTestFinished } from 'vitest'

/** Lets the databases that this thread opens from now on have a number of pages only; returns a function that makes room again. */
export function fillDisk(pages: number): () => void {
  const { exec } = DatabaseSync.prototype
  DatabaseSync.prototype.exec = function (text) {
    exec.call(this, text.startsWith('PRAGMA cache_size') ? `${text}; PRAGMA max_page_count = ${pages}` : text)
  }
  const makeRoom = () => {
    DatabaseSync.prototype.exec = exec
  }
  onTestFinished(makeRoom)
  return makeRoom
}
