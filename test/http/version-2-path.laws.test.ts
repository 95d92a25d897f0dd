/** Promise: a path that is passed through stays below /v2/ in every reading (contract, section 1). */

import { posix, win32 } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { OWN, startGateway } from '../gateway.ts'
import { runs } from '../size.ts'
import { openService } from './service.ts'
import { send } from './wire.ts'

const RUNS = runs(400, 20_000)
const NIGHT_MS = 3_600_000

/** Decodes what is an escape and leaves the rest. */
const lenient = (path: string) =>
  path.replace(/%([\da-f]{2})/gi, (_all, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))

const untilStable = (path: string): string => {
  const next = lenient(path)
  return next === path ? path : untilStable(next)
}

/** RFC 3986, 5.2.4, over any separator. */
function resolved(path: string, separator: RegExp = /\//): string {
  const kept: string[] = []
  for (const segment of path.split(separator).slice(1)) {
    if (segment === '..') kept.pop()
    else if (segment !== '.') kept.push(segment)
  }
  return `/${kept.join('/')}`
}

const withoutParameters = (path: string) => path.replace(/;[^/\\]*/g, '')
const oneSlash = (path: string) => path.replace(/[\\/]+/g, '/')

/** The normalizations of paths by servers, proxies and libraries. */
const NORMALIZERS: Readonly<Record<string, (path: string) => string>> = {
  'no decoding': resolved,
  'decoded once': (path) => resolved(lenient(path)),
  'decoded twice': (path) => resolved(lenient(lenient(path))),
  'decoded until nothing changes': (path) => resolved(untilStable(path)),
  'resolved, decoded, resolved': (path) => resolved(lenient(resolved(path))),
  'backslashes are slashes': (path) => resolved(lenient(path), /[\\/]/),
  'parameters are cut off first': (path) => resolved(withoutParameters(lenient(path))),
  'parameters are cut off, then decoded': (path) => resolved(lenient(withoutParameters(path)), /[\\/]/),
  'slashes are merged first': (path) => resolved(oneSlash(untilStable(path))),
  'a URL': (path) => new URL(`http://service.example${path}`).pathname,
  'a URL, decoded, a URL': (path) =>
    new URL(`http://service.example${lenient(new URL(`http://service.example${path}`).pathname)}`).pathname,
  'node:path, POSIX': (path) => posix.normalize(untilStable(path)),
  'node:path, Windows': (path) => win32.normalize(untilStable(path)).replaceAll('\\', '/'),
  'compatible characters': (path) =>
    resolved(Buffer.from(untilStable(path), 'latin1').toString('utf8').normalize('NFKC')),
  'what is after a question mark is a query': (path) => resolved(untilStable(path).split('?')[0] ?? ''),
  'what is after a number sign is a fragment': (path) => resolved(untilStable(path).split('#')[0] ?? ''),
}

const encoded = (text: string) => text.replace(/./g, (one) => `%${one.charCodeAt(0).toString(16).padStart(2, '0')}`)

/** Parts of paths that servers read differently. */
const piece = fc.oneof(
  fc.constantFrom('/', '//', '..', '.', '%2f', '%2F', '%5c', '\\', ';', '..;', ';a=b', '#', '%23', '%3f', '%3b'),
  fc.constantFrom('%2e', '%2E', '%2e%2e', '.%2e', '%252e', '%25252e', '%252f', '%255c', '%25', '%', '2e', '5c'),
  fc.constantFrom('%00', '%2500', '%0a', '%7f', '%09', '%c0%ae', '%25c0%25ae', '%25c0%25af', '%u002e', '%25u002e'),
  fc.constantFrom('%ef%bc%8e', '%ef%bc%8f', '%25ef%25bc%258e', '%20', '%a0', '%E2%80%A5', '%ff', '%c3%28', '%e2%82'),
  fc.constantFrom('%ed%a0%80', '%e0%80%80', '%f4%90%80%80', '%2', '%zz', '%-1', '%+2', '%25zz', '%c2%85', '%e2%80%a8'),
  fc.constantFrom('a', 'v2', '...', '..a', 'a..', '1.5', ':', '@', '~', "!$&'()*+,=", '?why=%zz'),
  fc.constantFrom('shipments', 'shipment', 'quote', 'approve', '/shipments/', '/quote/', '/approve'),
  fc.constantFrom('/', '..', '.', '%2f').map(encoded),
)
const prefix = fc.constantFrom(
  '/v2/',
  '/v2/shipments/',
  '/v2/quote/',
  '/v2',
  '/%762/',
  '/v%32/',
  '/v2%2f',
  '/v2\\',
  '/',
)
const anyPath = fc.tuple(prefix, fc.array(piece, { maxLength: 8 })).map(([begin, pieces]) => begin + pieces.join(''))
const method = fc.constantFrom('GET', 'POST', 'PUT', 'DELETE')

/** Opens a gateway; returns what a request is answered with, and the target that reaches the service. */
async function open() {
  const service = await openService((incoming, outgoing) => void incoming.resume().on('end', () => outgoing.end('{}')))
  const gateway = await startGateway({ env: OWN, serviceUrl: service.url })
  return async (target: string, by = 'GET') => {
    const before = service.requests.length
    const head = `${by} ${target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 2\r\n\r\n`
    const { status } = await send(gateway, `${head}{}`)
    return { status, reached: service.requests[before]?.url }
  }
}

test('a path that is passed through is below /v2/ in every reading, and no path is a fault of the gateway', {
  timeout: NIGHT_MS,
}, async () => {
  const ask = await open()
  const below = (path: string) => /^\/v2(\/|$)/.test(lenient(path))
  let passed = 0
  const law = fc.asyncProperty(method, anyPath, async (by, target) => {
    const { status, reached } = await ask(target, by)
    expect(status, target).toBeLessThan(500)
    if (reached === undefined) return
    passed += 1
    expect(reached).toBe(target)
    const [path = ''] = target.split('?', 1)
    for (const [name, normalize] of Object.entries(NORMALIZERS)) {
      expect(below(normalize(path)), `${path}, ${name}`).toBe(true)
    }
  })
  await fc.assert(law, { numRuns: RUNS })
  expect(passed).toBeGreaterThan(RUNS / 20)
})

test('these are refused', async () => {
  const ask = await open()
  const targets = [
    '/v2/..',
    '/v2/.',
    '/v2/../x',
    '/v2/a/../b',
    '/v2/./a',
    '/v2/a%2fb/../../x',
    '/v2/a%5cb/../../x',
    '/v2//..',
    '/v2//../x',
    '/v2/a//../x',
    '/v2/..;/x',
    '/v2/..;a=b',
    '/v2/.;',
    '/v2/..%3b/x',
    '/v2/%2e%2e%3bx/x',
    '/v2/%2e%2e/x',
    '/v2/.%2E/x',
    '/v2/%252e%252e/x',
    '/v2/%25252e%25252e/x',
    '/v2/a%2f..%2f..%2fx',
    '/v2/a%252f..%252f..%252fx',
    '/v2/a%5c..%5c..%5cx',
    '/v2/a%255c..%255c..%255cx',
    '/v2/%%32%65%%32%65/x',
    '/v2/..%3fx',
    '/v2/..%23x',
    '/v2/..%20/x',
    '/v2/%20../x',
    '/v2/%00',
    '/v2/a%0ab',
    '/v2/a%250ab',
    '/v2/a%c2%85b',
    '/v2/a%25c2%2585b',
    '/v2/%7f',
    '/v2/#',
    '/v2/a#/../b',
    '/v2/%25c0%25ae%25c0%25ae/x',
    '/v2/%25u002e%25u002e/x',
    '/v2/%ef%bc%8e%ef%bc%8e/x',
    '/v2/%e2%80%a5/x',
    '/v2%2fx',
    '/v2%2f..%2fx',
    // Decoded level by level, this is 3,500 passes over it.
    `/v2/%${'25'.repeat(3_500)}2e%${'25'.repeat(3_500)}2e`,
  ]
  for (const target of targets) expect([target, await ask(target)]).toEqual([target, { status: 400 }])
})

test('these are passed through', async () => {
  const ask = await open()
  const targets = [
    '/v2/',
    '/v2/shipments',
    '/v2//shipments',
    '/v2/a//b',
    '/v2/...',
    '/v2/..a/b..',
    '/v2/.well-known',
    '/v2/TL-1.5',
    '/v2/a%2fb',
    '/v2/a%20b',
    '/v2/50%25',
    '/v2/%C3%A4',
    '/v2/a;b=c',
    '/v2/;a',
    '/%762/x',
    '/v2/x?a=/../b',
    '/v2/x?a=%00#..',
    `/v2/%${'25'.repeat(7_000)}41`,
  ]
  for (const target of targets) expect(await ask(target)).toEqual({ status: 200, reached: target })
})
