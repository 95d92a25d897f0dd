import { chownSync, statSync } from 'node:fs'

/** Gives a file the owner of another one, if this process may do so. */
export function makeLike(file: string, model: string): void {
  const { uid, gid } = statSync(model)
  if (process.getuid?.() === 0) chownSync(file, uid, gid)
}
