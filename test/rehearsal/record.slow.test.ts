/** Promise: calls are recorded, masked, for a rehearsal (contract, section 8). */

import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { loadMappings } from '../../mappings/load.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { readBody } from '../../src/edge/body/read.ts'
import type { Report } from '../../src/operator/reports/rehearsal.ts'
import { beginCall } from '../../src/runtime/call.ts'
import { openRecorder } from '../../src/runtime/recorder.ts'
import { openSandbox } from '../bookings/desk.ts'
import { serve, transload } from '../callers/commands.ts'
import { folder } from '../callers/tenants-gateway.ts'
import { basic } from '../gateway.ts'
import details from './details.json' with { type: 'json' }

const QUOTE = { ...quoteExample, ...details.quote, Foo: 'Kanari '.repeat(999) }
const BOOKING = { ...bookingExample, ...details.booking }
/** Bookings whose plans depend on details of a value. */
const CHANGES: readonly object[] = [...details.changes, { PickupName: '\u00fc'.repeat(2_100) }]

/** Sends calls to a gateway that records, and returns the lines. */
async function recorded(cwd: string, env: NodeJS.ProcessEnv) {
  const sandbox = await openSandbox()
  const file = join(cwd, 'calls.ndjson')
  const gateway = await serve(cwd, { V2_BASE_URL: sandbox.url, RECORD_FILE: file, ...env })
  const send = async (path: string, body: string | null, key = 'Kanari-1', authorization = basic()) => {
    const reply = await fetch(gateway.url + path, {
      method: body === null ? 'GET' : 'POST',
      headers: { authorization, 'content-type': 'text/plain', 'idempotency-key': key },
      body,
    })
    await reply.text()
  }
  await send('/getShippingQuote.php', JSON.stringify(QUOTE))
  const reference = quoteExample.ShipmentNumber.toLowerCase()
  await send('/quotes/createShipment.php', JSON.stringify({ ...BOOKING, ReferenceNumber: reference }))
  await send('/createShipment.php', String(new URLSearchParams({ ...BOOKING, DeliveryZip: '33166' })), 'Kanari-2')
  for (const [n, change] of CHANGES.entries())
    await send('/createShipment.php', JSON.stringify({ ...BOOKING, DeliveryZip: '33166', ...change }), `Kanari ${n}`)
  await send('/getShipment.php?ReferenceNumber=Kanari&id=6f1e4c1e-7a55-4b0c-9a3f-000000000001', null)
  await send('/getShippingQuote.php', JSON.stringify(QUOTE), '', basic('stranger', 'wrong'))
  gateway.signal('SIGTERM')
  expect((await gateway.ended).code).toBe(0)
  return existsSync(file) ? readFileSync(file, 'utf8') : ''
}

test('calls are recorded in the same shape, without a value of their callers, and a rehearsal finds the same in both', async () => {
  const cwd = folder()
  const plain = await recorded(folder(), { RECORD_VALUES: 'plain' })
  const masked = await recorded(cwd, {})
  expect(statSync(join(cwd, 'calls.ndjson')).mode & 0o777).toBe(0o600)
  const canaries =
    // Masked digits are random, so a canary with only a few of them could appear by chance.
    /kanari|Pat Example|example\.com|2145550|555-0[01]0|WTS2025|1FDXE|Robin|Sample St|\b(10314|33166)\b|Test Dr|stranger/i
  expect(plain).toMatch(canaries)
  expect(masked.replaceAll('"client":"demo"', '')).not.toMatch(canaries)
  // The rest of a long value has no meaning.
  expect(masked.length).toBeLessThan(plain.length - 2_000)
  const rehearsed = async (text: string) => {
    const { out } = await transload(['rehearse', '--json', '--learn', 'n'], cwd, {}, text)
    const { calls, problems, unknown }: Report = JSON.parse(out)
    return {
      calls,
      told: problems.map(({ id, count, example }) => [id, count, example]),
      unknown: unknown.length,
    }
  }
  const found = await rehearsed(masked)
  // Masked ids are no ids.
  expect(statSync(join(cwd, 'n')).size).toBe(0)
  expect(found).toEqual(await rehearsed(plain))
  expect(found.calls.refused).toBe(5)
})

test('nothing is recorded without a file; an earlier file is kept beside the new one', async () => {
  const cwd = folder()
  const RECORD_FILE = join(cwd, 'other.ndjson')
  expect(await recorded(cwd, { RECORD_FILE })).toBe('')
  const first = readFileSync(RECORD_FILE, 'utf8')
  await recorded(cwd, { RECORD_FILE })
  expect(readFileSync(`${RECORD_FILE}.1`, 'utf8')).toBe(first)
  // Each file has its own key.
  expect(readFileSync(RECORD_FILE, 'utf8').slice(100, 500)).not.toBe(first.slice(100, 500))
})

async function callTo(warn = () => {}) {
  const RECORD_FILE = join(folder(), 'calls.ndjson')
  const incoming = new IncomingMessage(new Socket())
  const call = { ...beginCall(incoming), caller: { tenant: 'acme', acceptance: { isProven: () => true } } }
  const catalog = await loadMappings()
  return { RECORD_FILE, incoming, call, options: { RECORD_VALUES: 'plain', catalog, log: { warn } } as const }
}

