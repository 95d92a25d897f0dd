import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { type Circuit, createCircuit } from '../../src/service/circuit.ts'
import { NoReply } from '../../src/service/exchange.ts'

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

test('failures of one window open the circuit, with any distance between them', async () => {
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

test('successes of an earlier window do not count', async () => {
  await answer(200, 100 * LEAST_CALLS)
  vi.advanceTimersByTime(WINDOW_MS + 1)
  await answer(502, LEAST_CALLS)
  expect(await isOpen()).toBe(true)
})

test('calls that do not count neither open the circuit nor close it', async () => {
  for (let i = 0; i < 5 * LEAST_CALLS; i += 1) {
    await circuit(async () => ({ status: 502, headers: {}, body: Buffer.alloc(0) }), false)
  }
  expect(await isOpen()).toBe(false)
  // The look before was a call, too.
  await answer(502, LEAST_CALLS - 1)
  expect(await isOpen()).toBe(true)
  vi.advanceTimersByTime(WINDOW_MS)
  const well = async () => ({ status: 200, headers: {}, body: Buffer.alloc(0) })
  await expect(circuit(well, false)).rejects.toMatchObject({ code: 'circuit-open' })
  await circuit(well)
  await circuit(well, false)
  expect(await isOpen()).toBe(false)
})

test('a shortage of the gateway itself does not open the circuit', async () => {
  const lacks = [new NoReply('busy'), new NoReply('unsent', { isOurs: true }), new NoReply('late', { isOurs: true })]
  for (let i = 0; i < LEAST_CALLS; i += 1) {
    for (const lack of lacks) await expect(circuit(() => Promise.reject(lack))).rejects.toBe(lack)
  }
  expect(await isOpen()).toBe(false)
  for (let i = 0; i < LEAST_CALLS; i += 1) {
    await expect(circuit(() => Promise.reject(new NoReply('unsent')))).rejects.toThrow()
  }
  expect(await isOpen()).toBe(true)
})
