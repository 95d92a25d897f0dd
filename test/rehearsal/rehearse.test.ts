/** Promise: a rehearsal tells what would become of recorded calls, and shows no values (contract, section 8). */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
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
import { transcript } from '../commands/transcript.ts'
import { OWN } from '../gateway.ts'
import type { SandboxOptions } from '../stand-in/stand-in.ts'
import { defects, generate, LIMIT_BYTES } from './generator.ts'
import { expectSeeded } from './seeded.ts'

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

/** Rehearses files that are given by name, and returns the report. */
async function report(files: Files, words: readonly string[] = [], env: NodeJS.ProcessEnv = {}) {
  const place = folder()
  write(place, files)
  const { code, out, err } = await transload(['rehearse', ...Object.keys(files), '--json', ...words], place, env)
  return { code, err, place, found: JSON.parse(out) as Report }
}

test('each seeded defect is found with its exact count, and nothing else', async () => {
  const turns = 4_000
  const recording = [...generate(turns)].join('')
  const { found } = await report({ 'a.ndjson': recording }, [], { BODY_LIMIT_BYTES: String(LIMIT_BYTES) })
  expect(defects.length).toBeGreaterThan(25)
  expectSeeded(found, turns)
})

const har = {
  log: {
    version: '1.2',
    pages: [{ title: '[{"entries' }],
    entries: [1, 2].map((n) => ({
      startedDateTime: '2026-01-05T08:00:00.000Z',
      request: {
        method: 'POST',
        url: 'https://old.example.com/getShippingQuote.php?',
        httpVersion: 'http/1.1',
        headers: [],
        postData: { mimeType: 'text/plain', text: JSON.stringify({ ...quoteExample, CSR: `Agent ${n} },{` }) },
      },
      response: { status: 200, headers: [], content: { text: '{}' } },
    })),
  },
}

test('JSON lines, cases and HARs are recognized by their content, compressed or not', async () => {
  const files = {
    'a.har': JSON.stringify(har, null, 2),
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
  }
  const { code, found } = await report(files)
  expect(found.files.map(({ name, format, fault }) => `${name}: ${format} ${fault ?? ''}`)).toMatchInlineSnapshot(`
    [
      "a.har: HAR ",
      "b.gz: JSON lines, gzip ",
      "c.zst: JSON lines, zstd ",
      "d.ndjson: JSON lines ",
      "e.ndjson: JSON lines ",
      "f.json: JSON ",
      "quote.get/g.json: JSON ",
      "h.json: JSON lines ",
      "i.json: JSON lines ",
    ]
  `)
  expect(code).toBe(0)
  expect(found.calls).toEqual({ all: 13, pass: 13, lossy: 0, refused: 0, unseen: 0, other: 0 })
})

test('a file whose beginning was cut off is read from its first whole line', async () => {
  const { code, found } = await report({ 'a.ndjson': `Name":"Get Rate"}}\n${line({ at: 1 })}${line(quote())}` })
  expect(found.files).toMatchObject([{ format: 'JSON lines' }])
  expect([code, found.lines, found.calls.all]).toEqual([0, 3, 1])
  expect(found.unreadable.map(({ count }) => count)).toEqual([1, 1])
})

test('other inputs end in a line that names them, with the program that makes JSON lines of them', async () => {
  const log = '192.0.2.7 - acme [05/Jan/2026:08:00:00 +0100] "GET /getShipment.php?id=1 HTTP/1.0" 200 512 "-" "cron"\n'
  const place = folder()
  write(place, {
    'a.log': log,
    'a.pcap': Buffer.from('d4c3b2a1020004000000', 'hex'),
    'a.txt': 'POST /getShippingQuote.php HTTP/1.1\r\nHost: x\r\n\r\n{}',
    'a.json': line({ request_uri: '/getShipment.php', request_method: 'GET', request_body: '' }),
    'a b.log': log,
    'body.json': '{"ActionName":"Get Rate"}',
    'bomb.gz': gzipSync(Buffer.alloc(64 * 1024 * 1024)),
    'twice.gz': gzipSync(gzipSync(line(quote()))),
    binary: Buffer.from([0, 1, 2, 255, 254, 10, 0]),
    empty: '',
  })
  const names = [
    'a.log',
    'a.pcap',
    'a.txt',
    'a.json',
    "'a b.log'",
    'body.json',
    'bomb.gz',
    'twice.gz',
    'binary',
    'empty',
  ]
  await expect(
    await transcript(
      place,
      [...names, '.'].map((name) => `rehearse ${name}`),
    ),
  ).toMatchFileSnapshot('others.txt')
})

