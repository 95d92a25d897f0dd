/** Promise: secrets cannot be guessed (contract, section 5). */

import type { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Caller } from '../../src/callers/caller.ts'
import { createVerification } from '../../src/callers/tenants.ts'
import { readConfig } from '../../src/config/config.ts'
import { cheapHash } from './edge.ts'

const WINDOW_MS = 60_000
const OF_ONE_ID = 10
const OF_ONE_SOURCE = 20

// A verification asks nothing of a caller.
const CALLER = { name: 'acme' } as unknown as Caller

// The windows of guesses are measured by this clock, which their cache reads anew after a timer of 1 ms.
let now = 0
beforeEach(() => {
  now = performance.now()
  vi.spyOn(performance, 'now').mockImplementation(() => now)
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
})
afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

/** Lets time pass. */
async function pass(ms: number): Promise<void> {
  now += ms
  await vi.advanceTimersByTimeAsync(ms)
}

/** Guesses at `id`, from one source; resolves with the outcome. */
function openGuesser() {
  const config = readConfig({ V2_BASE_URL: 'https://service.example.com' })
  const candidates = {
    has: () => true,
    fast: () => [],
    slow: (id: string) => [{ hash: cheapHash('right', `salt of ${id}`), caller: id === 'acme' ? CALLER : undefined }],
  }
  const verification = createVerification({ config }, () => candidates)
  // The caller never hangs up.
  const incoming = {
    socket: new Socket(),
    once: () => undefined,
    off: () => undefined,
  }
  let guesses = 0
  return async (id = 'acme', secret?: string) => {
    guesses += 1
    try {
      return (await verification.verify(
        { id, secret: secret ?? `wrong ${guesses}` },
        incoming as unknown as IncomingMessage,
        '192.0.2.1',
      ))
        ? 'right'
        : 'wrong'
    } catch (error) {
      return (error as { code?: string }).code
    }
  }
}

describe('guesses that come slowly', () => {
  test('have a window that begins with the first one, and that later ones do not prolong', async () => {
    const guess = openGuesser()
    for (let i = 0; i < OF_ONE_ID - 1; i += 1) expect(await guess()).toBe('wrong')
    await pass(WINDOW_MS - 1_000)
    expect(await guess()).toBe('wrong')
    expect(await guess()).toBe('too-many-calls')
    await pass(2_000)
    expect(await guess()).toBe('wrong')
  })

  test('are never refused as long as they stay below the limit of a window', async () => {
    const guess = openGuesser()
    for (let i = 0; i < 3 * OF_ONE_ID; i += 1) {
      expect(await guess()).toBe('wrong')
      await pass(WINDOW_MS / (OF_ONE_ID - 1) + 1)
    }
  })

  test('that are refused do not count: the window ends all the same', async () => {
    const guess = openGuesser()
    for (let i = 0; i < OF_ONE_ID; i += 1) await guess()
    for (let i = 0; i < 5; i += 1) {
      await pass(WINDOW_MS / 6)
      expect(await guess()).toBe('too-many-calls')
    }
    await pass(WINDOW_MS / 6 + 1)
    expect(await guess()).toBe('wrong')
  })

  test('at many ids have a limit together', async () => {
    const guess = openGuesser()
    for (let i = 0; i < OF_ONE_SOURCE; i += 1) expect(await guess(`id-${i}`)).toBe('wrong')
    expect(await guess('id-new')).toBe('too-many-calls')
    await pass(WINDOW_MS + 1)
    expect(await guess('id-new')).toBe('wrong')
  })

  test('with one old secret use one guess of a window', async () => {
    const guess = openGuesser()
    for (let i = 0; i < 3 * OF_ONE_SOURCE; i += 1) expect(await guess('acme', 'old')).toBe('wrong')
    for (let i = 0; i < OF_ONE_ID - 1; i += 1) expect(await guess()).toBe('wrong')
    expect(await guess()).toBe('too-many-calls')
  })
})

test('the right secret is no guess, and is let in until the guesses are used up', async () => {
  const guess = openGuesser()
  for (let i = 0; i < OF_ONE_ID - 1; i += 1) await guess()
  expect(await guess('acme', 'right')).toBe('right')
  expect(await guess()).toBe('wrong')
  expect(await guess()).toBe('too-many-calls')
  // A verified secret needs no hash, and therefore no guess.
  expect(await guess('acme', 'right')).toBe('right')
})
