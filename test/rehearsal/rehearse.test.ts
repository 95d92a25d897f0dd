/** Promise: a rehearsal shows how recorded calls would fare, without their values (contract, section 8). */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import type { Report } from '../../src/operator/reports/rehearsal.ts'
import { openSandbox } from '../bookings/desk.ts'
import { transload } from '../callers/commands.ts'
import { folder } from '../callers/tenants-gateway.ts'
import { caseFiles } from '../cases/read.ts'
import { cleanEnv, ROOT } from '../command.ts'
import { OWN } from '../gateway.ts'
import type { SandboxOptions } from '../stand-in/stand-in.ts'

/** Reads a file of this folder. */
const read = (name: string) => readFileSync(join(import.meta.dirname, name), 'utf8')
const line = (value: object): string => `${JSON.stringify(value)}\n`
const quote = (more: object = {}) => ({ path: '/getShippingQuote.php', request: quoteExample, ...more })

type Files = Readonly<Record<string, string | Uint8Array>>

/** Writes files into a folder. */
function write(place: string, files: Files): void {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(join(place, name, '..'), { recursive: true })
    writeFileSync(join(place, name), content)
  }
}

/** Rehearses files that are passed by name, and returns the report. */
async function report(files: Files, words: readonly string[] = [], env: NodeJS.ProcessEnv = {}) {
  const place = folder()
  write(place, files)
  const { code, out, err } = await transload(['rehearse', ...Object.keys(files), '--json', ...words], place, env)
  return { code, err, place, found: JSON.parse(out) as Report }
}

/** Changes to a quote or to a booking that follows one, or a line, with the result in the report. */
type Defect = { readonly [key in 'quote' | 'booking' | 'line' | 'more']?: object } & {
  readonly [key in 'path' | 'problem' | 'unknown' | 'vehicle' | 'action' | 'differs']?: string
}

const LIMIT_BYTES = 8_192
const DEFECTS: readonly Defect[] = [
  ...JSON.parse(read('defects.json')),
  { quote: { CSR: 'x'.repeat(LIMIT_BYTES) }, problem: 'refused body-too-large' },
  { quote: { CSR: 'x'.repeat(4_097) }, problem: 'refused quote.get CSR too-long' },
  {
    quote: Object.fromEntries(Array.from({ length: 201 }, (_, n) => [`f${n}`, 1])),
    problem: 'refused too-many-fields',
  },
]

/** The lines of a call with a defect, and of the quote that a booking follows. */
function linesOf({ quote: changes, booking, line: whole, more, path }: Defect, name: string): readonly object[] {
  const asked = { ...quoteExample, ShipmentNumber: name, OrderRefNumber: name }
  if (whole) return [whole]
  if (changes) return [quote({ request: { ...asked, ...changes }, ...(path !== undefined && { path }), ...more })]
  const request = { ...bookingExample, ReferenceNumber: name, ...booking }
  return [quote({ request: asked }), { path: '/createShipment.php', request }]
}

test('each seeded defect is found with its exact count, and nothing else', async () => {
  // The nth defect occurs n times, among calls without defects.
  const good = Array.from({ length: 1_000 }, (_, i) => linesOf(i % 2 ? { booking: {} } : { quote: {} }, `G-${i}`))
  const bad = DEFECTS.flatMap((one, n) => Array.from({ length: n + 1 }, (_, i) => linesOf(one, `D-${n}-${i}`)))
  const recording = [...good, ...bad].flat().map(line).join('')
  const { found } = await report({ 'a.ndjson': recording }, [], { BODY_LIMIT_BYTES: String(LIMIT_BYTES) })
  const wanted = (key: 'problem' | 'unknown' | 'vehicle' | 'action' | 'differs') =>
    Object.fromEntries(DEFECTS.flatMap(({ [key]: name }, n) => (name === undefined ? [] : [[name, n + 1]])))
  const problems = Object.fromEntries(found.problems.map(({ id, count }) => [id, count]))
  expect(problems).toEqual(wanted('problem'))
  expect(Object.fromEntries(found.unknown.map(({ name, count }) => [name, count]))).toEqual(wanted('unknown'))
  expect(found.vehicleTypes.map(({ count }) => count)).toEqual(Object.values(wanted('vehicle')))
  expect(found.actionNames.map(({ count }) => count)).toEqual(Object.values(wanted('action')))
  const differing = found.compared.filter(({ differs }) => differs > 0)
  expect(Object.fromEntries(differing.map(({ action, field, differs }) => [`${action} ${field}`, differs]))).toEqual(
    wanted('differs'),
  )
  const counted = (isMeant: (id: string) => boolean) =>
    Object.entries(problems).reduce((sum, [id, count]) => sum + (isMeant(id) ? count : 0), 0)
  const refused = counted((id) => id.startsWith('refused'))
  const lossy = counted((id) => !id.startsWith('refused'))
  const all = found.lines
  expect(found.calls).toEqual({ all, pass: all - refused - lossy, lossy, refused, unseen: 0, other: 0 })
  expect(found.unreadable).toEqual([])
})