test('damaged, truncated and hostile files end in a clear line and a right count', async () => {
  const many = line(quote()).repeat(2_000)
  const packed = gzipSync(many)
  const { found, err, code } = await report({
    'cut.gz': packed.subarray(0, packed.length - 20),
    'broken.gz': Buffer.concat([packed.subarray(0, packed.length / 2), Buffer.alloc(packed.length, 7)]),
    'long.ndjson': `${line(quote())}{"path":"${'x'.repeat(40 * 1024 * 1024)}"}\n${line(quote())}`,
    'cut.har': '{"log":{"entries":[{"request":{"url":"http://x/getShipment.php?id=1","method":"GET"}},{"requ',
    'mixed.ndjson': `${line(quote())}{"path":\nnonsense\n[]\n{}\n${line({ path: 5 })}${line(quote())}${'{"a":'.repeat(100_000)}\n`,
  })
  // Only its progress may stand there, on a slow machine.
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
    { path: '/getShipment.php?ReferenceNumber=KANARI77', method: 'GET', service: { number: 'KANARI77', price: 1 } },
    quote({ request: { ...quoteExample, ActionName: 'Refresh Rate' } }),
  ]
  write(place, { 'a.ndjson': calls.map(line).join(''), 'a.har': JSON.stringify(har) })
  const kept = async (file: string, no: number) => (await transload(['rehearse', file, '--keep', `${no}`], place)).out
  const texts = await Promise.all([...[1, 2, 3, 4, 5].map((no) => kept('a.ndjson', no)), kept('a.har', 2)])
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
  expect(out).toContain('8 passed, 0 failed')
  expect(code).toBe(0)
  const again = await transload(['rehearse', ...texts.map((_, i) => `own/cases/${i}.json`), '--json'], place)
  expect(JSON.parse(again.out).calls).toMatchObject({ all: 6, refused: 2, unseen: 0 })
})

test('the cases of the project are cases of "mapping test", too', async () => {
  const place = folder()
  // The others need a gateway: they remember, or the service says more than one reply.
  const needsMore = /"(earlier|current|notes|remembered|says|status)":/
  const files = caseFiles().filter(({ text }) => !needsMore.test(text))
  expect(files.length).toBeGreaterThan(50)
  write(place, Object.fromEntries(files.map(({ name, text }) => [`own/cases/${name}.json`, text])))
  const { out } = await transload(['mapping', 'test', 'own'], place)
  expect(out).toContain(`${files.length} passed, 0 failed`)
})

const CANARIES = /kanari|xaviera|quux|2145559988/i

