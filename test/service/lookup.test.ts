/** Promise: names are looked up once for many calls (contract, section 9). */

import { ADDRCONFIG } from 'node:dns'
import type { LookupFunction } from 'node:net'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { createNames, createUpstream } from '../../src/service/upstream.ts'
import { openService } from '../http/service.ts'

const NAME = 'service.example'
const FRESH_MS = 5_000
const USABLE_MS = 30_000

type Answer = Parameters<LookupFunction>[2]
let questions: Answer[]
const lookup: LookupFunction = (_name, _options, done) => void questions.push(done)

beforeEach(() => {
  questions = []
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
})

/** Asks as a connection does. */
function ask({ lookup: find }: ReturnType<typeof createNames>, options: Parameters<LookupFunction>[1] = { all: true }) {
  return new Promise((resolve, reject) => {
    find(NAME, options, (error, address, family) =>
      error ? reject(error) : resolve(family ? [address, family] : address),
    )
  })
}
const four = (address: string) => ({ address, family: 4 })
const six = (address: string) => ({ address, family: 6 })
const answer = (...addresses: readonly { address: string; family: number }[]) =>
  questions.shift()?.(null, [...addresses])
const fail = (code: string) => questions.shift()?.(Object.assign(new Error(code), { code }), '')

test('one question is asked for a hundred connections, and none for those of the next seconds', async () => {
  const names = createNames({ freshMs: FRESH_MS, usableMs: USABLE_MS, lookup })
  const all = Promise.all(Array.from({ length: 100 }, () => ask(names)))
  expect([questions.length, names.isPending(NAME)]).toEqual([1, true])
  answer(four('192.0.2.1'))
  expect(new Set((await all).map((found) => JSON.stringify(found)))).toEqual(
    new Set([JSON.stringify([four('192.0.2.1')])]),
  )
  vi.advanceTimersByTime(FRESH_MS)
  await ask(names)
  expect([questions.length, names.isPending(NAME)]).toEqual([0, false])
})

test('an address that is no longer fresh is used while it is asked for again, but not for long', async () => {
  const names = createNames({ freshMs: FRESH_MS, usableMs: USABLE_MS, lookup })
  const first = ask(names)
  answer(four('192.0.2.1'))
  await first
  vi.advanceTimersByTime(FRESH_MS + 1)
  expect(await ask(names)).toEqual([four('192.0.2.1')])
  expect(questions).toHaveLength(1)
  answer(four('192.0.2.2'))
  expect(await ask(names)).toEqual([four('192.0.2.2')])
  vi.advanceTimersByTime(USABLE_MS)
  expect(await ask(names)).toEqual([four('192.0.2.2')])
  fail('EAI_AGAIN')
  vi.advanceTimersByTime(1)
  const late = ask(names)
  answer(four('192.0.2.3'))
  expect(await late).toEqual([four('192.0.2.3')])
})

test('a failure reaches all that wait, and is not cached', async () => {
  const names = createNames({ freshMs: FRESH_MS, usableMs: USABLE_MS, lookup })
  const both = Promise.allSettled([ask(names), ask(names)])
  fail('ENOTFOUND')
  expect((await both).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  const next = ask(names)
  answer(four('192.0.2.1'))
  expect(await next).toEqual([four('192.0.2.1')])
})

test('one address, or the addresses of one family, can be requested', async () => {
  const names = createNames({ freshMs: FRESH_MS, usableMs: USABLE_MS, lookup })
  const first = ask(names, {})
  answer(six('2001:db8::1'), four('192.0.2.1'))
  expect(await first).toEqual(['2001:db8::1', 6])
  expect(await ask(names, { family: 4 })).toEqual(['192.0.2.1', 4])
  expect(await ask(names, { family: 'IPv6', all: true })).toEqual([six('2001:db8::1')])
  expect(await ask(names, { family: 'IPv4', all: true })).toEqual([four('192.0.2.1')])
  expect(await ask(names, { family: 0, all: true })).toEqual([six('2001:db8::1'), four('192.0.2.1')])
  const none = ask(createNames({ freshMs: 1, usableMs: 1, lookup }), { family: 6 })
  answer(four('192.0.2.1'))
  await expect(none).rejects.toMatchObject({ code: 'ENOTFOUND', message: `${NAME} has no such address` })
})

test('the system is asked for all addresses that the machine can reach, and may answer with one', async () => {
  const asked: unknown[] = []
  const one: LookupFunction = (name, options, done) => {
    asked.push([name, options])
    if (asked.length === 1) done(null, '192.0.2.1', 4)
    else done(null, '192.0.2.1')
  }
  expect(await ask(createNames({ freshMs: FRESH_MS, usableMs: USABLE_MS, lookup: one }))).toEqual([four('192.0.2.1')])
  expect(asked).toEqual([[NAME, { all: true, hints: ADDRCONFIG }]])
  expect(await ask(createNames({ freshMs: FRESH_MS, usableMs: USABLE_MS, lookup: one }))).toEqual([
    { address: '192.0.2.1', family: 0 },
  ])
})

test.each([
  ['ECONNREFUSED', 'unsent', false],
  ['ENOTFOUND', 'unsent', false],
  ['EAI_AGAIN', 'unsent', true],
  ['EMFILE', 'busy', true],
  ['ENFILE', 'busy', true],
  ['EADDRNOTAVAIL', 'busy', true],
])('a connection that fails with %s is %s, and the fault of the gateway: %s', async (code, silence, isOurs) => {
  vi.useRealTimers()
  const upstream = createUpstream({ connections: 1, timeoutMs: 5_000, lookup })
  onTestFinished(() => upstream.close())
  for (const pool of ['one', undefined]) {
    const request = {
      method: 'GET',
      path: '/',
      headers: {},
      body: undefined,
      deadline: performance.now() + 5_000,
    } as const
    const call = upstream.call({ ...request, origin: `http://${NAME}`, pool })
    while (questions.length === 0) await new Promise((resolve) => setImmediate(resolve))
    fail(code)
    await expect(call).rejects.toMatchObject({ silence, isOurs })
  }
})

test('a call whose name is not found in time is no sign of a failing service', async () => {
  vi.useRealTimers()
  const upstream = createUpstream({ connections: 1, timeoutMs: 100, lookup })
  onTestFinished(() => upstream.close())
  for (const pool of ['one', undefined]) {
    const request = {
      method: 'GET',
      path: '/',
      headers: {},
      body: undefined,
      deadline: performance.now() + 100,
    } as const
    await expect(upstream.call({ ...request, origin: `http://${NAME}`, pool })).rejects.toMatchObject({
      silence: 'busy',
      isOurs: true,
    })
  }
})

test('calls without a pool have a connection each, which closes when they are over', async () => {
  vi.useRealTimers()
  const service = await openService((incoming, outgoing) => void incoming.resume().on('end', () => outgoing.end('{}')))
  const upstream = createUpstream({ connections: 1, timeoutMs: 5_000 })
  onTestFinished(() => upstream.close())
  const ask = () => {
    const request = {
      method: 'GET',
      path: '/',
      headers: {},
      body: undefined,
      deadline: performance.now() + 5_000,
    } as const
    return upstream.call({ ...request, origin: service.url, pool: undefined })
  }
  await Promise.all([ask(), ask(), ask()])
  const sockets = new Set(service.requests.map(({ socket }) => socket))
  expect(sockets.size).toBe(3)
  while ([...sockets].some((socket) => !socket.destroyed)) await new Promise((resolve) => setImmediate(resolve))
})