test('JSON lines, cases and HARs are recognized by their content, compressed or not', async () => {
  const files = {
    'a.har': read('sample.har'),
    'b.gz': Buffer.concat([gzipSync(line(quote())), gzipSync(line(quote()))]),
    'c.zst': Buffer.concat([zstdCompressSync(line(quote())), zstdCompressSync(line(quote()))]),
    'd.ndjson': `\ufeff${line(quote())}\n\r\n  ${line(quote()).trim()}\r\n`,
    'e.ndjson': line({
      path: 'https://old.example.com/getShippingQuote.php',
      request_hex: Buffer.from(JSON.stringify(quoteExample)).toString('hex'),
    }),
    'f.json': JSON.stringify({ action: 'quote.get', request: quoteExample, sends: { method: 'POST' } }, null, 2),
    'quote.get/g.json': JSON.stringify({ about: 'in the folder of its action', request: quoteExample }, null, 2),
    'h.json': line({ action: 'shipment.get', request: { ReferenceNumber: 'R-1' } }),
    'i.json': line({ path: '/getShipment.php?ReferenceNumber=R-1', method: 'GET' }),
    'j.har': JSON.stringify({ _comment: 'of "log": {', _meta: { of: [1] }, ...JSON.parse(read('sample.har')) }),
    'k.ndjson': line({ at: '2026-03-01', log: { level: 'info' }, ...quote() }),
  }
  const { code, found } = await report(files)
  expect(found.files.map(({ format }) => format).join()).toBe(
    'HAR,JSON lines, gzip,JSON lines, zstd,JSON lines,JSON lines,JSON,JSON,JSON lines,JSON lines,HAR,JSON lines',
  )
  expect(code).toBe(0)
  expect(found.calls).toEqual({ all: 16, pass: 16, lossy: 0, refused: 0, unseen: 0, other: 0 })
})

test('damaged, truncated and hostile files end in a clear line and a correct count', async () => {
  const many = line(quote()).repeat(2_000)
  const packed = gzipSync(many)
  const { found, err, code } = await report({
    'cut.gz': packed.subarray(0, packed.length - 20),
    'broken.gz': Buffer.concat([packed.subarray(0, packed.length / 2), Buffer.alloc(packed.length, 7)]),
    'long.ndjson': `${line(quote())}{"path":"${'x'.repeat(40 * 1024 * 1024)}"}\n${line(quote())}${line({ path: `${'/'.repeat(900_000)}x` })}`,
    'cut.har': `{"log":{"_":"${'x'.repeat(2e7)}","entries":[{"request":{"url":"/getShipment.php?id=1"}},{"requ`,
    'mixed.ndjson': `${line(quote())}{"path":\nnonsense\n[]\n{}\n${line({ path: 5 })}${line(quote())}${'{"a":'.repeat(100_000)}\n`,
  })
  // On a slow machine, only progress may be shown there.
  expect([err.replace(/^.* lines rehearsed .*\n/gm, ''), code]).toEqual(['', 1])
  expect(found.files.map(({ name, fault }) => `${name}: ${fault ?? ''}`)).toMatchInlineSnapshot(`
    [
      "cut.gz: is cut off: the rest is missing",
      "broken.gz: is cut off: the rest is missing",
      "long.ndjson: ",
      "cut.har: is cut off: the rest is missing",
      "mixed.ndjson: ",
    ]
  `)
  expect(found.unreadable.map(({ why, count, first }) => `${count} ${why}: ${first.line}`)).toMatchInlineSnapshot(`
    [
      "6 is not JSON: 1998",
      "3 has neither a path nor an action: 4",
      "1 is longer than 16 MiB: 2",
    ]
  `)
  expect(found.calls.pass).toBeGreaterThan(2_000)
})