test('no output has a value of a caller, unless it is asked for', async () => {
  const fields = {
    ...quoteExample,
    ShipmentNumber: 'KANARI77',
    BillToContact: 'Xaviera Quux~2145559988~~~xaviera@kanari.example',
    CSR: { a: 'Kanari' },
    Secret: 'Kanari',
    TempShipFromPostalCode: '9KANARI',
    PickupCommodityCode: 'Kanari',
    DeliveryCommodityCode: 'Kanari',
    LoadReference: 'Kanari',
  }
  const lines = [
    quote({
      request: fields,
      replies: { Cost: '1', ShipmentNumber: 'KANARI77', Message: 'Xaviera' },
      service: { price: 2, shipment_id: 'KANARI77' },
    }),
    quote({ request: { ...fields, ActionName: 'Kanari Rate', CSR: '' } }),
    quote({
      request: { ...fields, CSR: '', EquipmentType: 'Kanari' },
      replies: { Cost: '1', ShipmentNumber: 'xKANARI77' },
      service: { price: 2, shipment_id: 'KANARI77' },
    }),
    quote({ request: { ...fields, CSR: '' } }),
    quote({ request: `BillToContact=Xaviera&KANARI77 <Quux>=1&&&` }),
    quote({ request: 'Xaviera Quux' }),
    { path: '/KANARI77/Xaviera-Quux/getShippingQuote.php?x=kanari', request: fields },
    {
      path: '/createShipment.php',
      request: {
        ...bookingExample,
        PickupState: 'Kanari',
        DeliveryState: 'Quux',
        'PickupPhNo.': '2145559988 x1',
        PickupZip: 'KANARI',
      },
    },
    { path: '/getShipment.php?ReferenceNumber=KANARI77&Foo=Xaviera', method: 'GET' },
    { path: '/getShipment.php', method: 'Xaviera' },
  ]
  const files = { 'a.ndjson': `${lines.map(line).join('')}{"path":"/KANARI77", "Xaviera\n` }
  const place = folder()
  write(place, files)
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
  expect(page).toMatch(/<h2>Refusals<.*<h2>Outcomes by caller<.*<rect fill="var\(--bad\)".*<h2>Losses/s)
  // A masked value is no configuration: the values are in a file of their own.
  expect(out + page).not.toMatch(/LEGACY_BASE_PATHS=|actions&quot;: ?\{|"actions": ?\{|values below/)
  expect(page).toContain('(--lookups FILE writes them there for you to edit)')
  expect(page).not.toMatch(/<script|https?:/)
  expect((await run('--show-values')).out).toMatch(CANARIES)
})

test('the page says how many calls are refused, shows whose, and is obeyed by nothing', async () => {
  const client = '<img src=x onerror=alert(1)>"'
  const lines = [quote({ client }), quote({ client, request: {} }), quote({ client: 'other' })]
  const { place } = await report({ 'a.ndjson': lines.map(line).join('') }, ['--html', 'a.html'])
  const page = readFileSync(join(place, 'a.html'), 'utf8')
  expect(page).toContain('<h1>1 of 3 calls would be refused</h1>')
  expect(page).toContain('&lt;img src=x onerror=alert(1)&gt;&quot;: 1 of 2 calls would be refused (50 %)')
  expect(page).toContain(`content="default-src 'none'; style-src 'unsafe-inline'"`)
  expect(page).not.toMatch(/<img|<script|https?:/)
})

test('lookups are written to edit, and numbers to import', async () => {
  const id = '6f1e4c1e-7a55-4b0c-9a3f-2f9d1c0b7e11'
  const other = '6f1e4c1e-7a55-4b0c-9a3f-2f9d1c0b7e12'
  const unknown = { ...quoteExample, PickupCommodityCode: 'Sleigh', DeliveryCommodityCode: '', LoadReference: '' }
  const lines = [
    quote({ client: 'acme', request: unknown, service: { price: 1, shipment_id: id } }),
    quote({ client: 'acme', request: unknown, replies: { Cost: '1', ShipmentNumber: other } }),
    quote({ client: 'acme', request: { ...quoteExample, ActionName: 'Refresh Rate' } }),
    { path: '/createShipment.php', client: 'acme', request: bookingExample, shipment_id: other },
  ]
  const words = ['--lookups', 'l.json', '--learn', 'n.ndjson']
  const { place, code } = await report({ 'a.ndjson': lines.map(line).join('') }, words)
  expect(code).toBe(0)
  for (const name of ['l.json', 'n.ndjson']) expect(statSync(join(place, name)).mode & 0o777).toBe(0o600)
  const written = readFileSync(join(place, 'l.json'), 'utf8')
  expect(JSON.parse(written)).toEqual({ vehicle_types: { SLEIGH: 'car' }, actions: { 'Refresh Rate': 'quote.get' } })
  const again = await transload(['rehearse', 'a.ndjson', '--json'], place, { LOOKUPS_FILE: 'l.json' })
  expect(JSON.parse(again.out).calls).toMatchObject({ pass: 4, lossy: 0, refused: 0 })
  const store = { STORE_URL: 'sqlite:./store.db' }
  const imported = await transload(['xref', 'import', 'n.ndjson', '--json'], place, store)
  expect(JSON.parse(imported.out)).toMatchObject({ conflicts: 2, badRows: 0 })
  const got = await transload(['xref', 'get', bookingExample.ReferenceNumber, '--tenant', 'acme'], place, store)
  expect(got.out).toContain(`"id":"${other}"`)
})

test('lookups have no words of a free text, which a recording may have masked', async () => {
  const blank = { PickupCommodityCode: '', DeliveryCommodityCode: '', LoadReference: '' }
  const lines = [
    quote({ client: 'acme', request: { ...quoteExample, ...blank, LoadReference: 'Wkzrt 38 Nbvth' } }),
    quote({ client: 'acme', request: { ...quoteExample, ...blank, PickupCommodityCode: 'Sleigh' } }),
  ]
  const { place } = await report({ 'a.ndjson': lines.map(line).join('') }, ['--lookups', 'l.json'])
  expect(JSON.parse(readFileSync(join(place, 'l.json'), 'utf8')).vehicle_types).toEqual({ SLEIGH: 'car' })
})

test('tenants have their settings, names and limits', async () => {
  const tenant = { v2: { client_id: 'v2', client_secret: { env: 'NOT_HERE' } } }
  const tenants = [
    {
      ...tenant,
      name: 'acme',
      credentials: [{ id: 'acme-legacy', secret_hash: `$scrypt$ln=15,r=8,p=1$${'a'.repeat(22)}$${'b'.repeat(43)}` }],
      actions: { 'Refresh Rate': 'quote.get' },
      limits: { per_second: 1 },
    },
    { ...tenant, name: 'yard', networks: ['192.0.2.0/24'] },
  ]
  const request = { ...quoteExample, ActionName: 'Refresh Rate' }
  const basic = (id: string) => ({ Authorization: `Basic ${Buffer.from(`${id}:Kanari`).toString('base64')}` })
  const lines = [
    quote({ request, headers: basic('acme-legacy'), at: 1_767_600_000 }),
    quote({ request, client: 'acme-legacy', at: 1_767_600_000 }),
    quote({ request, source: '192.0.2.9' }),
    quote({ headers: basic('nobody') }),
  ]
  const place = folder()
  write(place, { 'a.ndjson': lines.map(line).join(''), 'tenants.json': JSON.stringify({ tenants }) })
  const text = await transcript(place, ['rehearse a.ndjson'], { TENANTS_FILE: 'tenants.json' })
  expect(text).not.toMatch(CANARIES)
  await expect(text).toMatchFileSnapshot('tenants.txt')
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

test('the answers of the service are compared: quotes and reads only, without noise and what is ignored', async () => {
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

test('mistakes of the command line end in one line', async () => {
  const place = folder()
  write(place, { 'a.ndjson': line(quote()), 'other.ndjson': line({ path: '/v2/quote' }) })
  const lines = [
    'rehearse none.ndjson',
    'rehearse --min-pass 101',
    'rehearse a.ndjson --html ./a.ndjson',
    'rehearse --against us',
    'rehearse a.ndjson --keep 2',
    'rehearse other.ndjson --keep 1',
    'rehearse a.ndjson a.ndjson --keep 1',
    'rehearse other.ndjson',
  ]
  await expect(
    await transcript(place, lines, { ...OWN, V2_BASE_URL: 'https://stage.example.com' }),
  ).toMatchFileSnapshot('mistakes.txt')
})

test('a rate of none is refused', async () => {
  const place = folder()
  write(place, { 'a.ndjson': line(quote()) })
  const ended = await transload(['rehearse', 'a.ndjson', '--against', 'service', '--rate', '0'], place, {
    ...OWN,
    V2_BASE_URL: 'http://127.0.0.1:1',
  })
  expect(ended).toMatchObject({ code: 64, err: expect.stringContaining('--rate takes a number from 0.01') })
})
