/** Promise: recordings of real programs are rehearsed (contract, section 8). */

import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { quoteExample } from '../../mappings/quote-rows.ts'
import type { Report } from '../../src/operator/reports/rehearsal.ts'
import { transload } from '../callers/commands.ts'
import { folder } from '../callers/tenants-gateway.ts'
import { output } from '../command.ts'

const body = JSON.stringify(quoteExample)

async function rehearsed(cwd: string, file: string): Promise<Report> {
  const found: Report = JSON.parse((await transload(['rehearse', '--json', file], cwd)).out)
  expect(found.unreadable).toEqual([])
  return found
}

test('a HAR of Chromium is rehearsed', { timeout: 120_000 }, async () => {
  const cwd = folder()
  const host = createServer((_, answer) => answer.setHeader('Content-Type', 'text/html').end('<!doctype html>{}'))
  onTestFinished(() => void host.close())
  await once(host.listen(0, '127.0.0.1'), 'listening')
  const browser = await chromium.launchPersistentContext(join(cwd, 'profile'), {
    executablePath: '/usr/bin/chromium',
    args: ['--headless', '--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking'],
    recordHar: { path: join(cwd, 'a.har'), content: 'embed' },
  })
  const page = await browser.newPage()
  // A server that listens on a port has an address with a port.
  await page.goto(`http://127.0.0.1:${(host.address() as AddressInfo).port}/`)
  await page.evaluate(async (body: string) => {
    const post = (more: object) => fetch('/getShippingQuote.php', { method: 'POST', ...more })
    await post({ body, headers: { 'Content-Type': 'application/json' } })
    await post({ body: new URLSearchParams(JSON.parse(body)) })
    await fetch('/getShipment.php?ReferenceNumber=R-1')
  }, body)
  await browser.close()
  const found = await rehearsed(cwd, 'a.har')
  expect(found.files).toEqual([{ name: 'a.har', format: 'HAR' }])
  expect(found).toMatchObject({ problems: [], calls: { all: 3, pass: 3, unseen: 0 } })
})

/** A line of nginx's log format `combined`. */
const combined = (request: string) =>
  `192.0.2.7 - - [05/Jan/2026:08:00:00 +0000] "${request} HTTP/1.1" 200 52 "-" "Say \\x22hi\\x22 \\x5C"\n`
/** Lines of an nginx log format with `escape=json`, as documented. */
const ofNginx = (request_method: string, request_uri: string, request_body: string) =>
  `${JSON.stringify({ time_iso8601: '2026-01-05T08:00:00+00:00', request_method, request_uri, remote_addr: '192.0.2.7', request_body })}\n`
const ofTshark = ['1767600000.25', 'POST', '/getShippingQuote.php', Buffer.from(body).toString('hex')].join('\t')

test.each([
  [
    'a combined log of nginx, which tells no bodies',
    combined('POST /getShippingQuote.php') + combined('GET /getShipment.php?ReferenceNumber=R%201'),
    { all: 2, pass: 1, unseen: 1 },
  ],
  [
    'a JSON log of nginx',
    ofNginx('POST', '/quotes/getShippingQuoteWTS.php', body) + ofNginx('GET', '/getShipment.php?ReferenceNumber=1', ''),
    { all: 2, pass: 2 },
  ],
  ['a raw request', `POST /getShippingQuote.php HTTP/1.1\r\nHost: x\r\n\r\n${body}`, { all: 1, pass: 1 }],
  ['a capture of packets', Buffer.from('d4c3b2a1020004000000', 'hex'), { all: 1, pass: 1 }],
] as const)('jq makes JSON lines of %s', async (_what, recorded, calls) => {
  const cwd = folder()
  writeFileSync(join(cwd, 'file'), recorded)
  const { code, err } = await transload(['rehearse', 'file'], cwd)
  expect(code).toBe(1)
  // Its input here is the output of tshark for a capture.
  const program = err.slice(err.indexOf('jq '))
  const input = typeof recorded === 'string' ? {} : { input: `${ofTshark}\n` }
  writeFileSync(join(cwd, 'made.ndjson'), await output('bash', ['-c', program], { cwd, ...input }))
  expect((await rehearsed(cwd, 'made.ndjson')).calls).toMatchObject(calls)
})
