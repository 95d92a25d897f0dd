/** Promise: what a visitor pastes is explained as by the dry run, and kept nowhere (contract, section 8). */

import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runInNewContext } from 'node:vm'
import { gzipSync } from 'node:zlib'
import { expect, onTestFinished, test } from 'vitest'
import { loadMappings } from '../../mappings/load.ts'
import { errorTable } from '../../src/language/errors.ts'
import { newFolder } from '../command.ts'
import { get, post, startGateway, type TestGateway } from '../gateway.ts'
import { HOSTILE } from './sample-counts.ts'

const HTML = { accept: 'text/html' }
const { actions } = await loadMappings()

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

/** The version-2 body that a page shows, without its numbers. */
function bodyIn(page: string): unknown {
  const [, json] = /<pre class="json"[^>]*>(.*?)<\/pre>/s.exec(page) ?? []
  return json === undefined
    ? undefined
    : JSON.parse(decoded(json.replace(/<a [^>]*>\d+<\/a>/g, '').replace(/<[^>]*>/g, '')))
}

test.each([...actions.values()])(
  '$action.name, pasted in any form, is what the dry run explains',
  async ({ action }) => {
    const { request } = action.example
    const { method, paths } = action.legacy
    const json = JSON.stringify(request)
    const form = new URLSearchParams(request).toString()
    const [target, data] =
      method === 'GET' ? [`${paths[0]}?${form}`, ''] : [paths[0], ` --data '${json.replaceAll("'", "'\\''")}'`]
    const gateway = await startGateway()
    const explained =
      method === 'GET'
        ? (await get(gateway, `/dry-run${target}`)).json
        : (await post(gateway, `/dry-run${target}`, request, { authorization: '' })).json
    for (const [body, chosen] of [
      [json, action.name],
      [form, action.name],
      [`curl -u id:secret 'https://old.example.com/quotes${target}' \\\n ${data}`, ''],
      [`${method} ${target} HTTP/1.1\r\nHost: old.example.com\r\n\r\n${method === 'GET' ? '' : form}`, ''],
    ] as const) {
      const { status, text, sent } = await send(gateway, { body, action: chosen })
      expect(status, body).toBe(200)
      expect(sent, body).toEqual(explained.request.body)
      expect(text).toContain(`<b>${explained.request.method}</b>`)
    }
  },
)

test('the first screen is an example that is translated; programs and WORKBENCH=off get a line of text', async () => {
  const gateway = await startGateway()
  const page = await get(gateway, '/', HTML)
  expect(bodyIn(page.text)).toMatchObject({ pickup: '10314', delivery: '33166' })
  expect(page.headers.get('content-security-policy')).toBe(
    "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
  )
  expect((await get(gateway, '/')).text).toMatch(/^Transload answers/)
  const off = await startGateway({ env: { WORKBENCH: 'off' } })
  expect((await get(off, '/', HTML)).text).toMatch(/^Transload answers/)
  for (const path of ['/reference', '/guide', '/workbench.js']) {
    expect((await get(gateway, path, HTML)).status, path).toBe(200)
    expect((await get(off, path, HTML)).status, path).toBe(404)
  }
})

test('the page, its style and its script take less than 60 KB', async () => {
  const gateway = await startGateway()
  const parts = await Promise.all(['/', '/style.css', '/workbench.js'].map((path) => get(gateway, path, HTML)))
  const [, , script] = parts
  expect(Buffer.byteLength(script?.text ?? '')).toBeLessThan(12 * 1024)
  const sizes = parts.map(({ text }) => Buffer.byteLength(text))
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(60 * 1024)
  expect(gzipSync(parts.map(({ text }) => text).join('')).length).toBeLessThan(20 * 1024)
})

test('a link to an example has no credential', async () => {
  const { text: script } = await get(await startGateway(), '/workbench.js')
  const document = { querySelector: () => null, getElementById: () => null }
  const withoutSecrets = runInNewContext(`${script};withoutSecrets`, { document })
  const rest = '\'https://user:hush@old.example.com/getShipment.php\' -d \'{"VinNo":"1"}\''
  for (const secret of [
    '-u id:hush',
    '-uid:hush',
    "-su 'id:hush it'",
    '--user "id:hush"',
    '--user=id:hush',
    '-U p:hush',
  ]) {
    expect(withoutSecrets(`curl ${secret} ${rest}`)).toBe(`curl -u *** ${rest.replace('user:hush@', '')}`)
  }
  for (const header of ["-H 'Authorization: Basic aHVzaA=='", '-H "authorization: Bearer hush"']) {
    expect(withoutSecrets(`curl ${header} ${rest}`)).not.toMatch(/hush|aHVzaA/)
  }
  expect(withoutSecrets('POST /x HTTP/1.1\r\nAuthorization: Basic aHVzaA==\r\n\r\na=1')).toBe(
    'POST /x HTTP/1.1\r\nAuthorization: ***\r\n\r\na=1',
  )
  const plain = '{"PickupName":"Pat -u Example","Note":"call: me"}'
  expect(withoutSecrets(plain)).toBe(plain)
})

