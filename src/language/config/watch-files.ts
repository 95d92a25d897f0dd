import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'

/**
 * Calls back when files differ from the last look. The first look is this call, so it comes before the files are used. Returns a function
 * that stops watching. The files are read again each time: files on mounted volumes change without an event, and their modification times
 * would miss a change that comes before the first look at them.
 */
export function watchFiles(paths: () => readonly string[], intervalMs: number, onChange: () => void): () => void {
  let last = new Map(paths().map((path) => [path, contentOf(path)]))
  let isLooking = false
  let isStopped = false
  async function look(): Promise<void> {
    if (isLooking) return
    isLooking = true
    const now = new Map(
      await Promise.all(paths().map(async (path) => [path, await readFile(path).catch(() => undefined)] as const)),
    )
    isLooking = false
    // A new path was read before this look, and may have changed since.
    const isSame = [...now].every(([path, content]) => {
      const before = last.get(path)
      return last.has(path) && (content && before ? content.equals(before) : content === before)
    })
    last = now
    if (!isSame && !isStopped) onChange()
  }
  const timer = setInterval(() => void look(), intervalMs).unref()
  return () => {
    isStopped = true
    clearInterval(timer)
  }
}

/** Returns a file's content; undefined if it cannot be read, or without a path. */
export function contentOf(path: string | undefined): Buffer | undefined {
  try {
    return path === undefined ? undefined : readFileSync(path)
  } catch {
    return undefined
  }
}
