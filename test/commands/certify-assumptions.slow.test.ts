/** Promise: a trial of the service cancels what it created, however it ends, and shows no credential (contract, section 8). */

import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { openSandbox } from '../bookings/desk.ts'
import { transload } from '../callers/commands.ts'
import { folder } from '../callers/tenants-gateway.ts'
import { cleanEnv, PROGRAM, start } from '../command.ts'
import { CLIENT, OWN } from '../gateway.ts'
import type { Sandbox, SandboxOptions } from '../stand-in/stand-in.ts'

/** A whole run takes seconds, and much longer on a busy machine. */
vi.setConfig({ testTimeout: 120_000 })

const JOURNAL = 'transload-test-bookings.ndjson'
const CERTIFY = ['certify', 'assumptions']

/** A stand-in, and a folder with the command that certifies it. */
async function openStage(secret: string = CLIENT.secret, options: SandboxOptions = {}) {
  const sandbox = await openSandbox({ credentials: { [CLIENT.id]: secret }, ...options })
  const place = folder()
  const env = { ...OWN, V2_BASE_URL: sandbox.url, V2_CLIENT_SECRET: secret }
  const words = [...CERTIFY, '--stage', sandbox.url, '--bookings']
  return {
    sandbox,
    place,
    env,
    certify: (...more: readonly string[]) => transload([...words, ...more], place, env),
    begin: (...more: readonly string[]) =>
      start(process.execPath, [PROGRAM, ...words, ...more], { cwd: place, env: cleanEnv(env) }),
  }
}

const live = ({ shipments }: Sandbox) => [...shipments.values()].filter(({ status }) => status !== 'canceled')

test.each(['SIGINT', 'SIGTERM'] as const)('cut off by %s, it cancels what it made', async (signal) => {
  const { sandbox, place, begin } = await openStage()
  const running = begin()
  // The signal arrives in the middle of the bookings.
  for (let bookings = 0; bookings < 2; bookings += 1)
    await sandbox.next(({ method, path }) => method === 'POST' && path === '/v2/shipments')
  running.signal(signal)
  const { code, out, err } = await running.ended
  expect(code).toBe(signal === 'SIGINT' ? 130 : 143)
  expect(err).toContain('Stopping: the test bookings are canceled first.')
  expect(out).toMatch(/^Canceled [1-9]\d* test bookings?\.$/m)
  // It does not reach the last checks.
  expect(out).not.toMatch(/^Cancellations$/m)
  expect(sandbox.shipments.size).toBeGreaterThan(0)
  expect(live(sandbox)).toEqual([])
  expect(existsSync(join(place, JOURNAL))).toBe(false)
})

test('when killed, it leaves a journal only its owner can read, from which the next run at that service cancels', async () => {
  const { sandbox, place, begin, certify } = await openStage()
  const running = begin('--only', 'phone-is-digits,external-id-twice')
  sandbox.fail({ kind: 'timeout', on: { method: 'GET', path: '/v2/shipments/*' } })
  await sandbox.next(({ method }) => method === 'GET')
  running.signal('SIGKILL')
  await running.ended
  expect(statSync(join(place, JOURNAL)).mode & 0o777).toBe(0o600)
  expect(live(sandbox)).toHaveLength(1)
  const other = await openStage()
  const once = ['--only', 'basic-accepted']
  const elsewhere = await transload([...CERTIFY, ...once], place, other.env)
  expect(elsewhere).toMatchObject({ code: 0, err: '' })
  expect(live(sandbox)).toHaveLength(1)
  expect(await certify(...once)).toMatchObject({ code: 0, err: 'Canceled 1 test booking.\n' })
  expect(live(sandbox)).toEqual([])
  expect(existsSync(join(place, JOURNAL))).toBe(false)
})

test('the credential appears nowhere', async () => {
  const secret = `canary-${randomBytes(12).toString('hex')}`
  const { place, certify } = await openStage(secret, { deviations: ['delete-cancels'] })
  const told = await certify()
  const files = readdirSync(place)
  expect(files).toEqual([JOURNAL])
  const texts = [told.out + told.err, ...files.map((name) => readFileSync(join(place, name), 'utf8'))]
  const forms = [secret, Buffer.from(`${CLIENT.id}:${secret}`).toString('base64')]
  expect(texts.filter((text) => forms.some((form) => text.includes(form)))).toEqual([])
  expect(told).toMatchObject({
    code: 1,
    out: expect.stringContaining('May be left at the service: TRANSLOAD-TEST-'),
  })
})
