/** Promise: recordings of real programs are rehearsed (contract, section 8). */

import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { quoteExample } from '../../mappings/quote-rows.ts'
import type { Report } from '../../src/rehearsal/report.ts'
import { transload } from '../callers/commands.ts'
import { folder } from '../callers/edge.ts'
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
  expect(found.habits.map(({ habit }) => habit)).toContain('forms')
  expect(found.load.peak).not.toBeNull()
})

/** Expects what the logs of a server tell: the bodies only where the second one has them. */
async function expectLogs(cwd: string, hasBodies: boolean): Promise<void> {
  const [combined, json] = [await rehearsed(cwd, 'combined.log'), await rehearsed(cwd, 'json.log')]
  expect([combined.files[0]?.format, json.files[0]?.format]).toEqual(['access log', 'JSON lines'])
  for (const found of [combined, json]) {
    expect(found.unreadable).toEqual([])
    expect(found.problems.map(({ id }) => id)).toEqual(['refused /other.php path-unknown'])
    expect(found.load.peak).not.toBeNull()
    expect(found.load.largestReply).toBeGreaterThan(0)
    expect(found.groups.every(({ caller }) => caller === '127.0.0.1')).toBe(true)
  }
  expect(combined.calls).toMatchObject({ all: 4, pass: 1, refused: 1, unseen: 2 })
  expect(json.calls).toMatchObject(
    hasBodies ? { all: 4, pass: 3, refused: 1 } : { all: 4, pass: 1, refused: 1, unseen: 2 },
  )
}

test('logs of nginx are rehearsed, also as gzip and zstd make them', { timeout: 60_000 }, async () => {
  const cwd = folder()
  const [port, host] = [await freePort(), await startHost()]
  const json = [
    'time:$time_iso8601',
    'method:$request_method',
    'request_uri:$request_uri',
    'server_protocol:$server_protocol',
    'status:$status',
    'body_bytes_sent:$body_bytes_sent',
    'remote_addr:$remote_addr',
    'http_content_type:$content_type',
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
  await expectLogs(cwd, true)
  await output(
    'bash',
    [
      '-c',
      'gzip -k json.log && cat json.log.gz json.log.gz > twice.gz && zstd -q json.log && cat json.log.zst json.log.zst > twice.zst',
    ],
    { cwd },
  )
  const packed = await rehearsed(cwd, 'twice.gz', 'twice.zst')
  expect(packed.files.map(({ format, fault }) => [format, fault])).toEqual([
    ['JSON lines, gzip', undefined],
    ['JSON lines, zstd', undefined],
  ])
  expect(packed.calls).toMatchObject({ all: 16, pass: 12, refused: 4 })
})

test('logs of Apache are rehearsed', { timeout: 60_000 }, async () => {
  const cwd = folder()
  const port = await freePort()
  const modules = ['mpm_event', 'authz_core', 'alias']
  const json = String.raw`{\"time\":\"%{%Y-%m-%dT%H:%M:%S%z}t\",\"method\":\"%m\",\"path\":\"%U\",\"query\":\"%q\",\"protocol\":\"%H\",\"status\":%>s,\"bytes\":%B,\"remote_addr\":\"%a\",\"content_type\":\"%{Content-Type}i\"}`
  const combined = String.raw`%h %l %u %t \"%r\" %>s %b \"%{Referer}i\" \"%{User-Agent}i\"`
  writeFileSync(
    join(cwd, 'apache.conf'),
    [
      ...modules.map((name) => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so`),
      `ServerName localhost\nListen 127.0.0.1:${port}\nPidFile ${cwd}/apache.pid\nErrorLog ${cwd}/error.log\nDefaultRuntimeDir ${cwd}`,
      `DocumentRoot ${cwd}\nRedirectMatch 410 ".*"\nUser www-data\nGroup www-data`,
      `CustomLog ${cwd}/combined.log "${combined}"\nCustomLog ${cwd}/json.log "${json}"\n`,
    ].join('\n'),
  )
  const server = start('apache2', ['-f', join(cwd, 'apache.conf'), '-DFOREGROUND'])
  await answers(port)
  await call(`http://127.0.0.1:${port}`)
  server.signal('SIGTERM')
  await server.ended
  expect(
    existsSync(join(cwd, 'combined.log')) && readFileSync(join(cwd, 'combined.log'), 'utf8').split('\n').length,
  ).toBeGreaterThan(6)
  await expectLogs(cwd, false)
})

test('jq makes JSON lines of what tshark prints', async () => {
  const cwd = folder()
  writeFileSync(join(cwd, 'a.pcap'), Buffer.from('d4c3b2a1020004000000', 'hex'))
  const [, jq = ''] = (await rehearsed(cwd, 'a.pcap')).files[0]?.fault?.split(' | jq') ?? []
  const fields = ['1767600000.25', 'POST', '/getShippingQuote.php', Buffer.from(body).toString('hex')].join('\t')
  writeFileSync(join(cwd, 'b.ndjson'), await output('bash', ['-c', `jq${jq}`], { cwd, input: `${fields}\n` }))
  expect((await rehearsed(cwd, 'b.ndjson')).calls).toMatchObject({ all: 1, pass: 1 })
})
