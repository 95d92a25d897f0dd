/** Promise: a trial of the service harms nothing, and cancels what it made (contract, section 8). */

import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { assumptions } from '../../src/certify/assumptions.ts'
import { certify, folder, startCertify } from '../certify/certify.ts'
import { CLIENT } from '../gateway.ts'
import { type Sandbox, type SandboxOptions, startSandbox } from '../stand-in/stand-in.ts'

/** A whole run takes seconds, and much longer on a busy machine. */
vi.setConfig({ testTimeout: 120_000 })

const JOURNAL = 'transload-test-bookings.ndjson'

async function service(options: SandboxOptions = {}): Promise<Sandbox> {
  const sandbox = await startSandbox({ credentials: { [CLIENT.id]: CLIENT.secret }, ...options })
  onTestFinished(() => sandbox.close())
  return sandbox
}

const live = ({ shipments }: Sandbox) => [...shipments.values()].filter(({ status }) => status !== 'canceled')
/** Some assumptions that need bookings, and make three. */
const BOOKED = 'phone-is-digits,external-id-twice'

test('the plan lists every assumption with its requests, and sends nothing', async () => {
  const sandbox = await service()
  const cwd = folder()
  const { code, out } = await certify(sandbox, cwd, ['--plan'])
  expect(code).toBe(0)
  for (const { id, how, requests } of assumptions) {
    expect(out).toContain(`  ${id} `)
    expect(out).toContain(how)
    expect(out).toContain(requests.join(', '))
  }
  expect(out).toMatch(
    /^Would try 26 of 67 assumptions at http:\S+; 0 of them make test bookings\. Nothing is sent now\.\n/,
  )
  const json = await certify(sandbox, cwd, ['--plan', '--json', '--stage', sandbox.url, '--bookings'])
  expect(JSON.parse(json.out).assumptions.every(({ isTried }: { isTried: boolean }) => isTried)).toBe(true)
  expect(sandbox.requests).toEqual([])
  expect(readdirSync(cwd)).toEqual([])
})

test('without --bookings nothing is booked, approved, updated or canceled', async () => {
  const sandbox = await service()
  const { code, out } = await certify(sandbox, folder(), ['--stage', sandbox.url])
  expect(code).toBe(0)
  expect(out).toMatch(/^67 assumptions: 28 confirmed, 0 contradicted, 0 cannot tell, 39 not tried\.$/m)
  const effects = sandbox.requests.filter(
    ({ method, path }) => method !== 'GET' && !/^\/v2\/quote(\/[^/]+)?$/.test(path),
  )
  expect(effects.map(({ path }) => path)).toEqual(Array(3).fill('/oauth2/token'))
  expect(sandbox.shipments.size).toBe(0)
})

test('bookings need the address to be named as stage', async () => {
  const sandbox = await service()
  const cwd = folder()
  const without = await certify(sandbox, cwd, ['--bookings'])
  expect(without).toMatchObject({ code: 1, out: '' })
  expect(without.err).toBe(
    `transload: --bookings needs --stage: name the address of the service, ${sandbox.url}, if it is the stage and not production\n`,
  )
  const other = await certify(sandbox, cwd, ['--bookings', '--stage', 'https://stage.example.com'])
  expect(other.code).toBe(1)
  expect(other.err).toMatch(/^transload: --stage names https:\/\/stage\.example\.com, but the gateway calls http:/)
  expect(sandbox.requests).toEqual([])
  const closing = await certify(sandbox, cwd, ['--stage', `${sandbox.url}/v2/`, '--bookings', '--only', BOOKED])
  expect(closing).toMatchObject({ code: 0, err: '' })
})

test('a contradiction says what to set, and is an exit code', async () => {
  const sandbox = await service({ quoteMethod: 'GET' })
  const { code, out } = await certify(sandbox, folder(), ['--only', 'quote-by-post,quote-by-get'])
  expect(code).toBe(2)
  expect(out).toMatch(
    /contradicted {2}quote-by-post +.*\(405 with an object\)\n +→ Set V2_QUOTE_METHOD=GET; auto finds out by itself\.\n/,
  )
  expect(out).toMatch(/confirmed {5}quote-by-get /)
})