test('a line is kept, masked, as a case that passes, and that a rehearsal takes', async () => {
  const place = folder()
  const id = '6f1e4c1e-7a55-4b0c-9a3f-2f9d1c0b7e11'
  const calls = [
    quote({
      client: 'acme',
      service: { shipment_id: id, price: 1234.5 },
      replies: { Cost: '1.00' },
      headers: { 'content-type': 'text/plain' },
    }),
    { path: '/createShipment.php', request: JSON.stringify({ ...bookingExample, PickupZip: 'Kanari' }) },
    { path: '/quotes/createShipment.php', request: String(new URLSearchParams(bookingExample)) },
    { path: '/getShipment.php?ReferenceNumber=KANARI77', service: { number: 'KANARI77', price: 1 } },
    quote({ request: { ...quoteExample, ActionName: 'Refresh Rate' } }),
    { path: '/getShipment.php' },
  ]
  write(place, { 'a.ndjson': calls.map(line).join(''), 'a.har': read('sample.har') })
  const texts: string[] = []
  for (const words of [...calls.map((_, i) => ['a.ndjson', '--keep', `${i + 1}`]), ['a.har', '--keep', '2']])
    texts.push((await transload(['rehearse', ...words], place)).out)
  for (const text of texts) expect(text).not.toMatch(/kanari|WTS2025|Pat Example|2145550|Sample St|Agent 2/i)
  expect(JSON.parse(texts[0] ?? '')).toMatchObject({
    about: 'line 1 of a.ndjson',
    path: '/getShippingQuote.php',
    request: { ActionName: 'Get Rate', EquipmentType: quoteExample.EquipmentType },
    sends: { method: 'POST', path: '/v2/quote' },
    unknown: [],
    service: { price: 1234.5 },
    replies: { Cost: '1234.50' },
  })
  expect(JSON.parse(texts[1] ?? '').problems).toMatchObject([{ field: 'PickupZip', code: 'zipcode' }])
  expect(JSON.parse(texts[4] ?? '')).toMatchObject({ status: 422 })
  write(
    place,
    Object.fromEntries([
      ...texts.map((text, i) => [`own/cases/${i}.json`, text]),
      ...calls.slice(2, 4).map((call, i) => [`own/cases/line-${i}.json`, line(call)]),
    ]),
  )
  const { code, out } = await transload(['mapping', 'test', 'own'], place)
  expect(out).toContain('9 passed, 0 failed')
  expect(code).toBe(0)
  const again = await transload(['rehearse', ...texts.map((_, i) => `own/cases/${i}.json`), '--json'], place)
  expect(JSON.parse(again.out).calls).toMatchObject({ all: 7, refused: 3, unseen: 0 })
})

test('the cases of the project are cases of "mapping test", too', async () => {
  const place = folder()
  // The others need a gateway, because they need memory or more than one reply of the service.
  const needsMore = /"(earlier|current|notes|remembered|says|status)":/
  const files = caseFiles().filter(({ text }) => !needsMore.test(text))
  expect(files.length).toBeGreaterThan(50)
  write(place, Object.fromEntries(files.map(({ name, text }) => [`own/cases/${name}.json`, text])))
  const { out } = await transload(['mapping', 'test', 'own'], place)
  expect(out).toContain(`${files.length} passed, 0 failed`)
})

const CANARIES = /kanari|xaviera|quux|2145559988/i

