/** Promise: a path that is passed through stays below /v2/ in every reading (contract, section 1). */

import { posix, win32 } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { OWN, startGateway } from '../gateway.ts'
import { runs } from '../size.ts'
import paths from './paths.json' with { type: 'json' }
import { openService } from './service.ts'
import { send } from './wire.ts'

const { version2 } = paths
const RUNS = runs(400, 20_000)
const NIGHT_MS = 3_600_000

/** Decodes valid escapes and leaves the rest. */
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
  { arbitrary: fc.constantFrom(...version2.pieces), weight: 9 },
  fc.constantFrom('/', '..', '.', '%2f').map(encoded),
)
const prefix = fc.constantFrom(...version2.prefixes)
const anyPath = fc.tuple(prefix, fc.array(piece, { maxLength: 8 })).map(([begin, pieces]) => begin + pieces.join(''))
const method = fc.constantFrom('GET', 'POST', 'PUT', 'DELETE')

/** Opens a gateway; returns the answer to a request, and the target that reaches the service. */
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

test('a path that is passed through is below /v2/ in every reading, and no path makes the gateway fail', {
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
  // Decoding the last one level by level takes 3,500 passes over it.
  const level = '25'.repeat(3_500)
  for (const target of [...version2.refused, `/v2/%${level}2e%${level}2e`]) {
    expect([target, await ask(target)]).toEqual([target, { status: 400 }])
  }
})

test('these are passed through', async () => {
  const ask = await open()
  for (const target of [...version2.passed, `/v2/%${'25'.repeat(7_000)}41`]) {
    expect(await ask(target)).toEqual({ status: 200, reached: target })
  }
})
