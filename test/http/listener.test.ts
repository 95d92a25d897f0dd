/** Promise: the listener speaks TLS as configured (contract, section 11). */

import { copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls'
import { describe, expect, onTestFinished, test } from 'vitest'
import { newFolder } from '../command.ts'
import { startGateway, type TestGateway } from '../gateway.ts'
import { type Line, openLine } from './line.ts'

const CERTIFICATES = join(import.meta.dirname, 'certificates')
const ASK = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'

/** A gateway that speaks TLS, and the files that say how. */
async function openTls(env: Readonly<Record<string, string>> = {}) {
  const folder = newFolder('tls')
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const files = { TLS_CERT_FILE: join(folder, 'server.pem'), TLS_KEY_FILE: join(folder, 'server.key') }
  const put = (name: string) => {
    copyFileSync(join(CERTIFICATES, `${name}.key`), files.TLS_KEY_FILE)
    copyFileSync(join(CERTIFICATES, `${name}.pem`), files.TLS_CERT_FILE)
  }
  put('server')
  return {
    gateway: await startGateway({ env: { ...files, ...env }, timeouts: { certificateMs: 100, headersMs: 2_000 } }),
    put,
    files,
  }
}

const shaken = (gateway: TestGateway, options: ConnectionOptions = {}) =>
  new Promise<TLSSocket>((resolve, reject) => {
    const socket = connect({
      port: Number(new URL(gateway.url).port),
      host: '127.0.0.1',
      servername: 'localhost',
      ca: readFileSync(join(CERTIFICATES, 'authority.pem')),
      ...options,
    })
    socket.once('secureConnect', () => resolve(socket)).once('error', reject)
  })

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
  const only = (version: 'TLSv1' | 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3') => ({
    minVersion: version,
    maxVersion: version,
    ciphers: 'DEFAULT@SECLEVEL=0',
  })

  test('is 1.3 or 1.2, and nothing older', async () => {
    const { gateway } = await openTls()
    for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
      expect(await ask(gateway, only(version))).toEqual({ status: 200, protocol: version, subject: 'first.example' })
    }
    for (const version of ['TLSv1', 'TLSv1.1'] as const) await expect(shaken(gateway, only(version))).rejects.toThrow()
    expect((await ask(gateway)).status).toBe(200)
  })

  test('is as old as TLS_MIN_VERSION says, with a warning', async () => {
    const { gateway } = await openTls({ TLS_MIN_VERSION: '1.0' })
    for (const version of ['TLSv1', 'TLSv1.1', 'TLSv1.2', 'TLSv1.3'] as const) {
      expect(await ask(gateway, only(version))).toMatchObject({ status: 200, protocol: version })
    }
    expect(await gateway.logged(/TLS 1\.0/)).toMatchObject({ level: 'warn' })
  })

  test('is as new as TLS_MIN_VERSION says', async () => {
    const { gateway } = await openTls({ TLS_MIN_VERSION: '1.3' })
    await expect(shaken(gateway, only('TLSv1.2'))).rejects.toThrow()
    expect((await ask(gateway)).protocol).toBe('TLSv1.3')
  })

  test('has a new certificate when the files have changed, and the old one until then', async () => {
    const { gateway, put, files } = await openTls()
    const old = await openLine(gateway, await shaken(gateway))
    const metrics = async () => (await fetch(`${gateway.adminUrl}/metrics`)).text()
    expect(await metrics()).toContain('transload_reload_success{file="certificate"} 1')
    writeFileSync(files.TLS_CERT_FILE, 'no certificate')
    expect(await gateway.logged(/new certificate is refused/)).toMatchObject({ level: 'error' })
    expect(await metrics()).toContain('transload_reload_success{file="certificate"} 0')
    expect((await ask(gateway)).subject).toBe('first.example')
    put('renewed')
    await gateway.logged(/read again/)
    expect(await metrics()).toContain('transload_reload_success{file="certificate"} 1')
    expect((await ask(gateway)).subject).toBe('second.example')
    // Earlier connections stay open.
    old.write(ASK)
    expect((await old.replies(1)).map(({ status }) => status)).toEqual([200])
  })

  test('is required: other input closes its connection and harms no other caller', async () => {
    const { gateway } = await openTls()
    for (const bytes of [ASK, '\0\0\0\0', '\x16\x03\x01\xff\xff', 'x'.repeat(100_000)]) {
      const line = await openLine(gateway)
      line.write(bytes)
      line.end()
      // At most an alert of TLS comes back, never a reply.
      await expect(line.closed()).resolves.toEqual([])
    }
    expect((await ask(gateway)).status).toBe(200)
  })
})

/** Opens so many connections, each of which has carried a call. */
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

describe('SOURCE_CONNECTIONS', () => {
  test('is the most that one address may hold; a closed connection makes room', async () => {
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
})

test('MAX_CONNECTIONS is the most that there are', async () => {
  const gateway = await startGateway({ env: { MAX_CONNECTIONS: '2', TRUST_PROXY: '127.0.0.0/8' }, proven: false })
  const lines = await openLines(gateway, 2)
  expect(await isRefused(gateway)).toBe(true)
  for (const line of lines) expect(line.isClosed()).toBe(false)
})
