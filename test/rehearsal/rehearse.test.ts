/** Promise: a rehearsal tells what would become of recorded calls, and shows no values (contract, section 8). */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import { expect, onTestFinished, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import type { Report } from '../../src/rehearsal/report.ts'
import { transload } from '../callers/commands.ts'
import { folder } from '../callers/edge.ts'
import { cleanEnv, ROOT } from '../command.ts'
import { transcript } from '../commands/transcript.ts'
import { CLIENT, OWN } from '../gateway.ts'
import { type SandboxOptions, startSandbox } from '../stand-in/stand-in.ts'
import { defects, generate, LIMIT_BYTES } from './generator.ts'
import { expectSeeded } from './seeded.ts'

const line = (value: object): string => `${JSON.stringify(value)}\n`
const quote = (more: object = {}) => ({ path: '/getShippingQuote.php', body: quoteExample, ...more })

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

test.each(['1', '2'])(
  'each seeded defect is found with its exact count, and nothing else, on %s threads',
  async (threads) => {
    const turns = 4_000
    const recording = [...generate(turns)].join('')
    const env = { BODY_LIMIT_BYTES: String(LIMIT_BYTES) }
    const { found } = await report({ 'a.ndjson': recording }, ['--threads', threads], env)
    expect(defects.length).toBeGreaterThanOrEqual(30)
    expectSeeded(found, turns)
  },
)

const LOG =
  '192.0.2.7 - acme [05/Jan/2026:08:00:00 +0100] "GET /quotes/getShipment.php?ReferenceNumber=R-1 HTTP/1.0" 200 512 "-" "cron"\n'
const RAW = (body: string) =>
  `POST /getShippingQuote.php HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\r\n${body}`

test('every format is recognized by its content, compressed or not, and in folders', async () => {
  const har = {
    log: {
      version: '1.2',
      pages: [{ title: '[{"entries' }],
      entries: [1, 2].map(() => ({
        startedDateTime: '2026-01-05T08:00:00.000Z',
        request: {
          method: 'POST',
          url: 'https://old.example.com/getShippingQuote.php?',
          httpVersion: 'http/1.1',
          headers: [],
          postData: { mimeType: 'text/plain', text: JSON.stringify(quoteExample) },
        },
        response: { status: 200, headers: [], content: { text: '{}' } },
      })),
    },
  }
  const body = JSON.stringify(quoteExample)
  const chunked = `${RAW('').replace('\r\n\r\n', '\r\nTransfer-Encoding: chunked\r\n\r\n')}${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
  const files = {
    'a.har': JSON.stringify(har, null, 2),
    'b.gz': gzipSync(line(quote())),
    'c.zst': zstdCompressSync(line(quote())),
    'd.log':
      LOG +
      LOG.replace('200 512', '200 -') +
      LOG.replace('GET /quotes/getShipment.php?ReferenceNumber=R-1', 'POST /getShippingQuote.php'),
    'e.json': `${line({ time_local: '05/Jan/2026:08:00:00 +0100', request: 'POST /getShippingQuote.php HTTP/1.1', status: '200', request_body: body, remote_addr: '192.0.2.9' })}`,
    'f/one': RAW(body),
    'f/two': chunked,
    'f/quote.get-three': new URLSearchParams(quoteExample).toString(),
    'f/four.json': body,
    'g.ndjson': `\ufeff${line(quote())}\n\r\n  ${line(quote()).trim()}\r\n`,
    'h.ndjson': line({
      path: '/getShippingQuote.php',
      body_hex: Buffer.from(body).toString('hex'),
      at: '1767600000.5',
    }),
    'i.ndjson': line(
      quote({
        body: undefined,
        body_base64: gzipSync(body).toString('base64'),
        headers: { 'Content-Encoding': 'gzip' },
      }),
    ),
  }
  const place = folder()
  write(place, files)
  const lines = [`rehearse ${Object.keys(files).join(' ')}`]
  await expect(await transcript(place, lines)).toMatchFileSnapshot('formats.txt')
})

test('damaged, truncated and hostile files end in a clear line and a right count', async () => {
  const many = line(quote()).repeat(2_000)
  const packed = gzipSync(many)
  const { found, err } = await report({
    'cut.gz': packed.subarray(0, packed.length - 20),
    'broken.zst': Buffer.concat([zstdCompressSync(line(quote())).subarray(0, 12), Buffer.alloc(64, 7)]),
    'bomb.gz': gzipSync(Buffer.alloc(64 * 1024 * 1024)),
    'twice.gz': gzipSync(packed),
    'long.ndjson': `${line(quote())}{"path":"${'x'.repeat(40 * 1024 * 1024)}"}\n${line(quote())}`,
    binary: Buffer.from([0, 1, 2, 255, 254, 10, 0]),
    empty: '',
    'capture.pcap': Buffer.from('d4c3b2a1020004000000', 'hex'),
    'cut.har': '{"log":{"entries":[{"request":{"url":"http://x/getShippingQuote.php","method":"GET"}},{"requ',
    'mixed.ndjson': `${line(quote())}{"path":\nnonsense\n[]\n{}\n${line({ path: 5 })}${line(quote())}${'{"a":'.repeat(100_000)}\n`,
  })
  expect(err).toBe('')
  expect(found.files.map(({ name, fault }) => `${name}: ${fault ?? ''}`).join('\n')).toMatchInlineSnapshot(`
    "cut.gz: is cut off: the rest is missing
    broken.zst: is cut off: the rest is missing
    bomb.gz: is no recording: no HAR, JSON lines, access log or request
    twice.gz: is compressed twice; decompress it once
    long.ndjson: 
    binary: is no recording: no HAR, JSON lines, access log or request
    empty: is empty
    capture.pcap: is a capture of packets; make JSON lines of it first: tshark -r capture.pcap -Y http.request -T fields -e frame.time_epoch -e http.request.method -e http.request.uri -e http.file_data | jq -Rc 'split("\\t") | {at: .[0], method: .[1], path: .[2], body_hex: .[3]}'
    cut.har: is cut off: the rest is missing
    mixed.ndjson: "
  `)
  expect(found.unreadable.map(({ why, count }) => `${count} ${why}`)).toMatchInlineSnapshot(`
    [
      "4 is not JSON",
      "2 is no line of an access log, and not JSON",
      "2 has no path of a request",
      "1 is longer than 16 MiB",
    ]
  `)
  expect(found.calls.pass).toBeGreaterThan(1_000)
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
      body: fields,
      reply: { Cost: '1', ShipmentNumber: 'KANARI77', Message: 'Xaviera' },
      service: { price: 2, shipment_id: 'KANARI77' },
    }),
    quote({ body: { ...fields, ActionName: 'Kanari Rate', CSR: '' } }),
    quote({
      body: { ...fields, CSR: '', EquipmentType: 'Kanari' },
      reply: { Cost: '1', ShipmentNumber: 'xKANARI77' },
      service: { price: 2, shipment_id: 'KANARI77' },
    }),
    quote({ body: { ...fields, CSR: '' } }),
    quote({ body: `BillToContact=Xaviera&KANARI77 <Quux>=1&&&` }),
    quote({ body: 'Xaviera Quux' }),
    { path: '/KANARI77/Xaviera-Quux/getShippingQuote.php?x=kanari', body: fields },
    {
      path: '/createShipment.php',
      body: {
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
  const written = ['--html', 'a.html', '--markdown', 'a.md', '--junit', 'a.xml', '--baseline', 'before.json']
  const before = { version: 1, at: '2026-01-01T00:00:00Z', share: 1, problems: [{ id: 'old problem' }], unknown: [] }
  const place = folder()
  write(place, { ...files, 'before.json': JSON.stringify(before) })
  const run = (...words: readonly string[]) =>
    transload(['rehearse', 'a.ndjson', ...words], place, { BODY_LIMIT_BYTES: '9000' })
  const { code, err, out } = await run('--json', ...written, '--min-pass', '99')
  const found: Report = JSON.parse(out)
  const [page = '', markdown = '', junit = ''] = ['a.html', 'a.md', 'a.xml'].map((name) =>
    readFileSync(join(place, name), 'utf8'),
  )
  expect({ code, err }).toEqual({ code: 1, err: '' })
  expect(found.problems.length).toBeGreaterThan(8)
  expect(found.changes).toMatchObject({ gone: ['old problem'], share: 1 })
  expect(found.changes?.appeared).toContain('refused quote.get EquipmentType equipmentType')
  for (const text of [out, page, markdown, junit, (await run()).out]) {
    expect(text).toContain('EquipmentType')
    expect(text).not.toMatch(CANARIES)
  }
  expect(page).toMatch(/<svg.*<rect class="bad"/)
  expect(page).not.toMatch(/<script|https?:/)
  expect(junit).toMatch(/<failure message="1 × EquipmentType must be/)
  expect((await run('--show-values')).out).toMatch(CANARIES)
})

test('lookups are written to edit, and numbers to import', async () => {
  const id = '6f1e4c1e-7a55-4b0c-9a3f-2f9d1c0b7e11'
  const other = '6f1e4c1e-7a55-4b0c-9a3f-2f9d1c0b7e12'
  const unknown = { ...quoteExample, PickupCommodityCode: 'Sleigh', DeliveryCommodityCode: '', LoadReference: '' }
  const lines = [
    quote({ client: 'acme', body: unknown, service: { price: 1, shipment_id: id } }),
    quote({ client: 'acme', body: unknown, reply: { Cost: '1', ShipmentNumber: other } }),
    quote({ client: 'acme', body: { ...quoteExample, ActionName: 'Refresh Rate' } }),
    { path: '/createShipment.php', client: 'acme', body: bookingExample, shipment_id: other },
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
  const body = { ...quoteExample, ActionName: 'Refresh Rate' }
  const basic = (id: string) => ({ Authorization: `Basic ${Buffer.from(`${id}:Kanari`).toString('base64')}` })
  const lines = [
    quote({ body, headers: basic('acme-legacy'), at: 1_767_600_000 }),
    quote({ body, client: 'acme-legacy', at: 1_767_600_000 }),
    quote({ body, source: '192.0.2.9' }),
    quote({ headers: basic('nobody') }),
  ]
  const place = folder()
  write(place, { 'a.ndjson': lines.map(line).join(''), 'tenants.json': JSON.stringify({ tenants }) })
  const text = await transcript(place, ['rehearse a.ndjson'], { TENANTS_FILE: 'tenants.json' })
  expect(text).not.toMatch(CANARIES)
  await expect(text).toMatchFileSnapshot('tenants.txt')
})

async function against(options: SandboxOptions, lines: readonly object[], words: readonly string[] = []) {
  const sandbox = await startSandbox({ credentials: { [CLIENT.id]: CLIENT.secret }, ...options })
  onTestFinished(() => sandbox.close())
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
  { path: '/createShipment.php', body: bookingExample },
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

test('calls that change something are asked only where the address is named as the stage', async () => {
  const { sandbox } = await against({}, CALLS, ['--actions', 'shipment.create', '--stage', 'URL'])
  expect(sandbox.requests.map(({ path }) => path)).toEqual(['/createShipment.php'])
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
  write(place, { 'a.json': '{}', none: 'GET / HTTP/1.1\r\n\r\n' })
  const lines = [
    'rehearse none.ndjson',
    'rehearse --min-pass 101',
    'rehearse --baseline a.json',
    'rehearse a.json --html ./a.json',
    'rehearse --against us',
    'rehearse --against service --actions shipment.create',
    'rehearse none',
  ]
  await expect(
    await transcript(place, lines, { ...OWN, V2_BASE_URL: 'https://stage.example.com' }),
  ).toMatchFileSnapshot('mistakes.txt')
})