test('results are kept, and compared with a later run', async () => {
  const sandbox = await service()
  const cwd = folder()
  const only = ['--only', 'quote-by-post,quote-by-get,price-is-number']
  expect((await certify(sandbox, cwd, [...only, '--save', 'before.json'])).code).toBe(0)
  const same = await certify(sandbox, cwd, [...only, '--compare', 'before.json'])
  expect(same.code).toBe(0)
  expect(same.out).toMatch(/^Nothing has changed since /m)
  sandbox.set({ quoteMethod: 'POST' })
  const changed = await certify(sandbox, cwd, [...only, '--compare', 'before.json', '--json'])
  expect(changed.code).toBe(3)
  const { changes, results } = JSON.parse(changed.out)
  expect(changes).toEqual([
    {
      id: 'quote-by-get',
      before: { id: 'quote-by-get', verdict: 'confirmed', seen: '200 with an object' },
      now: { id: 'quote-by-get', verdict: 'contradicted', seen: '405 with an object' },
    },
  ])
  expect(results).toHaveLength(3)
  writeFileSync(join(cwd, 'broken.json'), '{"results":1}')
  const broken = await certify(sandbox, cwd, ['--compare', 'broken.json'])
  expect(broken.err).toBe(
    'transload: cannot read broken.json: it has no results of transload certify assumptions --save\n',
  )
})

test.each(['SIGINT', 'SIGTERM'] as const)('cut off by %s, it cancels what it made', async (signal) => {
  const sandbox = await service()
  const cwd = folder()
  const running = startCertify(sandbox, cwd, ['--stage', sandbox.url, '--bookings'])
  // The signal arrives in the middle of the bookings.
  await sandbox.next(({ method, path }) => method === 'POST' && path === '/v2/shipments')
  await sandbox.next(({ method, path }) => method === 'POST' && path === '/v2/shipments')
  running.signal(signal)
  const { code, out, err } = await running.ended
  expect(code).toBe(signal === 'SIGINT' ? 130 : 143)
  expect(err).toContain('Stopping: the test bookings are canceled first.')
  expect(out).toMatch(/^Canceled [1-9]\d* test bookings?\.$/m)
  // It does not go on to the last checks.
  expect(out).not.toMatch(/^Cancellations$/m)
  expect(sandbox.shipments.size).toBeGreaterThan(0)
  expect(live(sandbox)).toEqual([])
  expect(existsSync(join(cwd, JOURNAL))).toBe(false)
})

test('killed, it leaves a journal from which the next run cancels', async () => {
  const sandbox = await service()
  const cwd = folder()
  const running = startCertify(sandbox, cwd, ['--stage', sandbox.url, '--bookings', '--only', BOOKED])
  sandbox.fail({ kind: 'timeout', on: { method: 'GET', path: '/v2/shipments/*' } })
  await sandbox.next(({ method }) => method === 'GET')
  running.signal('SIGKILL')
  await running.ended
  expect(live(sandbox).length).toBe(1)
  const other = await certify(await service(), cwd, ['--clean-up'])
  expect(other.out).toBe('Canceled 0 test bookings.\n')
  expect(live(sandbox).length).toBe(1)
  expect(await certify(sandbox, cwd, ['--clean-up'])).toEqual({ code: 0, out: 'Canceled 1 test booking.\n', err: '' })
  expect(live(sandbox)).toEqual([])
  expect(existsSync(join(cwd, JOURNAL))).toBe(false)
})

test('the credential is found nowhere', async () => {
  const secret = `canary-${randomBytes(12).toString('hex')}`
  const sandbox = await service({ credentials: { [CLIENT.id]: secret }, deviations: ['delete-cancels'] })
  const cwd = folder()
  const env = { V2_CLIENT_SECRET: secret }
  const words = ['--stage', sandbox.url, '--bookings', '--save', 'results.json']
  const told = [await certify(sandbox, cwd, words, env), await certify(sandbox, cwd, ['--json'], env)]
  const files = readdirSync(cwd)
  expect(files).toEqual(expect.arrayContaining([JOURNAL, 'results.json']))
  const texts = [
    ...told.map(({ out, err }) => out + err),
    ...files.map((name) => readFileSync(join(cwd, name), 'utf8')),
  ]
  const forms = [secret, Buffer.from(`${CLIENT.id}:${secret}`).toString('base64')]
  expect(texts.filter((text) => forms.some((form) => text.includes(form)))).toEqual([])
  expect(told[0]?.code).toBe(1)
  expect(told[0]?.out).toContain('May be left at the service: TRANSLOAD-TEST-')
})
