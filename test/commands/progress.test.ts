/** Promise: long work shows how far it is, without flooding a log (contract, section 11). */

import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { createProgress, print, printError, showStatus } from '../../src/operator/commands/output.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
afterEach(() => void vi.useRealTimers())

/** Collects what is written to a stream of this process, as a terminal or a pipe, until the test ends. */
function watchStream(name: 'stdout' | 'stderr', { isTTY, columns }: { isTTY: boolean; columns?: number }) {
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

const ERASE = '\r\u001b[2K'

test('on a terminal, a status is cut at the width of the terminal, and other output replaces it', () => {
  const { take } = watchStream('stderr', { isTTY: true, columns: 10 })
  showStatus('0123456789abc\u001b')
  expect(take()).toBe(`${ERASE}012345678`)
  const out = watchStream('stdout', { isTTY: true })
  print('one', 'two\nthree')
  expect([take(), out.take()]).toEqual([ERASE, 'one\ntwo\\u000athree\n'])
  showStatus('again')
  take()
  printError('four')
  expect(take()).toBe(`${ERASE}four\n`)
})

test('elsewhere, progress is a line after five seconds, and then at doubling intervals', () => {
  const { take } = watchStream('stderr', { isTTY: false })
  const { update, end } = createProgress('copied', 'pages')
  const linesAt = (times: readonly number[]) =>
    times.map((ms, i) => {
      vi.advanceTimersByTime(ms - (times[i - 1] ?? 0))
      update(ms / 10, ms / 100_000)
      return take()
    })
  expect(linesAt([4_990, 5_000, 9_990, 10_000, 19_990, 20_000])).toEqual([
    '',
    '500 pages copied (5 %), 100 per second\n',
    '',
    '1,000 pages copied (10 %), 100 per second\n',
    '',
    '2,000 pages copied (20 %), 100 per second\n',
  ])
  end()
  expect(take()).toBe('')
})
