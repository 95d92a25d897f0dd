/** Promise: `healthcheck` sends the requests of an orchestrator (contract, section 1). */

import { join } from 'node:path'
import { expect, test } from 'vitest'
import { transload } from '../callers/commands.ts'
import { ROOT } from '../command.ts'
import { startGateway } from '../gateway.ts'
import { openLine } from '../http/line.ts'
import { takenPort } from './taken-port.ts'

const CERTIFICATES = join(import.meta.dirname, '../http/certificates')
const TLS = { TLS_CERT_FILE: join(CERTIFICATES, 'server.pem'), TLS_KEY_FILE: join(CERTIFICATES, 'server.key') }

const portOf = (url: string) => new URL(url).port

/** Checks as the image does; `V2_BASE_URL` is in the configuration, but gets no request. */
const check = (env: Readonly<Record<string, string>>) =>
  transload(['healthcheck'], ROOT, { V2_BASE_URL: 'http://127.0.0.1:1', ...env })

const WELL = { code: 0, out: '', err: '' }

test('healthcheck asks the admin listener, or otherwise the public one, also over TLS', async () => {
  const gateway = await startGateway({ env: { MAX_CONNECTIONS: '1' } })
  const secure = await startGateway({ env: TLS })
  const taken = await openLine(gateway)
  taken.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n')
  await taken.replies(1)
  const PORT = portOf(gateway.url)
  // Even if the public listener is full.
  const full = await check({ PORT, ADMIN_PORT: portOf(gateway.adminUrl) })
  taken.hangUp()
  expect(full).toEqual(WELL)
  expect(await check({ HOST: '127.0.0.1', PORT, ADMIN_PORT: '0' })).toEqual(WELL)
  expect(await check({ ...TLS, PORT: portOf(secure.url), ADMIN_PORT: '0' })).toEqual(WELL)
})

test('healthcheck succeeds while a new certificate is refused and the old one is in use', async () => {
  const { adminUrl } = await startGateway()
  const unfit = { ...TLS, TLS_KEY_FILE: join(CERTIFICATES, 'client.key') }
  expect(await check({ ...unfit, ADMIN_PORT: portOf(adminUrl) })).toEqual(WELL)
})

test('healthcheck ends with 1 if nothing answers, or not as a gateway does', async () => {
  const { sandbox, url } = await startGateway()
  const cases = [
    [{ ADMIN_PORT: '1' }, /cannot be reached/],
    [{ ADMIN_PORT: String(await takenPort()) }, /within 2 s/],
    [{ ADMIN_PORT: portOf(sandbox.url) }, /answers with status 40\d/],
    // TLS to a port without TLS.
    [{ ...TLS, ADMIN_PORT: '0', PORT: portOf(url) }, /cannot be reached/],
  ] as const
  for (const [env, said] of cases) {
    expect(await check(env)).toEqual({ code: 1, out: '', err: expect.stringMatching(said) })
  }
  expect((await check({ ADMIN_PORT: 'x' })).code).toBe(78)
})