test("no output has a caller's value, unless requested", async () => {
  const place = folder()
  write(place, { 'a.ndjson': read('canaries.ndjson') })
  const run = (...words: readonly string[]) =>
    transload(['rehearse', 'a.ndjson', ...words], place, { BODY_LIMIT_BYTES: '9000' })
  const { code, err, out } = await run('--json', '--html', 'a.html', '--min-pass', '99')
  const found: Report = JSON.parse(out)
  const page = readFileSync(join(place, 'a.html'), 'utf8')
  expect({ code, err }).toEqual({ code: 1, err: '' })
  expect(found.problems.length).toBeGreaterThan(8)
  for (const text of [out, page, (await run()).out]) {
    expect(text).toContain('EquipmentType')
    expect(text).not.toMatch(CANARIES)
  }
  expect(page).toMatch(/<h2>Refusals<.*<h2>Outcomes by caller<.*<rect width.*<h2>Losses/s)
  // A masked value is not a configuration, so the values are in a separate file.
  expect(out + page).not.toMatch(/LEGACY_BASE_PATHS=|actions&quot;: ?\{|"actions": ?\{|values below/)
  expect(page).toContain('(--lookups FILE writes them there for you to edit)')
  expect(page).not.toMatch(/<script|https?:/)
  expect((await run('--show-values')).out).toMatch(CANARIES)
})

test('the page shows how many calls of whom are refused, and controls nothing', async () => {
  const client = '<img src=x onerror=alert(1)>"'
  const lines = [quote({ client }), quote({ client, request: {} }), quote({ client: 'other' })]
  const { place } = await report({ 'a.ndjson': lines.map(line).join('') }, ['--html', 'a.html'])
  const page = readFileSync(join(place, 'a.html'), 'utf8')
  expect(page).toContain('<h1>1 of 3 calls would be refused</h1>')
  expect(page).toMatch(
    /&lt;img src=x onerror=alert\(1\)&gt;&quot;<\/bdi><\/td><td [^>]*><svg [^>]*><rect width="50\.00" [^>]*><\/svg> 50 %/,
  )
  expect(page).toContain(`content="default-src 'none'; style-src 'unsafe-inline'"`)
  expect(page).not.toMatch(/<img|<script|https?:/)
})

async function against(options: SandboxOptions, lines: readonly object[], words: readonly string[] = []) {
  const sandbox = await openSandbox(options)
  const env = { ...OWN, V2_BASE_URL: sandbox.url }
  const made = await report(
    { 'a.ndjson': lines.map(line).join('') },
    ['--against', 'service', '--rate', '1000', ...words.map((word) => word.replace('URL', sandbox.url))],
    env,
  )
  return { ...made, sandbox }
}

const CALLS = [
  quote(),
  { path: '/createShipment.php', request: bookingExample },
  { path: '/getShipment.php?ReferenceNumber=NONE', method: 'GET' },
]

test("the service's answers are compared: only quotes and reads, without noise and ignored fields", async () => {
  const right = await against({}, CALLS, ['--min-pass', '100'])
  expect(right).toMatchObject({ code: 0, found: { equal: 1 } })
  expect(right.sandbox.shipments.size).toBe(0)
  expect(right.found.compared.map(({ action, field }) => `${action} ${field}`)).toContain('shipment.create (not sent)')
  const turns = [1, 2, 3, 4, 5, 6].values()
  const native: SandboxOptions['native'] = (answer) => ({
    ...answer,
    Cost: '9.99',
    ShipmentNumber: 'x',
    RequestId: String(turns.next().value),
  })
  const wrong = await against({ native }, CALLS.slice(0, 1), ['--ignore', 'ShipmentNumber', '--min-pass', '90'])
  expect(wrong.code).toBe(1)
  expect(wrong.found.compared.filter(({ differs, noise }) => differs + noise > 0)).toEqual([
    {
      action: 'quote.get',
      field: 'Cost',
      equal: 0,
      differs: 1,
      noise: 0,
      examples: [expect.stringMatching(/^9\.99 → 9+\.99$/)],
    },
    { action: 'quote.get', field: 'RequestId', equal: 0, differs: 0, noise: 1, examples: [] },
  ])
})

test('Ctrl-C leaves a report of what was read', async () => {
  const child = spawn(process.execPath, [join(ROOT, 'src/main.ts'), 'rehearse', '--json'], {
    env: cleanEnv(),
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  const out = text(child.stdout)
  // More than one block, so that some of it is rehearsed.
  child.stdin.write(line(quote()).repeat(5_000))
  // The input is consumed once the pipe takes more.
  await once(child.stdin, 'drain')
  child.kill('SIGINT')
  const [code] = await once(child, 'exit')
  const found = JSON.parse(await out)
  expect([code, found.stopped]).toEqual([130, true])
  expect(found.calls.pass).toBeGreaterThan(0)
})
