/** Promise: pasted text is explained as by the dry run, and kept nowhere (contract, section 8). */

import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { loadMappings } from '../../mappings/load.ts'
import { anchorOf, errorTable } from '../../src/language/errors.ts'
import { messages } from '../../src/language/messages.ts'
import { newFolder } from '../command.ts'
import { get, post, startGateway, type TestGateway } from '../gateway.ts'
import { CSP, expectWords, HTML, partOf } from './browser.ts'
import { HOSTILE } from './sample-counts.ts'

const { actions } = await loadMappings()
const gateway = await startGateway({ closeAt: afterAll })
beforeEach(() => {
  gateway.sandbox.requests.length = 0
})

async function send({ url }: TestGateway, fields: Readonly<Record<string, string>>) {
  const reply = await fetch(url, { method: 'POST', headers: HTML, body: new URLSearchParams(fields) })
  const text = await reply.text()
  return { status: reply.status, text, sent: bodyIn(text) }
}

const decoded = (html: string) =>
  html
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&')

/** Returns the version-2 body on a page, without the line numbers. */
function bodyIn(page: string): unknown {
  const json = partOf(page, /<pre class="json[^>]*>(\{.*?)<\/pre>/s)
  return json === '' ? undefined : JSON.parse(decoded(json.replace(/<a [^>]*>\d+<\/a>|<[^>]*>/g, '')))
}

test('every action, pasted in any form, is explained as by the dry run', async () => {
  for (const { action } of actions.values()) {
    const { request } = action.example
    const { method, paths } = action.legacy
    const json = JSON.stringify(request)
    const form = new URLSearchParams(request).toString()
    const [target, data] =
      method === 'GET' ? [`${paths[0]}?${form}`, ''] : [paths[0], ` --json '${json.replaceAll("'", "'\\''")}'`]
    const dryRun = `/dry-run${target}`
    const explained = await (method === 'GET'
      ? get(gateway, dryRun)
      : post(gateway, dryRun, request, { authorization: '' }))
    for (const [body, path] of [
      [json, paths[0] ?? ''],
      [form, paths[0] ?? ''],
      [`curl -u id:secret 'https://old.example.com/quotes${target}' \\\n ${data}`, ''],
      // As browsers and terminals on Windows copy it, with options that look like an address.
      [
        `$ curl.exe -A Mozilla/5.0 -e https://shop.example.com/x 'https://old.example.com${target}' ${data && `--data-raw $'${json.replaceAll("'", "\\'")}'`}`,
        '',
      ],
      [`${method} ${target} HTTP/1.1\r\nHost: old.example.com\r\n\r\n${method === 'GET' ? '' : form}`, ''],
    ] as const) {
      const { status, text, sent } = await send(gateway, { body, path })
      expect(status, body).toBe(200)
      expect(sent, body).toEqual(explained.json.request.body)
      const verdict = `Would be sent: <code>${explained.json.request.method} /v2/`
      expectWords(text, verdict, `aria-current="true">${action.name}</a>`, `id="back" data-action="${action.name}"`)
      for (const [, place] of text.matchAll(/href="#(to-\d+)"/g)) expectWords(text, `id="${place}"`)
    }
  }
})

test('the first screen is an example that is translated; with WORKBENCH=off, it is a line of text', async () => {
  const page = await get(gateway, '/', HTML)
  expect(bodyIn(page.text)).toMatchObject({ pickup: '10314', delivery: '33166' })
  expect(page.headers.get('content-security-policy')).toBe(CSP)
  // As curl asks, and as a version-1 call without its path is sent.
  expect((await get(gateway, '/', { accept: '*/*' })).headers.get('content-type')).toBe('text/html; charset=utf-8')
  expect((await post(gateway, '/', {})).status).toBe(405)
  const off = await startGateway({ env: { WORKBENCH: 'off' } })
  for (const path of ['/', '/reference', '/guide']) {
    expect((await get(gateway, path, HTML)).text, path).toMatch(/^<!doctype html>/)
    expect((await get(off, path, HTML)).text, path).toMatch(/^Transload answers/)
  }
})

test('a request that the wire refuses is refused with the same answer', async () => {
  const changed = (change: object) => JSON.stringify({ ...bookingExample, ...change })
  for (const [path, body, status] of [
    ['/createShipment.php', changed({ ActionName: 'MakeBoking' }), 422],
    ['/createShipment.php', changed({ PickupZip: 'x', DeliveryZip: '', VinNo: 'y' }), 422],
    ['/getShippingQuote.php', '{"ShipmentNumber":"R-1","TempShipFromPostalCode":"10314"}', 422],
    ['/updateShipment.php', '{"PickupCity":"Reno"}', 422],
    ['/createShipment.php', '{"pickup":{},"PickupZip":"10314"}', 422],
    ['/createShipment.php', '{"PickupZip":', 400],
    ['/createShipment.php', '', 400],
    ['/getShipment.php', '{"ReferenceNumber":"R-1"}', 405],
    ['/api/createShipment.php', '{"ReferenceNumber":"R-1"}', 404],
  ] as const) {
    const wire = await post(gateway, path, body)
    expect(wire.status, body).toBe(status)
    const { text } = await send(gateway, { body: `POST ${path} HTTP/1.1\r\nHost: old.example.com\r\n\r\n${body}` })
    const help = partOf(wire.headers.get('link') ?? '', /<(\/reference#[\w-]+)>/)
    expectWords(text, `Would be refused: ${status}`, `href="${help}"`)
    const answer = partOf(text, /<h2>The caller gets<\/h2>\s*<div class="code"><pre[^>]*>(.*?)<\/pre>/s)
    expect(JSON.parse(decoded(answer)), body).toEqual(wire.json)
    expect(text).not.toMatch(/Transportation booked|Would be sent|class="json/)
  }
  // Without a path, the fields tell it.
  const body = changed({ ActionName: '', BillToName: '' })
  expect((await send(gateway, { body })).text).toContain('lacks from the quote')
  expect(gateway.sandbox.requests).toEqual([])
})

test('the calls in the documents select their own action, whatever was shown before', async () => {
  const text = readFileSync('README.md', 'utf8') + readFileSync('docs/wire.md', 'utf8')
  const lines = text.match(/^curl (?!.*@old).*\.php.*$/gm) ?? []
  const names = 'quote.get shipment.create shipment.get quote.get quote.get quote.get'.split(' ')
  for (const [at, name] of names.entries()) {
    const { text } = await send(gateway, { body: lines[at] ?? '', reply: '{"price":1}', replyTo: 'quote.update' })
    expectWords(text, 'Would be sent', `aria-current="true">${name}</a>`, `name="replyTo" value="${name}"`)
    expect(decoded(text)).not.toContain('{"price":1}')
  }
})

test('version-2 bodies and paths pass unchanged', async () => {
  const { text, sent } = await send(gateway, {
    body: 'POST /getShippingQuote.php\n\n{"pickup":"10314"}',
  })
  expect(text).toContain('Would be sent unchanged: <code>POST /v2/quote</code>')
  expect(sent).toEqual({ pickup: '10314' })
  const body = 'curl https://gateway.example.com/v2/shipments/S-1'
  expect((await send(gateway, { body })).text).toContain(
    'Would be passed on unchanged: <code>GET /v2/shipments/S-1</code>',
  )
})

test('rows that need attention come first, each field once, and its text is marked', async () => {
  const fields = {
    ActionName: 'MakeBooking',
    Year: '23',
    PickupZip: '02134-1234',
    PikupCity: 'Boston',
    DeliveryZip: '33166',
    BillToName: 'Pat Example',
    BillToPhNo: '(214) 555-0000',
    DeliveryName: '',
  }
  const body = `POST /createShipment.php\n\n${JSON.stringify(fields)}`
  const { text } = await send(gateway, { body })
  const account = partOf(text, /<div id="account">(.*?)<div class="pair" id="back"/s)
  const [rows = '', folded = ''] = account.split('<details>')
  const kinds = rows.match(/<tr role="row"><td.*?<\/tr>/gs)?.map((row) => partOf(row, /<b[^>]*>(\w+)<\/b>/))
  expect(kinds).toEqual(['problem', 'problem', 'unknown', 'lost', 'assumed', '', '', ''])
  expect(account.match(/four digits/g)).toHaveLength(1)
  expect(rows).toContain('Did you mean <code>PickupCity</code>?')
  // A rule is described where it changed a value, and nowhere else.
  expect(rows).toMatch(/\(214\) 555-0000.*?customer\.phone = 2145550000.*?A phone number as digits\./s)
  expect(rows).toMatch(/customer\.customer_name = Pat Example<\/bdi><\/code><\/div><\/td><td[^>]*><div><\/div>/)
  expect(account).not.toMatch(/zipcode<\/|`|null/)
  expect(folded).toMatch(/<summary>Not used \(2\)<\/summary>.*blank, which counts as not sent/s)
  const marks = decoded(partOf(text, /<pre id="marks"[^>]*>(.*?)<\/pre>/s))
  expectWords(
    marks,
    '<span class="is-problem" data-n="1">"Year":"23"</span>',
    '<span class="is-unknown" data-n="3">"PikupCity":"Boston"</span>',
    '<span class="is-noted" data-n="4">"PickupZip":"02134-1234"</span>',
  )
  expect(marks).toMatch(/<span class="is-used" data-n="\d+">"BillToPhNo":"\(214\) 555-0000"<\/span>/)
  expect(marks.replace(/<[^>]*>/g, '').trim()).toBe(body)
})

test('pasted text is shown as text, and kept nowhere', async () => {
  const canary = 'CANARY-5550100'
  const hostile: readonly string[] = [
    JSON.stringify({ [HOSTILE]: `${HOSTILE}${canary}`, PickupName: '</textarea><script>alert(1)</script>' }),
    `${canary}\0\u202e<script>alert(1)</script>`,
    `{"a":${'['.repeat(5_000)}`,
    `{"PickupName":"${'x'.repeat(10 * 1024)}"}`,
    `curl ${"'".repeat(10_000)}`,
    `VinNo=${'\\"'.repeat(4_000)}`,
    '',
  ]
  for (const body of hostile) {
    const { status, text } = await send(gateway, { body })
    expect(status).toBe(200)
    expect(text).not.toMatch(/<script>|<img|\u202e|\0/)
  }
  expect(JSON.stringify(gateway.lines())).not.toContain(canary)
  expect((await gateway.store.listClaims({})).length).toBe(0)
  expect(gateway.sandbox.requests).toEqual([])
  const huge = { method: 'POST', headers: HTML, body: 'x'.repeat(2 * 1024 * 1024) }
  expect((await fetch(gateway.url, huge)).status).toBe(413)
})

test('the reference has every field and error', async () => {
  const folder = newFolder('reference')
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const LOOKUPS_FILE = join(folder, 'lookups.json')
  writeFileSync(LOOKUPS_FILE, '{"vehicle_types": {"SPACE SHIP": "truck"}}')
  const gateway = await startGateway({ env: { LOOKUPS_FILE } })
  const reference = (await get(gateway, '/reference', HTML)).text.replaceAll('<wbr>', '')
  for (const { fields, action } of actions.values())
    expectWords(reference, ...fields.names.map((field) => `<code>${field}</code>`), `href="/?example=${action.name}"`)
  // Each value table, including an operator's phrase, and each mark of an assumption leads to its row.
  expectWords(reference, 'ALABAMA', 'OPEN AUTO', 'CREW CAB', 'SPACE SHIP')
  const anchors = [...reference.matchAll(/href="#([\w.-]+)"/g)].map(([, id]) => id)
  expect(anchors).toEqual(expect.arrayContaining(['values-state', 'shipment.create', 'errors']))
  expectWords(reference, ...anchors.map((id) => `id="${id}"`))
  // Each error is described once, for callers; its row and its code have anchors.
  for (const name of [...Object.keys(messages), ...Object.keys(errorTable)]) {
    const count = reference.split(` id="${anchorOf(name)}"`).length - 1
    expect(count, name).toBe(/^path-unknown\/(admin|booking|stored-event|tenant)$/.test(name) ? 0 : 1)
  }
  expect(reference).toMatch(
    /outcome-unknown<\/code> <small>503<\/small><\/td>.*?>Not known<\/td><td role="cell">No<\/td>/,
  )
  expect(reference).not.toMatch(/`|ssumptions/)
  expect(reference.slice(reference.indexOf('id="errors"'))).not.toMatch(/\{\w+\}/)
  // A booking has its title, what it requires, an example and its answer.
  expectWords(
    decoded(partOf(reference, /<section class="entry" id="shipment.create">(.*?)<\/section>/s)),
    '<h2>Book a shipment — <code>POST /createShipment.php</code></h2>',
    '<code>VinNo</code> or <code>Year + Make + Model</code>',
    '"TransportationBooked": "Yes"',
  )
  expect(Buffer.byteLength(reference)).toBeLessThan(120 * 1024)
})

test('the guide has each step of a move, each call, and what a caller has of its own', async () => {
  const gateway = await startGateway({ env: { SUNSET: '2093-01-01' } })
  const guide = (await get(gateway, '/guide', HTML)).text
  const titles = [...guide.matchAll(/<li><h2>([^<]+)<\/h2>/g)].map(([, title]) => title)
  expect(titles).toEqual([
    'Get a credential',
    "Call the service's address",
    'Replace each call',
    'Keep the ids',
    'Handle errors by status',
    'Test, then switch',
    'Stay informed',
  ])
  expectWords(
    guide,
    ...[...actions.values()].map(({ action }) => action.service.path),
    'Authorization: Basic',
    gateway.sandbox.url,
    'test address',
    '2.0.0',
    'two months before',
    '2093-01-01',
    'href="/my"',
    'href="/my/numbers.csv"',
    '/check/last',
    '>Change a shipment</a>',
  )
  expect(guide).not.toContain('stay unchanged')
})
