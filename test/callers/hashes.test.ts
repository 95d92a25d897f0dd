/** Promise: honest first calls get their turn at the slow hashes (contract, section 5). */

import { expect, test } from 'vitest'
import { hashSecret, matchesHash } from '../../src/edge/callers/hashes.ts'
import { parseSecretHash } from '../../src/language/config/tenants-file.ts'
import { PROGRAM, run } from '../command.ts'
import { basic, post } from '../gateway.ts'
import {
  as,
  atOnce,
  atService,
  clocks,
  counted,
  type Edge,
  named,
  openEdge,
  quote,
  slowHash,
  statuses,
  tenant,
} from './tenants-gateway.ts'

const PROXY = { TRUST_PROXY: '127.0.0.0/8' }
const from = (address: string) => ({ 'x-forwarded-for': address })
const openTwo = (env = {}) => openEdge(named(['acme', 'beta']), { env })
const guess = (i: number | string, id = 'acme-legacy') => ({ authorization: basic(id, `guess ${i}`) })

test('a hash is salted, slow and in the PHC form, and matches only its secret', async () => {
  const [one, other] = await Promise.all([hashSecret('s3cret'), hashSecret('s3cret')])
  expect(one).toMatch(/^\$scrypt\$ln=15,r=8,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/)
  expect(other).not.toBe(one)
  expect(parseSecretHash(one)).toBeDefined()
  const matching = ['s3cret', 's3cret ', ''].map((secret) => matchesHash(secret, one))
  expect(await Promise.all(matching)).toEqual([true, false, false])
  expect(await matchesHash('pässwörd 漢', await hashSecret('pässwörd 漢'))).toBe(true)
})

test('a secret in Latin-1 is hashed as a call in Latin-1 means it', async () => {
  const { out } = await run(process.execPath, [PROGRAM, 'tenants', 'hash'], {
    input: Buffer.from('p\xe4ss\n', 'latin1'),
  })
  expect(await matchesHash('päss', out.trim())).toBe(true)
})

test('two hundred tenants at once, each for the first time, are not confused', async () => {
  const names = Array.from({ length: 200 }, (_, i) => `tenant-${i}`)
  const edge = await openEdge(named(names))
  expect(statuses(await Promise.all(names.map((name) => quote(edge, as(name)))))).toEqual({ 200: 200 })
  expect(edge.sandbox.requests.map(({ headers }) => headers.authorization).sort()).toEqual(names.map(atService).sort())
})

/** Guesses at one id, each time with another secret; counts the statuses. */
async function guessAt(edge: Edge, count: number, headers = {}) {
  const answers = []
  for (let i = 0; i < count; i += 1) answers.push(await quote(edge, { ...guess(crypto.randomUUID()), ...headers }))
  return statuses(answers)
}

test('ten wrong secrets a minute are checked; the minute begins with the first, and no other prolongs it', async () => {
  const { pass } = clocks()
  const edge = await openTwo()
  /** A verified credential keeps working. */
  const later = async (ms: number) => {
    pass(ms)
    expect((await quote(edge, as('acme'))).status).toBe(200)
  }
  await later(0)
  expect(await guessAt(edge, 9)).toEqual({ 401: 9 })
  await later(58_000)
  expect(await guessAt(edge, 5)).toEqual({ 401: 1, 429: 4 })
  const throttled = await quote(edge, guess('more'))
  expect([throttled.headers.get('retry-after'), throttled.json.Message]).toEqual(['60', expect.stringMatching(/wait/)])
  expect((await post(edge, '/dry-run/getShippingQuote.php', {}, guess('more'))).status).toBe(429)
  // Another tenant at the same address.
  expect((await quote(edge, as('beta'))).status).toBe(200)
  await later(3_000)
  expect(await guessAt(edge, 11)).toEqual({ 401: 10, 429: 1 })
})

test('an old secret that is sent again and again is one guess, and the right one is not a guess', async () => {
  const edge = await openTwo()
  for (let i = 0; i < 30; i += 1) expect((await quote(edge, guess('old'))).status).toBe(401)
  expect(await guessAt(edge, 8)).toEqual({ 401: 8 })
  expect((await quote(edge, as('acme'))).status).toBe(200)
  expect(await guessAt(edge, 2)).toEqual({ 401: 1, 429: 1 })
})

test('guesses from one address lock out no other address', async () => {
  const edge = await openTwo(PROXY)
  const [bad, good] = [from('198.51.100.1'), from('192.0.2.1')]
  expect(await guessAt(edge, 11, bad)).toEqual({ 401: 10, 429: 1 })
  // A credential that is not verified yet costs a check, which would be one guess too many.
  expect((await quote(edge, { ...as('acme'), ...bad })).status).toBe(429)
  expect((await quote(edge, { ...as('acme'), ...good })).status).toBe(200)
  // A verified credential is accepted from every address.
  expect((await quote(edge, { ...as('acme'), ...bad })).status).toBe(200)
})

test('made-up ids do not give free guesses', async () => {
  const edge = await openTwo(PROXY)
  // Many guesses at once do not get around the limit.
  expect(statuses(await atOnce(40, (i) => quote(edge, guess(i))))).toEqual({ 401: 10, 429: 30 })
  const guesses = await atOnce(40, (i) => quote(edge, { ...guess(i, `id-${i}`), ...from('198.51.100.1') }))
  expect(statuses(guesses)).toEqual({ 401: 20, 429: 20 })
  expect((await quote(edge, { ...guess('known'), ...from('198.51.100.1') })).status).toBe(429)
  expect((await quote(edge, { ...guess('known'), ...from('2001:db8::1') })).status).toBe(401)
  expect((await quote(edge, { ...as('acme'), ...from('192.0.2.1') })).status).toBe(200)
})

test('a new credential waits for at most a turn of each other source, and a verified one does not wait', async () => {
  const hash = slowHash('acme-legacy-secret')
  const edge = await openEdge(
    (place) => [
      tenant(place, 'acme', { credentials: [{ id: 'acme-legacy', secret_hash: hash }] }),
      tenant(place, 'beta'),
    ],
    { env: PROXY },
  )
  expect((await quote(edge, as('beta'))).status).toBe(200)
  let refused = 0
  const queued = Promise.withResolvers<void>()
  const strangers = atOnce(40, async (i) => {
    const { status } = await quote(edge, { ...guess(i, `id-${i}`), ...from(`198.51.100.${i % 3}`) })
    refused += 1
    if (refused === 10) queued.resolve()
    return status
  })
  await queued.promise
  // By arrival, the new one would be last, but sources that sent wrong secrets come after it.
  for (const headers of [as('beta'), { ...as('acme'), ...from('192.0.2.1') }]) {
    expect((await quote(edge, headers)).status).toBe(200)
    expect(refused).toBeLessThan(36)
  }
  expect(counted(await strangers)).toEqual({ 401: 40 })
}, 30_000)
