/** Promise: a rehearsal tells what would become of recorded calls, and shows no values (contract, section 8). */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import { expect, onTestFinished, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import type { Report } from '../../src/rehearsal/report.ts'
import { transload } from '../callers/commands.ts'
import { cleanEnv, newFolder, ROOT } from '../command.ts'
import { CLIENT, OWN } from '../gateway.ts'
import { type SandboxOptions, startSandbox } from '../stand-in/stand-in.ts'
import { defects, generate, LIMIT_BYTES } from './generator.ts'
import { expectSeeded } from './seeded.ts'

function folder(): string {
  const path = newFolder('rehearse')
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}

const line = (value: object): string => `${JSON.stringify(value)}\n`
const quote = (more: object = {}) => ({ path: '/getShippingQuote.php', body: quoteExample, ...more })

/** Rehearses files that are given by name, and returns the report. */
async function report(
  files: Readonly<Record<string, string | Uint8Array>>,
  words: readonly string[] = [],
  env: NodeJS.ProcessEnv = {},
) {
  const cwd = folder()
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(join(cwd, name, '..'), { recursive: true })
    writeFileSync(join(cwd, name), content)
  }
  const { code, out, err } = await transload(['rehearse', ...Object.keys(files), '--json', ...words], cwd, env)
  return { code, err, cwd, found: JSON.parse(out) as Report }
}

test.each([1, 2])(
  'each seeded defect is found with its exact count, and nothing else, on %d threads',
  async (threads) => {
    const turns = 4_000
    const recording = [...generate(turns)].join('')
    const { found } = await report({ 'a.ndjson': recording }, ['--threads', String(threads)], {
      BODY_LIMIT_BYTES: String(LIMIT_BYTES),
    })
    expect(defects.length).toBeGreaterThanOrEqual(30)
    expectSeeded(found, turns)
  },
)

const LOG =
  '192.0.2.7 - acme [05/Jan/2026:08:00:00 +0100] "GET /quotes/getShipment.php?ReferenceNumber=R-1 HTTP/1.0" 200 512 "-" "cron"\n'
const RAW = (body: string) =>
  `POST /getShippingQuote.php HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\r\n${body}`