test('a full file continues in another one, but a device stays, and forms are recorded in UTF-8', async () => {
  const { RECORD_FILE, incoming, call, ...made } = await callTo()
  const options = { ...made.options, limitBytes: 1 }
  symlinkSync('/dev/null', `${RECORD_FILE}-`)
  await openRecorder({ RECORD_FILE: `${RECORD_FILE}-`, ...options })?.close()
  expect(readlinkSync(`${RECORD_FILE}-`)).toBe('/dev/null')
  const recorder = openRecorder({ RECORD_FILE, ...options })
  for (const value of ['one', 'two']) {
    const body = readBody(Buffer.from(`%CF=${value}`), ';charset=cp1251')
    recorder?.end({ body, reply: undefined }, call, incoming, 200)
  }
  await recorder?.close()
  expect(readFileSync(RECORD_FILE, 'utf8')).toBe('')
  await expect.poll(() => readFileSync(`${RECORD_FILE}.1`, 'utf8')).toContain('%D0%9F=two')
})

test('after an error of the disk, calls are recorded again', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const warn = vi.fn()
  const { RECORD_FILE, incoming, call, options } = await callTo(warn)
  symlinkSync('/dev/full', RECORD_FILE)
  const recorder = openRecorder({ RECORD_FILE, ...options })
  const body = readBody(Buffer.from('{"Foo":"one"}'), '')
  recorder?.end({ body, reply: undefined }, call, incoming, 200)
  await expect.poll(() => warn.mock.calls.length).toBe(1)
  rmSync(RECORD_FILE)
  expect(recorder?.begin()).toBeUndefined()
  vi.advanceTimersByTime(11_000)
  expect(recorder?.begin()).toBeDefined()
  recorder?.end({ body, reply: undefined }, call, incoming, 200)
  await recorder?.close()
  expect(readFileSync(RECORD_FILE, 'utf8')).toContain('one')
})

test('a file that cannot be put aside is not continued', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const { RECORD_FILE, options } = await callTo()
  writeFileSync(RECORD_FILE, 'earlier\n')
  mkdirSync(`${RECORD_FILE}.1/kept`, { recursive: true })
  const recorder = openRecorder({ RECORD_FILE, ...options })
  vi.advanceTimersByTime(11_000)
  expect(recorder?.begin()).toBeUndefined()
  rmSync(`${RECORD_FILE}.1`, { recursive: true })
  vi.advanceTimersByTime(11_000)
  expect(recorder?.begin()).toBeDefined()
  await recorder?.close()
  expect(readFileSync(`${RECORD_FILE}.1`, 'utf8')).toBe('earlier\n')
})

test('a pipe is not waited for, and is recorded to whenever somebody reads it', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const warn = vi.fn()
  const { RECORD_FILE: pipe, incoming, call, options } = await callTo(warn)
  execFileSync('mkfifo', [pipe])
  // Otherwise a wait would have no end.
  const late = spawn('sh', ['-c', `sleep 3; exec cat "${pipe}"`], { stdio: 'ignore', detached: true })
  const recorder = openRecorder({ RECORD_FILE: pipe, ...options })
  process.kill(-(late.pid ?? 0), 'SIGKILL')
  expect(recorder?.begin()).toBeUndefined()
  for (let reader = 0; reader < 2; reader += 1) {
    const cat = spawn('cat', [pipe])
    let read = ''
    cat.stdout.on('data', (text) => {
      read += text
    })
    await expect
      .poll(() => {
        vi.advanceTimersByTime(11_000)
        return recorder?.begin()
      })
      .toBeDefined()
    const end = () =>
      recorder?.end({ body: readBody(Buffer.from('{"Foo":"one"}'), ''), reply: undefined }, call, incoming, 200)
    end()
    await expect.poll(() => read).toContain('one')
    cat.kill()
    await once(cat, 'close')
    warn.mockClear()
    end()
    await expect.poll(() => warn.mock.calls.length).toBe(1)
    expect(recorder?.begin()).toBeUndefined()
  }
})

test('a pipe that is open but not read does not hold up the end', async () => {
  const warn = vi.fn()
  const { RECORD_FILE: pipe, incoming, call, options } = await callTo(warn)
  execFileSync('mkfifo', [pipe])
  const reader = spawn('sh', ['-c', `exec sleep 60 < "${pipe}"`], { stdio: 'ignore' })
  onTestFinished(() => void reader.kill())
  // Returns once the reader has opened it.
  execFileSync('sh', ['-c', `: > "${pipe}"`])
  const recorder = openRecorder({ RECORD_FILE: pipe, ...options })
  const body = readBody(Buffer.from(JSON.stringify({ Foo: 'x'.repeat(100_000) })), '')
  for (let lines = 0; lines < 3; lines += 1) recorder?.end({ body, reply: undefined }, call, incoming, 200)
  const ended = await Promise.race([recorder?.close().then(() => 'ended'), delay(5_000)])
  expect(ended).toBe('ended')
  await expect.poll(() => warn.mock.calls.flat()).toContain('RECORD_FILE cannot be written')
})

test('a full pipe stays one pipe: its lines come whole, one after the other', async () => {
  const { RECORD_FILE: pipe, incoming, call, options } = await callTo()
  execFileSync('mkfifo', [pipe])
  const out = `${pipe}.read`
  const reader = spawn('sh', ['-c', `exec 3< "${pipe}"; sleep 0.5; exec cat <&3 > "${out}"`], { stdio: 'ignore' })
  onTestFinished(() => void reader.kill())
  // Returns once the reader has opened it.
  execFileSync('sh', ['-c', `: > "${pipe}"`])
  const recorder = openRecorder({ RECORD_FILE: pipe, ...options, limitBytes: 1 })
  const values = ['a', 'b', 'c'].map((letter) => letter.repeat(200_000))
  for (const Foo of values)
    recorder?.end({ body: readBody(Buffer.from(JSON.stringify({ Foo })), ''), reply: undefined }, call, incoming, 200)
  await delay(1_000)
  await recorder?.close()
  await once(reader, 'close')
  const lines = readFileSync(out, 'utf8').trim().split('\n')
  expect(lines.map((line) => JSON.parse(JSON.parse(line).request).Foo)).toEqual(values)
})
