/** Promise: a service that keeps failing is left alone (contract, section 9). */

import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { NoReply, type UpstreamReply } from '../../src/service/exchange.ts'
import { createCircuit } from '../../src/service/retries.ts'

const WINDOW_MS = 10_000
/** So many calls, half of which fail, open it. */
const LEAST_CALLS = 20

/** An open circuit lets one probe through after this time. */
const OPEN_MS = 5_000

let state: ReturnType<typeof createCircuit>
/** Each change of the state so far: true for open. */
let changes: boolean[]

beforeEach(() => {
  // Ten seconds pass when the test says so; nothing here does I/O.
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  changes = []
  state = createCircuit()
})

/** Makes a call, as the client of the service does. */
async function circuit(attempt: () => Promise<UpstreamReply>, counts = true): Promise<UpstreamReply> {
  const isProbe = state.admit(counts)
  const note = (outcome: UpstreamReply | NoReply) => {
    const before = state.isOpen()
    if (counts) state.note(outcome, isProbe)
    if (state.isOpen() !== before) changes.push(state.isOpen())
  }
  try {
    const reply = await attempt()
    note(reply)
    return reply
  } catch (error) {
    if (error instanceof NoReply) note(error)
    throw error
  }
}

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

test.each([
  [502, true],
  [503, true],
  [504, true],
  [500, false],
  [501, false],
  [429, false],
  [404, false],
])('answers %i are failures: %s', async (status, isFailure) => {
  await answer(status, LEAST_CALLS)
  expect(await isOpen()).toBe(isFailure)
  expect(changes).toEqual(isFailure ? [true] : [])
})

test('half of the calls must fail, of twenty at least', async () => {
  await answer(200, 11)
  await answer(502, 10)
  expect(changes).toEqual([])
  await answer(502, 1)
  expect(changes).toEqual([true])

  state = createCircuit()
  await answer(502, LEAST_CALLS - 1)
  await answer(200, 1)
  expect(await isOpen()).toBe(true)
})

describe('an open circuit', () => {
  const waits = () => circuit(() => expect.fail('it was asked')).catch(({ headers }) => headers['Retry-After'])

  test('refuses calls for five seconds, and says how long', async () => {
    await answer(502, LEAST_CALLS)
    const said: unknown[] = []
    for (const ms of [0, 999, 1, 2_901, 1_098]) {
      vi.advanceTimersByTime(ms)
      said.push(await waits())
    }
    // After 0, 999, 1000, 3901 and 4999 ms: one second at least.
    expect(said).toEqual(['5', '5', '4', '2', '1'])
    vi.advanceTimersByTime(1)
    await answer(200, 1)
    expect(changes).toEqual([true, false])
    expect(await isOpen()).toBe(false)
  })

  test('lets one probe through at a time, and another one if that never ends', async () => {
    await answer(502, LEAST_CALLS)
    vi.advanceTimersByTime(OPEN_MS)
    const probe = Promise.withResolvers<never>()
    const lost = circuit(() => probe.promise)
    expect(await isOpen()).toBe(true)
    vi.advanceTimersByTime(OPEN_MS - 1)
    expect(await isOpen()).toBe(true)
    vi.advanceTimersByTime(1)
    await answer(200, 1)
    expect(await isOpen()).toBe(false)
    probe.reject(new Error('over'))
    await expect(lost).rejects.toThrow('over')
  })

  test('stays open for five more seconds after a probe that fails, and tells it no more', async () => {
    await answer(502, LEAST_CALLS)
    vi.advanceTimersByTime(OPEN_MS)
    await answer(503, 1)
    vi.advanceTimersByTime(OPEN_MS - 1)
    expect(await isOpen()).toBe(true)
    vi.advanceTimersByTime(1)
    await expect(circuit(() => Promise.reject(new NoReply('lost')))).rejects.toThrow()
    expect(await isOpen()).toBe(true)
    expect(changes).toEqual([true])
  })

  test('counts anew once a probe has closed it', async () => {
    await answer(502, LEAST_CALLS)
    vi.advanceTimersByTime(OPEN_MS)
    await answer(200, 1)
    await answer(502, LEAST_CALLS - 1)
    expect(changes).toEqual([true, false])
    await answer(502, 1)
    expect(changes).toEqual([true, false, true])
  })

  test('learns nothing from calls that began before', async () => {
    const slow = Promise.withResolvers<UpstreamReply>()
    const calls = Array.from({ length: 2 * LEAST_CALLS }, () => circuit(() => slow.promise))
    await answer(502, LEAST_CALLS)
    slow.resolve({ status: 502, headers: {}, body: Buffer.alloc(0) })
    await Promise.all(calls)
    expect(changes).toEqual([true])
    vi.advanceTimersByTime(OPEN_MS)
    await answer(200, 1)
    expect(changes).toEqual([true, false])
  })
})

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

test('only the calls of one window are counted', async () => {
  await answer(502, LEAST_CALLS - 1)
  vi.advanceTimersByTime(WINDOW_MS + 1)
  await answer(502, LEAST_CALLS / 2 - 1)
  await answer(200, LEAST_CALLS / 2 + 1)
  expect(changes).toEqual([])
  vi.advanceTimersByTime(WINDOW_MS + 1)
  await answer(200, LEAST_CALLS / 2)
  await answer(502, LEAST_CALLS / 2)
  expect(changes).toEqual([true])
})

test('a reply is handed on, whether it counts or not', async () => {
  const reply = { status: 503, headers: {}, body: Buffer.alloc(0) }
  for (const counts of [true, false]) expect(await circuit(async () => reply, counts)).toBe(reply)
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
