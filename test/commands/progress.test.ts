/** Promise: long work shows its progress without flooding a log (contract, section 11). `test/debian` uses a terminal. */

import { expect, onTestFinished, test, vi } from 'vitest'
import { createProgress } from '../../src/operator/commands/output.ts'

test('without a terminal, progress is a line after five seconds, and then at doubling intervals', () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  const { stderr } = process
  const { isTTY } = stderr
  stderr.isTTY = false
  const written = vi.spyOn(stderr, 'write').mockReturnValue(true)
  onTestFinished(() => {
    written.mockRestore()
    stderr.isTTY = isTTY
    vi.useRealTimers()
  })
  const report = createProgress('copied', 'pages')
  for (const ms of [4_990, 10, 4_990, 10, 9_990, 10]) {
    vi.advanceTimersByTime(ms)
    report(performance.now() / 10, performance.now() / 100_000)
  }
  expect(written.mock.calls.map(([line]) => line)).toEqual([
    '500 pages copied (5 %), 100 per second\n',
    '1,000 pages copied (10 %), 100 per second\n',
    '2,000 pages copied (20 %), 100 per second\n',
  ])
})
