import { expect, onTestFinished, test, vi } from 'vitest'
import { NOTHING_FOUND } from '../../src/calls/look-up.ts'
import { planCall } from '../../src/calls/plan.ts'
import type { ShadowedCall } from '../../src/calls/shadowed-call.ts'
import { readConfig } from '../../src/config/config.ts'
import { openUpstream } from '../../src/service/open.ts'
import { startShadow } from '../../src/shadow/shadow.ts'
import { createMemoryStore } from '../../src/store/memory.ts'
import { startPair } from './service-pair.ts'

/** Starts a shadow of half of the calls, which chooses by these numbers, and returns what it does. */
async function startHalf(numbers: readonly number[]) {
  const { sandbox, deps, sending, quote, read } = await startPair()
  const upstream = openUpstream(readConfig({ V2_BASE_URL: sandbox.url }))
  const left = [...numbers]
  let closed = 0
  const shadow = startShadow({
    store: createMemoryStore(),
    instance: 'test',
    keptDays: 1,
    onFirst: () => undefined,
    onError: () => undefined,
    share: 0.5,
    perSecond: 1_000,
    nativePath: '/',
    service: deps.service,
    upstream: {
      ...upstream,
      close: async () => {
        closed += 1
        await upstream.close()
      },
    },
    timeoutMs: 10_000,
    random: () => left.shift() ?? 1,
  })
  onTestFinished(() => shadow.close())
  const { account } = sending()
  const shadowed = (request = quote(), more: object = {}): ShadowedCall => ({
    plan: { ...planCall(request, NOTHING_FOUND, deps.settings), ...more },
    answer: '{}',
    tenant: 'demo',
    account,
    requestId: 'test',
  })
  /** Returns the work that follows a call; undefined if it is not chosen. */
  const noted = (call: ShadowedCall) => {
    const live: { afterwards: (() => void) | undefined } = { afterwards: undefined }
    shadow.note(live as Parameters<typeof shadow.note>[0], call)
    return live.afterwards
  }
  const counted = async () => {
    const all = await Promise.all(shadow.metrics.map(async ({ get }) => Object(await get()).values))
    return all.flat().reduce((sum: number, { value }: { value: number }) => sum + value, 0)
  }
  return { shadow, sandbox, shadowed, noted, counted, read, closed: () => closed }
}

test('the share decides which calls are compared, and calls that go natively are not', async () => {
  const { shadowed, noted, read } = await startHalf([0.5, 0.49, 0, 0, 0])
  expect(noted(shadowed())).toBeUndefined()
  expect(noted(shadowed())).toBeInstanceOf(Function)
  expect(noted(shadowed(read('x')))).toBeInstanceOf(Function)
  expect(noted(shadowed(undefined, { isNative: true }))).toBeUndefined()
})

test.each(['stop', 'close'] as const)('after %s, no call is compared any more, nor counted', async (end) => {
  const { shadow, sandbox, shadowed, noted, counted, closed } = await startHalf([0, 0])
  const afterwards = [noted(shadowed()), noted(shadowed())]
  await shadow[end]()
  for (const work of afterwards) work?.()
  expect(closed()).toBe(end === 'close' ? 1 : 0)
  await new Promise(setImmediate)
  // It waits for what has begun.
  await shadow.close()
  expect(await counted()).toBe(0)
  expect(sandbox.requests).toEqual([])
})

test('what waits is dropped once it is stopped, and what has begun is not', async () => {
  const { shadow, sandbox, shadowed, noted, counted } = await startHalf(Array(10).fill(0))
  sandbox.fail({ kind: 'delay', ms: 30, times: 4 })
  const asked = sandbox.next()
  for (let i = 0; i < 10; i += 1) noted(shadowed())?.()
  await asked
  shadow.stop()
  await vi.waitFor(async () => expect(await counted()).toBeGreaterThanOrEqual(4))
  await shadow.close()
  const { length } = sandbox.requests
  expect(length).toBeGreaterThanOrEqual(4)
  expect(length).toBeLessThanOrEqual(8)
})
