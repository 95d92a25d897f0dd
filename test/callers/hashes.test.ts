import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { hashSecret, matchesHash } from '../../src/callers/tenants.ts'
import { parseSecretHash } from '../../src/config/tenants-file.ts'
import { basic, post } from '../gateway.ts'
import { as, atOnce, cheapHash, clocks, counted, openEdge, quote, slowHash, tenant, writeTenants } from './edge.ts'

/** The CPU time of one call, in milliseconds: a slow hash shows in it, even on a busy machine. */
async function costOf(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

test('a hash is salted, slow and in the PHC form, and matches its secret alone', async () => {
  const [one, other] = await Promise.all([hashSecret('s3cret'), hashSecret('s3cret')])
  expect(one).toMatch(/^\$scrypt\$ln=15,r=8,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/)
  expect(other).not.toBe(one)
  expect(parseSecretHash(one)).toBeDefined()
  expect(await matchesHash('s3cret', one)).toBe(true)
  expect(await matchesHash('s3cret ', one)).toBe(false)
  expect(await matchesHash('', one)).toBe(false)
  expect(await matchesHash('pässwörd 漢', await hashSecret('pässwörd 漢'))).toBe(true)
})

test.each([
  's3cret',
  '',
  '$scrypt$ln=18,r=8,p=1$c2FsdHNhbHQx$aGFzaGhhc2hoYXNoaGFzaA',
  '$scrypt$ln=0,r=8,p=1$c2FsdHNhbHQx$aGFzaGhhc2hoYXNoaGFzaA',
  '$scrypt$ln=15,r=64,p=1$c2FsdHNhbHQx$aGFzaGhhc2hoYXNoaGFzaA',
  '$2b$10$abcdefghijklmnopqrstuuAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
])('what is no hash, or costs more than a gateway can bear, is none: %s', (text) => {
  expect(parseSecretHash(text)).toBeUndefined()
})

test('a slow hash is made once: the calls after it cost next to nothing', async () => {
  const hash = slowHash('acme-legacy-secret')
  const declare = (place: string) => [
    tenant(place, 'acme', { credentials: [{ id: 'acme-legacy', secret_hash: hash }] }),
  ]
  const edge = await openEdge(declare)
  const known = await openEdge((place) => [tenant(place, 'acme')])
  await quote(known, as('acme'))
  const slow = await costOf(() => matchesHash('acme-legacy-secret', hash))
  await quote(edge, as('acme'))
  const calls = async () => {
    for (let i = 0; i < 20; i += 1) expect((await quote(edge, as('acme'))).status).toBe(200)
  }
  // The first calls cost the compilation of what they run.
  await calls()
  // With a hash for each, twenty calls would cost twenty hashes.
  expect(await costOf(calls)).toBeLessThan(10 * slow)
})

test('fifty first calls at once with one credential are all let in, for one hash', async () => {
  const hash = slowHash('acme-legacy-secret')
  const edge = await openEdge((place) => [
    tenant(place, 'acme', { credentials: [{ id: 'acme-legacy', secret_hash: hash }] }),
  ])
  const slow = await costOf(() => matchesHash('acme-legacy-secret', hash))
  let answers: readonly { readonly status: number }[] = []
  const cost = await costOf(async () => {
    answers = await atOnce(50, () => quote(edge, as('acme')))
  })
  expect(counted(answers.map(({ status }) => status))).toEqual({ 200: 50 })
  expect(cost).toBeLessThan(25 * slow)
})

test('fifty tenants at once, each for the first time, are each themselves', async () => {
  const names = Array.from({ length: 50 }, (_, i) => `tenant-${i}`)
  const edge = await openEdge((place) => names.map((name) => tenant(place, name)))
  const answers = await atOnce(100, (i) => quote(edge, as(`tenant-${i % 50}`)))
  expect(counted(answers.map(({ status }) => status))).toEqual({ 200: 100 })
  const sent = counted(edge.sandbox.requests.map(({ headers }) => headers.authorization))
  expect(Object.keys(sent)).toHaveLength(50)
  expect(new Set(Object.values(sent))).toEqual(new Set([2]))
})

const guess = (i: number | string, id = 'acme-legacy') => ({ authorization: basic(id, `guess ${i}`) })

test('ten wrong secrets a minute are checked, and verified credentials work on', async () => {
  const { pass } = clocks()
  const edge = await openEdge((place) => [tenant(place, 'acme'), tenant(place, 'beta')])
  expect((await quote(edge, as('acme'))).status).toBe(200)
  for (let i = 0; i < 10; i += 1) expect((await quote(edge, guess(i))).status).toBe(401)
  const throttled = await quote(edge, guess(10))
  expect(throttled.status).toBe(429)
  expect(throttled.headers.get('retry-after')).toBe('60')
  expect(throttled.json).toEqual({
    Cost: '',
    ShipmentNumber: expect.any(String),
    Message: expect.stringMatching(/wait/),
  })
  expect((await post(edge, '/dry-run/getShippingQuote.php', {}, guess(11))).status).toBe(429)

  // A verified caller of the same tenant, and another tenant at the same address.
  expect((await quote(edge, as('acme'))).status).toBe(200)
  expect((await quote(edge, as('beta'))).status).toBe(200)
  pass(61_000)
  expect((await quote(edge, guess(12))).status).toBe(401)
})

test('guesses from one address lock out no other address', async () => {
  const edge = await openEdge((place) => [tenant(place, 'acme')], { env: { TRUST_PROXY: '127.0.0.0/8' } })
  const from = (address: string) => ({ 'x-forwarded-for': address })
  for (let i = 0; i < 10; i += 1) await quote(edge, { ...guess(i), ...from('198.51.100.1') })
  expect((await quote(edge, { ...guess('last'), ...from('198.51.100.1') })).status).toBe(429)
  // A credential that is not verified yet costs a check, which would be one guess too many.
  expect((await quote(edge, { ...as('acme'), ...from('198.51.100.1') })).status).toBe(429)
  expect((await quote(edge, { ...as('acme'), ...from('192.0.2.1') })).status).toBe(200)
  // A verified credential is accepted from every address.
  expect((await quote(edge, { ...as('acme'), ...from('198.51.100.1') })).status).toBe(200)
})

test('many guesses at once are no way around the limit', async () => {
  const edge = await openEdge((place) => [tenant(place, 'acme')])
  const answers = await atOnce(40, (i) => quote(edge, guess(i)))
  expect(counted(answers.map(({ status }) => status))).toEqual({ 401: 10, 429: 30 })
})

test('repeated use of one old secret uses no guesses of others', async () => {
  const edge = await openEdge((place) => [tenant(place, 'acme')])
  for (let i = 0; i < 30; i += 1) expect((await quote(edge, guess('old'))).status).toBe(401)
  expect((await quote(edge, as('acme'))).status).toBe(200)
})

test('an unknown id is refused like a known one: as slowly, with the same message, as often', async () => {
  const hash = slowHash('acme-legacy-secret')
  const edge = await openEdge((place) => [
    tenant(place, 'acme', { credentials: [{ id: 'acme-legacy', secret_hash: hash }] }),
  ])
  await quote(edge, guess('warm', 'warm'))
  const slow = await costOf(() => matchesHash('wrong', hash))
  let unknown = await quote(edge, guess('warm', 'warm'))
  let known = unknown
  const unknownCost = await costOf(async () => {
    for (let i = 0; i < 4; i += 1) unknown = await quote(edge, guess(i, 'nobody'))
  })
  const knownCost = await costOf(async () => {
    for (let i = 0; i < 4; i += 1) known = await quote(edge, guess(i))
  })
  expect(unknownCost).toBeGreaterThan(slow)
  expect(knownCost).toBeGreaterThan(slow)
  expect([unknown.status, unknown.text]).toEqual([known.status, known.text])
  const answers = await atOnce(40, (i) => quote(edge, guess(`at once ${i}`, 'no other')))
  expect(counted(answers.map(({ status }) => status))).toEqual({ 401: 10, 429: 30 })
}, 20_000)

const PROXY = { TRUST_PROXY: '127.0.0.0/8' }
const from = (address: string) => ({ 'x-forwarded-for': address })

test('ids that are made up are no free guesses', async () => {
  const edge = await openEdge((place) => [tenant(place, 'acme')], { env: PROXY })
  const guesses = await atOnce(40, (i) => quote(edge, { ...guess(i, `id-${i}`), ...from('198.51.100.1') }))
  expect(counted(guesses.map(({ status }) => status))).toEqual({ 401: 20, 429: 20 })
  expect((await quote(edge, { ...guess('known'), ...from('198.51.100.1') })).status).toBe(429)
  expect((await quote(edge, { ...guess('known'), ...from('2001:db8::1') })).status).toBe(401)
  // All addresses of one IPv6 network are one source.
  for (let i = 0; i < 19; i += 1) await quote(edge, { ...guess(i, `other-${i}`), ...from(`2001:db8::${i}`) })
  expect((await quote(edge, { ...guess('last', 'id'), ...from('2001:db8::99') })).status).toBe(429)
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
  const strangers = atOnce(30, async (i) => {
    const { status } = await quote(edge, { ...guess(i, `id-${i}`), ...from(`198.51.100.${i % 3}`) })
    refused += 1
    return status
  })
  while (refused === 0) expect((await quote(edge, as('beta'))).status).toBe(200)
  expect(refused).toBeLessThan(10)
  const before = refused
  expect((await quote(edge, { ...as('acme'), ...from('192.0.2.1') })).status).toBe(200)
  // In the order of arrival it would be the last. Sources that sent wrong secrets come after it.
  expect(refused - before).toBeLessThan(6)
  expect(counted(await strangers)).toEqual({ 401: 30 })
}, 30_000)

test('a caller that hangs up while it waits costs no hash', async () => {
  const hash = slowHash('acme-legacy-secret')
  const edge = await openEdge((place) => [
    tenant(place, 'acme', { credentials: [{ id: 'acme-legacy', secret_hash: hash }] }),
  ])
  const slow = await costOf(() => matchesHash('wrong', hash))
  const { hostname, port } = new URL(edge.url)
  const cost = await costOf(async () => {
    const strangers = await atOnce(15, async (i) => {
      const socket = connect(Number(port), hostname)
      await once(socket, 'connect')
      const { authorization } = guess(i, `id-${i}`)
      socket.write(`POST /getShippingQuote.php HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\n`)
      socket.write('Content-Length: 2\r\n\r\n{}')
      return socket
    })
    // When the first one is answered, the others wait.
    await Promise.race(strangers.map((socket) => once(socket, 'data')))
    for (const socket of strangers) socket.resetAndDestroy()
    const gone = () => edge.lines().filter(({ error }) => error === 'caller-gone').length
    while (gone() < 10) await quote(edge, { authorization: '' })
    expect((await quote(edge, as('acme'))).status).toBe(200)
  })
  expect(cost).toBeLessThan(8 * slow)
}, 20_000)

test('if ids have two secrets, an unknown id costs two hashes, too', async () => {
  const [old, fresh] = [slowHash('old'), slowHash('new')]
  const edge = await openEdge((place) => [
    tenant(place, 'acme', {
      credentials: [old, fresh].map((secret_hash) => ({ id: 'acme-legacy', secret_hash })),
    }),
  ])
  // The least of three: another program may have slowed one of them down.
  const costs: number[] = []
  for (let i = 0; i < 3; i += 1) costs.push(await costOf(() => matchesHash('wrong', old)))
  const slow = Math.min(...costs)
  const cost = await costOf(async () => {
    for (let i = 0; i < 4; i += 1) expect((await quote(edge, guess(i, 'nobody'))).status).toBe(401)
  })
  expect(cost).toBeGreaterThan(6 * slow)
  // Another tenant's secret is refused.
  expect((await quote(edge, { authorization: basic('nobody', 'old') })).status).toBe(401)
}, 20_000)

test('after a rotation, the new secret is accepted and the old one refused', async () => {
  const edge = await openEdge((place) => [tenant(place, 'acme'), tenant(place, 'beta')])
  const fresh = { authorization: basic('acme-legacy', 'new') }
  expect((await quote(edge, as('acme'))).status).toBe(200)
  expect((await quote(edge, as('beta'))).status).toBe(200)
  expect((await quote(edge, fresh)).status).toBe(401)
  const rotated = (...secrets: string[]) =>
    writeTenants(
      edge.path,
      tenant(edge.place, 'acme', {
        credentials: secrets.map((secret) => ({ id: 'acme-legacy', secret_hash: cheapHash(secret) })),
      }),
      tenant(edge.place, 'beta'),
    )
  const reread = () => {
    const before = edge.lines().filter(({ msg }) => msg === 'the tenants file was read again').length
    edge.hangUp()
    expect(edge.lines().filter(({ msg }) => msg === 'the tenants file was read again')).toHaveLength(before + 1)
  }
  rotated('acme-legacy-secret', 'new')
  reread()
  expect((await quote(edge, as('acme'))).status).toBe(200)
  expect((await quote(edge, fresh)).status).toBe(200)
  rotated('new')
  reread()
  expect((await quote(edge, as('acme'))).status).toBe(401)
  expect((await quote(edge, fresh)).status).toBe(200)
  expect((await quote(edge, as('beta'))).status).toBe(200)
})
