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
import { output, start } from '../command.ts'
import { freePort } from '../free-port.ts'

/** Starts a host that answers everything like the old one. */
async function startHost(): Promise<number> {
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      const isPage = request.url === '/'
      response.setHeader('Content-Type', isPage ? 'text/html' : 'application/json')
      response.end(isPage ? '<!doctype html><title>Host</title>' : '{"Cost":"1234.50","ShipmentNumber":"WTS-1"}')
    })
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  // A server that listens on a port has an address with a port.
  return (server.address() as AddressInfo).port
}

const body = JSON.stringify(quoteExample)

/** Calls a host as old callers do: a quote, one under a prefix, a read, a page and a script that is not known. */
async function call(url: string): Promise<void> {
  const post = { method: 'POST', body, headers: { 'Content-Type': 'application/json', 'User-Agent': 'Say "hi" \\ ü' } }
  await fetch(`${url}/getShippingQuote.php`, post)
  await fetch(`${url}/quotes/getShippingQuoteWTS.php`, { ...post, headers: { 'Content-Type': 'text/plain' } })
  await fetch(`${url}/getShipment.php?ReferenceNumber=R%201`)
  await fetch(`${url}/`)
  await fetch(`${url}/other.php`)
}

async function rehearsed(cwd: string, ...files: readonly string[]): Promise<Report> {
  return JSON.parse((await transload(['rehearse', '--json', ...files], cwd)).out)
}

/** Resolves once a server answers, whatever it says. */
const answers = (port: number) =>
  expect.poll(() => fetch(`http://127.0.0.1:${port}/ready`).catch(() => undefined), { timeout: 20_000 }).toBeDefined()

test('a HAR of Chromium is rehearsed', { timeout: 120_000 }, async () => {
  const cwd = folder()
  const port = await startHost()
  const browser = await chromium.launchPersistentContext(join(cwd, 'profile'), {
    executablePath: '/usr/bin/chromium',
    args: ['--headless', '--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking'],
    recordHar: { path: join(cwd, 'a.har'), content: 'embed' },
  })
  const page = await browser.newPage()
  await page.goto(`http://127.0.0.1:${port}/`)
  await page.evaluate(async (sent: string) => {
    const form = new URLSearchParams(JSON.parse(sent))
    await fetch('/getShippingQuote.php', {
      method: 'POST',
      body: sent,
      headers: { 'Content-Type': 'application/json' },
    })
    await fetch('/getShippingQuote.php', { method: 'POST', body: form })
    await fetch('/getShipment.php?ReferenceNumber=R-1')
  }, body)
  await browser.close()
  const found = await rehearsed(cwd, 'a.har')
  expect(found.files).toEqual([{ name: 'a.har', format: 'HAR' }])
  expect(found).toMatchObject({ unreadable: [], problems: [], calls: { all: 3, pass: 3, unseen: 0 } })
})

/** Runs the program that a rehearsal names for an input, and rehearses what it makes; `input` stands for what tshark prints. */
async function converted(cwd: string, file: string, input?: string): Promise<Report> {
  const { code, err } = await transload(['rehearse', file], cwd)
  expect(code).toBe(1)
  const program = err.slice(err.indexOf('JSON lines of it: ') + 'JSON lines of it: '.length)
  const lines = await output('bash', ['-c', program.slice(program.indexOf('jq '))], {
    cwd,
    ...(input !== undefined && { input }),
  })
  writeFileSync(join(cwd, 'made.ndjson'), lines)
  const found = await rehearsed(cwd, 'made.ndjson')
  expect(found.unreadable).toEqual([])
  return found
}

test('jq makes JSON lines of the logs of nginx', { timeout: 60_000 }, async () => {
  const cwd = folder()
  const [port, host] = [await freePort(), await startHost()]
  const json = [
    'time_iso8601:$time_iso8601',
    'request_method:$request_method',
    'request_uri:$request_uri',
    'remote_addr:$remote_addr',
    'request_body:$request_body',
  ]
  const members = json.map((member) => member.replace(/^(\w+):(.*)$/, '"$1":"$2"')).join(',')
  writeFileSync(
    join(cwd, 'nginx.conf'),
    `daemon off; pid ${cwd}/nginx.pid; error_log ${cwd}/error.log; events {}
http { client_body_temp_path ${cwd}/b; proxy_temp_path ${cwd}/p; fastcgi_temp_path ${cwd}/f; uwsgi_temp_path ${cwd}/u; scgi_temp_path ${cwd}/s;
  log_format json escape=json '{${members}}';
  server { listen 127.0.0.1:${port}; access_log ${cwd}/combined.log combined; access_log ${cwd}/json.log json;
    location = /ready { access_log off; return 200; } location / { proxy_pass http://127.0.0.1:${host}; } } }`,
  )
  const server = start('nginx', ['-p', cwd, '-c', join(cwd, 'nginx.conf'), '-e', join(cwd, 'error.log')])
  await answers(port)
  await call(`http://127.0.0.1:${port}`)
  server.signal('SIGTERM')
  await server.ended
  // An access log tells no bodies.
  const found = await converted(cwd, 'combined.log')
  expect(found.calls).toMatchObject({ all: 4, pass: 1, refused: 1, unseen: 2 })
  expect(found.problems.map(({ id }) => id)).toEqual(['refused /other.php path-unknown'])
  expect(found.groups.every(({ caller }) => caller === '127.0.0.1')).toBe(true)
  expect((await converted(cwd, 'json.log')).calls).toMatchObject({ all: 4, pass: 3, refused: 1 })
})

test('jq makes JSON lines of a raw request, and of what tshark prints', async () => {
  const cwd = folder()
  writeFileSync(join(cwd, 'a.txt'), `POST /getShippingQuote.php HTTP/1.1\r\nHost: x\r\n\r\n${body}`)
  expect((await converted(cwd, 'a.txt')).calls).toMatchObject({ all: 1, pass: 1 })
  writeFileSync(join(cwd, 'a.pcap'), Buffer.from('d4c3b2a1020004000000', 'hex'))
  const fields = ['1767600000.25', 'POST', '/getShippingQuote.php', Buffer.from(body).toString('hex')].join('\t')
  expect((await converted(cwd, 'a.pcap', `${fields}\n`)).calls).toMatchObject({ all: 1, pass: 1 })
})
