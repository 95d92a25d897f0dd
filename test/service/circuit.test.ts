import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { type Circuit, createCircuit } from '../../src/service/circuit.ts'

const WINDOW_MS = 10_000
/** So many calls, half of which fail, open it. */
const LEAST_CALLS = 20

let circuit: Circuit

beforeEach(() => {
  // Ten seconds pass when the test says so; nothing here does I/O.
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  circuit = createCircuit()
})

/** Makes so many calls, all of which the service answers with a status. */
async function answer(status: number, times: number) {
  for (let i = 0; i < times; i += 1) await circuit(async () => ({ status, headers: {}, body: Buffer.alloc(0) }))
}
const isOpen = () =>
  answer(200, 1).then(
    () => false,
    (error: unknown) => {
      expect(error).toMatchObject({ code: 'circuit-open' })
      return true
    },
  )

test('failures of one window open the circuit, however far apart', async () => {
  await answer(502, LEAST_CALLS - 1)
  vi.advanceTimersByTime(WINDOW_MS)
  await answer(502, 1)
  expect(await isOpen()).toBe(true)
})

test('failures of the window before are forgotten', async () => {
  await answer(502, LEAST_CALLS - 1)
  vi.advanceTimersByTime(WINDOW_MS + 1)
  await answer(502, 1)
  expect(await isOpen()).toBe(false)
})

test('what went well in the window before makes up for nothing', async () => {
  await answer(200, 100 * LEAST_CALLS)
  vi.advanceTimersByTime(WINDOW_MS + 1)
  await answer(502, LEAST_CALLS)
  expect(await isOpen()).toBe(true)
})
