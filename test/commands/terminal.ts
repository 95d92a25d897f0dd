import { onTestFinished, vi } from 'vitest'

/** Collects what is written to a stream of this process, as a terminal or a pipe, until the test ends. */
export function watchStream(name: 'stdout' | 'stderr', { isTTY, columns }: { isTTY: boolean; columns?: number }) {
  const stream = process[name]
  const written: string[] = []
  const before = { isTTY: stream.isTTY, columns: stream.columns }
  Object.assign(stream, { isTTY, columns })
  const write = vi.spyOn(stream, 'write').mockImplementation((text) => {
    written.push(String(text))
    return true
  })
  onTestFinished(() => {
    write.mockRestore()
    Object.assign(stream, before)
  })
  return {
    /** Returns what was written since the last time. */
    take: () => written.splice(0).join(''),
  }
}