test('assumed, lost, unused, unknown and wrong fields stand in words', async () => {
  const body = JSON.stringify({ PickupZip: '02134-1234', Foo: '1', ActionName: 'MakeBooking', DeliveryZip: 'x' })
  const { text } = await send(await startGateway(), { body, action: 'shipment.create' })
  for (const word of ['assumed', 'lost', 'not used', 'unknown', 'problem'])
    expect(text).toMatch(new RegExp(`<b[^>]*>${word}</b>`))
})

test('the way back shows what the version-1 caller gets', async () => {
  const gateway = await startGateway()
  const body = '{"ActionName":"Get Rate","TempShipFromPostalCode":"10314","TempShipToPostalCode":"33166"}'
  const { text } = await send(gateway, { body, action: '', reply: '{"shipment_id":"s-1","price":12.5}' })
  expect(decoded(text)).toContain('"Cost": "12.50"')
  expect((await send(gateway, { body, action: '', reply: '{' })).text).toContain('The reply is not JSON.')
})

test('what is pasted is shown as text, and kept nowhere', async () => {
  const gateway = await startGateway()
  const canary = 'CANARY-5550100'
  const hostile: readonly string[] = [
    JSON.stringify({ [HOSTILE]: `${HOSTILE}${canary}`, PickupName: '</textarea><script>alert(1)</script>' }),
    `${canary}\0\u202e<script>alert(1)</script>`,
    `{"a":${'['.repeat(5_000)}`,
    `{"PickupName":"${'x'.repeat(10 * 1024)}"}`,
    `curl ${"'".repeat(10_000)}`,
    '',
  ]
  for (const body of hostile) {
    const { status, text } = await send(gateway, { body, action: '' })
    expect(status).toBe(200)
    expect(text).not.toMatch(/<script>|<img|\u202e|\0/)
  }
  expect(JSON.stringify(gateway.lines())).not.toContain(canary)
  expect((await gateway.store.listClaims({})).length).toBe(0)
  expect(gateway.sandbox.requests).toEqual([])
  const huge = await fetch(gateway.url, { method: 'POST', headers: HTML, body: 'x'.repeat(2 * 1024 * 1024) })
  expect(huge.status).toBe(413)
})

test('the reference has every field and error, and the guide every call', async () => {
  const folder = newFolder('reference')
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const LOOKUPS_FILE = join(folder, 'lookups.json')
  writeFileSync(LOOKUPS_FILE, '{"vehicle_types": {"SPACE SHIP": "truck"}}')
  const gateway = await startGateway({ env: { SUNSET: '2093-01-01', LOOKUPS_FILE } })
  const reference = (await get(gateway, '/reference', HTML)).text
  for (const { fields, action } of actions.values()) {
    for (const field of fields.names) expect(reference).toContain(`<code>${field}</code>`)
    expect(reference).toContain(`href="/?example=${action.name}"`)
  }
  // Each value table, an operator's phrase too, and each mark of an assumption leads to its row.
  for (const text of ['ALABAMA', 'OPEN AUTO', 'CREW CAB', 'SPACE SHIP', 'vehicle-types-known'])
    expect(reference).toContain(text)
  const anchors = [...reference.matchAll(/href="#([\w.-]+)"/g)].map(([, id]) => `id="${id}"`)
  for (const id of ['id="values-state"', 'id="zip-is-integer"', 'id="external-id-twice"']) expect(anchors).toContain(id)
  for (const id of anchors) expect(reference).toContain(id)
  for (const code of Object.keys(errorTable)) expect(reference).toContain(`<code>${code}</code>`)
  const guide = (await get(gateway, '/guide', HTML)).text
  for (const { action } of actions.values()) expect(guide).toContain(action.service.path)
  expect(guide).toContain('2093-01-01')
})

test('the guide has each step of a move: credential, address, calls, ids, errors, stage, and news of the service', async () => {
  const gateway = await startGateway()
  const guide = (await get(gateway, '/guide', HTML)).text
  const titles = [...guide.matchAll(/<li><h2>([^<]+)<\/h2>/g)].map(([, title]) => title)
  expect(titles).toEqual([
    ...['Get a credential', "Call the service's address", 'Replace each call', 'Keep the ids'],
    ...['Handle errors by status', 'Test, then switch', 'Stay informed'],
  ])
  for (const text of ['Authorization: Basic', gateway.sandbox.url, 'test address', '2.0.0', 'two months before'])
    expect(guide).toContain(text)
})