test('every format is recognized by its content, compressed or not, in folders, and from standard input', async () => {
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
  const { found, code } = await report({
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
  })
  expect(code).toBe(0)
  expect(found.files.map(({ format, fault }) => fault ?? format)).toEqual([
    ...['HAR', 'JSON lines, gzip', 'JSON lines, zstd', 'access log', 'JSON lines', 'raw request', 'raw request'],
    ...['body', 'body', 'JSON lines', 'JSON lines', 'JSON lines'],
  ])
  expect(found).toMatchObject({
    unreadable: [],
    problems: [],
    calls: { all: 16, pass: 15, lossy: 0, refused: 0, unseen: 1 },
  })
  const cwd = folder()
  const piped = await transload(['rehearse', '--json'], cwd, {}, line(quote()).repeat(3))
  expect(JSON.parse(piped.out).calls.pass).toBe(3)
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

const CANARIES = ['KANARI77', 'Xaviera', 'Quux', '2145559988', 'xaviera', '9KANARI', 'kanari', 'Kanari']

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
  const run = (...words: readonly string[]) =>
    report({ ...files, 'before.json': JSON.stringify(before) }, words, { BODY_LIMIT_BYTES: '9000' }).then(
      ({ found, cwd, ...rest }) => ({
        ...rest,
        found,
        texts: [
          JSON.stringify(found),
          ...['a.html', 'a.md', 'a.xml'].map((name) => readFileSync(join(cwd, name), 'utf8')),
        ],
      }),
    )
  const { code, err, found, texts } = await run(...written, '--min-pass', '99')
  expect({ code, err }).toEqual({ code: 1, err: '' })
  expect(found.problems.length).toBeGreaterThan(8)
  expect(found.changes).toMatchObject({ gone: ['old problem'], share: 1 })
  expect(found.changes?.appeared).toContain('refused quote.get EquipmentType equipmentType')
  for (const text of texts)
    for (const canary of CANARIES) expect(text.toLowerCase()).not.toContain(canary.toLowerCase())
  for (const text of texts) expect(text).toContain('EquipmentType')
  expect(texts[1]).toMatch(/<svg.*<rect class="bad"/)
  expect(texts[1]).not.toMatch(/<script|https?:/)
  expect(texts[3]).toMatch(/<failure message="1 × EquipmentType must be/)
  const shown = await run(...written, '--show-values')
  expect(shown.texts[0]).toContain('KANARI')
  const plain = await transload(['rehearse', 'a.ndjson'], (await report(files)).cwd, { BODY_LIMIT_BYTES: '9000' })
  for (const canary of CANARIES) expect(plain.out.toLowerCase()).not.toContain(canary.toLowerCase())
  expect(plain.out).toContain('EquipmentType must be')
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
  const { cwd, code } = await report({ 'a.ndjson': lines.map(line).join('') }, [
    '--lookups',
    'l.json',
    '--learn',
    'n.ndjson',
  ])
  expect(code).toBe(0)
  expect([statSync(join(cwd, 'l.json')).mode & 0o777, statSync(join(cwd, 'n.ndjson')).mode & 0o777]).toEqual([
    0o600, 0o600,
  ])
  const written = readFileSync(join(cwd, 'l.json'), 'utf8')
  expect(JSON.parse(written)).toEqual({ vehicle_types: { SLEIGH: 'car' }, actions: { 'Refresh Rate': 'quote.get' } })
  const again = await transload(['rehearse', 'a.ndjson', '--json'], cwd, { LOOKUPS_FILE: 'l.json' })
  expect(JSON.parse(again.out).calls).toMatchObject({ pass: 4, lossy: 0, refused: 0 })
  const store = { STORE_URL: 'sqlite:./store.db' }
  const imported = await transload(['xref', 'import', 'n.ndjson', '--json'], cwd, store)
  expect(JSON.parse(imported.out)).toMatchObject({ conflicts: 2, badRows: 0 })
  const got = await transload(['xref', 'get', bookingExample.ReferenceNumber, '--tenant', 'acme'], cwd, store)
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
  const { found } = await report(
    { 'a.ndjson': lines.map(line).join(''), 'tenants.json': JSON.stringify({ tenants }) },
    [],
    { TENANTS_FILE: 'tenants.json' },
  )
  expect(found.groups.map(({ caller, pass, refused }) => [caller, pass, refused])).toEqual([
    ['yard', 0, 1],
    ['nobody', 0, 1],
    ['acme', 2, 0],
  ])
  expect(found.load.peaks).toContainEqual(expect.objectContaining({ caller: 'acme', count: 2, limit: 1 }))
  expect(found.problems.map(({ id }) => id)).toEqual(['refused ActionName action-unknown', 'refused credential-wrong'])
  expect(JSON.stringify(found)).not.toContain('Kanari')
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
  const cwd = folder()
  const refused = await transload(['rehearse', '--against', 'service', '--actions', 'shipment.create'], cwd, {
    ...OWN,
    V2_BASE_URL: 'https://stage.example.com',
  })
  expect(refused).toMatchObject({ code: 64, err: expect.stringContaining('--actions needs --stage') })
  const { sandbox } = await against({}, CALLS, ['--actions', 'shipment.create', '--stage', 'URL'])
  expect(sandbox.requests.map(({ path }) => path)).toEqual(['/createShipment.php'])
})

test('Ctrl-C leaves a report of what was read', async () => {
  const cwd = folder()
  const child = spawn(process.execPath, [join(ROOT, 'src/main.ts'), 'rehearse', '--json'], {
    cwd,
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
  const cwd = folder()
  writeFileSync(join(cwd, 'a.json'), '{}')
  const ends = [
    [['none.ndjson'], 1, /^transload: cannot \w+ none\.ndjson: no such file or directory\n$/],
    [['--min-pass', '101'], 64, /--min-pass takes a number up to 100/],
    [['--baseline', 'a.json'], 1, /no report of transload rehearse --json/],
    [['a.json', '--html', './a.json'], 64, /a\.json is a recording; it would be overwritten/],
    [['--against', 'us'], 64, /--against takes service/],
  ] as const
  for (const [words, code, err] of ends) {
    expect(
      await transload(['rehearse', ...words], cwd, { V2_BASE_URL: 'https://stage.example.com' }, ''),
    ).toMatchObject({ code, err: expect.stringMatching(err) })
  }
  const nothing = await transload(['rehearse'], cwd, {}, 'GET / HTTP/1.1\r\n\r\n')
  expect(nothing).toMatchObject({ code: 1, err: 'transload: no call of version 1 was found\n' })
})
