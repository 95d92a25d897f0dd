/** Promise: the listener uses TLS as configured, and limits its connections (contract, section 11). */

import { copyFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ConnectionOptions } from 'node:tls'
import { describe, expect, onTestFinished, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { newFolder } from '../command.ts'
import { basic, metricsOf, startGateway, type TestGateway, type TestGatewayOptions } from '../gateway.ts'
import { CERTIFICATES, type Line, openLine, shaken, TLS } from './line.ts'

const ASK = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'

const startTls = (env: Readonly<Record<string, string>> = {}, timeouts: TestGatewayOptions['timeouts'] = {}) =>
  startGateway({ env: { ...TLS, ...env }, timeouts })

async function ask(gateway: TestGateway, options?: ConnectionOptions) {
  const socket = await shaken(gateway, options)
  const line = await openLine(gateway, socket)
  line.write(ASK)
  const [reply] = await line.replies(1)
  const seen = {
    status: reply?.status,
    protocol: socket.getProtocol(),
    subject: socket.getPeerCertificate().subject.CN,
  }
  line.hangUp()
  return seen
}

describe('TLS', () => {
  const VERSIONS = ['TLSv1', 'TLSv1.1', 'TLSv1.2', 'TLSv1.3'] as const
  test.each([
    ['1.3 or 1.2 by default, and nothing older', {}, ['TLSv1.2', 'TLSv1.3']],
    ['as old as TLS_MIN_VERSION says, with a warning', { TLS_MIN_VERSION: '1.0' }, VERSIONS],
    ['as new as TLS_MIN_VERSION says', { TLS_MIN_VERSION: '1.3' }, ['TLSv1.3']],
  ] as const)('is %s', async (_what, env, accepted) => {
    const gateway = await startTls(env)
    const spoken: string[] = []
    for (const version of VERSIONS) {
      const only = { minVersion: version, maxVersion: version, ciphers: 'DEFAULT@SECLEVEL=0' }
      const seen = await ask(gateway, only).catch(() => undefined)
      if (seen?.status === 200) spoken.push(String(seen.protocol))
    }
    expect(spoken).toEqual(accepted)
    const warnings = gateway.lines().filter(({ level, msg }) => level === 'warn' && /TLS 1\.0/.test(String(msg)))
    expect(warnings).toHaveLength(accepted === VERSIONS ? 1 : 0)
  })

  test('uses a new certificate when the files have changed, and the old one until then', async () => {
    const folder = newFolder('tls')
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const files = { TLS_CERT_FILE: join(folder, 'server.pem'), TLS_KEY_FILE: join(folder, 'server.key') }
    const put = (name: string) => {
      copyFileSync(join(CERTIFICATES, `${name}.key`), files.TLS_KEY_FILE)
      copyFileSync(join(CERTIFICATES, `${name}.pem`), files.TLS_CERT_FILE)
    }
    put('server')
    const gateway = await startTls(files, { certificateMs: 100 })
    const old = await openLine(gateway, await shaken(gateway))
    expect(await metricsOf(gateway)).toContain('transload_reload_success{file="certificate"} 1')
    writeFileSync(files.TLS_CERT_FILE, 'no certificate')
    expect(await gateway.logged(/new certificate is refused/)).toMatchObject({ level: 'error' })
    expect(await metricsOf(gateway)).toContain('transload_reload_success{file="certificate"} 0')
    expect((await ask(gateway)).subject).toBe('first.example')
    put('renewed')
    await gateway.logged(/was reloaded/)
    expect(await metricsOf(gateway)).toContain('transload_reload_success{file="certificate"} 1')
    expect((await ask(gateway)).subject).toBe('second.example')
    // Earlier connections stay open.
    old.write(ASK)
    expect((await old.replies(1)).map(({ status }) => status)).toEqual([200])
  })

  test('is required: other input closes its connection and harms no other caller', async () => {
    const gateway = await startTls({}, { headersMs: 1_000 })
    for (const bytes of [ASK, '\0\0\0\0', '\x16\x03\x01\xff\xff', 'x'.repeat(100_000)]) {
      const line = await openLine(gateway)
      line.write(bytes)
      line.end()
      // At most a TLS alert comes back, never a reply.
      await expect(line.closed()).resolves.toEqual([])
    }
    expect((await ask(gateway)).status).toBe(200)
  })

  test('answers a caller that closes its side after its request', async () => {
    const gateway = await startTls()
    gateway.sandbox.fail({ kind: 'delay', ms: 50, times: 'always' })
    const line = await openLine(gateway, await shaken(gateway))
    const body = JSON.stringify(bookingExample)
    const head = `POST /createShipment.php HTTP/1.1\r\nHost: x\r\nAuthorization: ${basic()}\r\n`
    line.write(`${head}Content-Length: ${body.length}\r\n\r\n${body}`)
    line.end()
    expect((await line.closed()).map(({ status }) => status)).toEqual([200])
  })
})

/** Opens this many connections, each of which has carried a call. */
const openLines = (gateway: TestGateway, count: number): Promise<Line[]> =>
  Promise.all(
    Array.from({ length: count }, async () => {
      const line = await openLine(gateway)
      line.write(ASK)
      expect(await line.replies(1)).toHaveLength(1)
      return line
    }),
  )
const isRefused = async (gateway: TestGateway) => (await (await openLine(gateway)).closed()).length === 0

test('SOURCE_CONNECTIONS is the most that one address may hold; a closed connection makes room', async () => {
  const gateway = await startGateway({ env: { SOURCE_CONNECTIONS: '3' }, proven: false })
  const [first, ...others] = await openLines(gateway, 3)
  expect(await isRefused(gateway)).toBe(true)
  first?.write(ASK.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'))
  expect(await first?.closed()).toHaveLength(2)
  await openLines(gateway, 1)
  for (const line of others) expect(line.isClosed()).toBe(false)
  // The admin listener has its own limit.
  expect((await fetch(`${gateway.adminUrl}/healthz`)).status).toBe(200)
})

test('MAX_CONNECTIONS is the limit for all connections', async () => {
  const gateway = await startGateway({ env: { MAX_CONNECTIONS: '2', TRUST_PROXY: '127.0.0.0/8' }, proven: false })
  const lines = await openLines(gateway, 2)
  expect(await isRefused(gateway)).toBe(true)
  for (const line of lines) expect(line.isClosed()).toBe(false)
})
