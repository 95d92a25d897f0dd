import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { createLog } from '../../src/observe/log.ts'
import { forgetOldQuotes } from '../../src/pruning/forgetting.ts'
import { createNoteUse, type NoteUse } from '../../src/pruning/uses.ts'
import { StoreDown } from '../../src/store/store.ts'

const KEEP_MS = 1_000
const OLD = 0
const NOW = KEEP_MS / 2

let noted: string[]
let lines: Readonly<Record<string, unknown>>[]
let isDown: boolean
let noteUse: NoteUse
const log = () => createLog('info', { write: (line) => void lines.push(JSON.parse(line)) })

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  noted = []
  lines = []
  isDown = false
  const noteUses = async (tenant: string, names: readonly string[]) => {
    noted.push(`${tenant}: ${names.join(' ')}`)
    if (isDown) throw new StoreDown('The disk is full.')
  }
  noteUse = createNoteUse({ noteUses, now: () => NOW }, KEEP_MS, log())
})

test('the use of a name is noted from half of its time on', () => {
  noteUse('acme', OLD + 1, () => expect.fail('it is young'))
  expect(noted).toEqual([])
  noteUse('acme', OLD, () => ['R-1', 's-1'])
  expect(noted).toEqual(['acme: R-1 s-1'])
})

test('each name of a tenant is noted once', () => {
  for (const _ of [1, 2]) noteUse('acme', OLD, () => ['R-1'])
  noteUse('acme', OLD, () => ['R-1', 'R-2'])
  noteUse('zeta', OLD, () => ['R-1'])
  expect(noted).toEqual(['acme: R-1', 'acme: R-2', 'zeta: R-1'])
})

test('a note that the store refuses is logged', async () => {
  isDown = true
  noteUse('acme', OLD, () => ['R-1'])
  await vi.waitFor(() => expect(lines).toHaveLength(1))
  expect(lines[0]).toMatchObject({
    level: 'warn',
    msg: 'the use of old numbers could not be noted',
    err: { message: 'The disk is full.' },
  })
})

test('old quotes are forgotten every hour, until the gateway ends', async () => {
  const HOUR_MS = 3_600_000
  const asked: number[] = []
  const forget = async (olderThanMs: number) => {
    asked.push(olderThanMs)
    if (isDown) throw new StoreDown('The disk is full.')
    return 0
  }
  const stop = forgetOldQuotes({ now: Date.now, forget }, 7, log())
  await vi.advanceTimersByTimeAsync(HOUR_MS - 1)
  expect(asked).toEqual([])
  await vi.advanceTimersByTimeAsync(1)
  expect([asked, lines]).toEqual([[7], []])
  isDown = true
  await vi.advanceTimersByTimeAsync(HOUR_MS)
  expect(lines).toMatchObject([
    { level: 'warn', msg: 'old quotes could not be deleted', err: { message: 'The disk is full.' } },
  ])
  stop()
  await vi.advanceTimersByTimeAsync(3 * HOUR_MS)
  expect(asked).toHaveLength(2)
})
