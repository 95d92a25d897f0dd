/** Result codes of SQLite (https://www.sqlite.org/rescode.html). */
const SQLITE = { BUSY: 5, CORRUPT: 11, TOOBIG: 18, CONSTRAINT: 19, MISMATCH: 20, RANGE: 25, NOTADB: 26 }

/** Tells if another process holds the lock. */
export function isBusy(error: unknown): boolean {
  return codeOf(error) === SQLITE.BUSY
}

/** Tells if SQLite has met content that it did not write. */
export function isDamage(error: unknown): boolean {
  const code = codeOf(error)
  return code === SQLITE.CORRUPT || code === SQLITE.NOTADB
}

/** Tells if the file is not a database. */
export function isNoDatabase(error: unknown): boolean {
  return codeOf(error) === SQLITE.NOTADB
}

/** Tells a failure of the database from an invalid write, which SQLite blames on the values. */
export function isStoreFailure(error: unknown): boolean {
  const code = codeOf(error)
  return code !== undefined && ![SQLITE.TOOBIG, SQLITE.CONSTRAINT, SQLITE.MISMATCH, SQLITE.RANGE].includes(code)
}

/** Returns the primary result code of an error of SQLite, the low byte of its code. */
function codeOf(error: unknown): number | undefined {
  return error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : undefined
}

/** Returns the message of a thrown value. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
