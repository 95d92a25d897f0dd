/** Promise: every documented command works as printed (contract, section 11). */

import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { openStore } from '../../src/outside/store/open.ts'
import { cleanEnv, newFolder, output, pathWithThisNode, ROOT, start } from '../command.ts'
import { blocks, pages } from '../documents.ts'
import { CLIENT, startGateway } from '../gateway.ts'

/** The lines of a page's shell blocks. */
const shellLines = (page: string): readonly string[] => blocks(page, 'sh').flatMap((code) => code.trim().split('\n'))

/** Lines that another test runs, or that no test can run. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  'npm ci && npm run demo': '.ci/run, and test/commands/demo.slow.test.ts',
  'npm ci && npm test': '.ci/run',
  'npm run demo -- --chaos': 'test/commands/demo.slow.test.ts, for some seconds',
  'docker build -t transload .': 'test/debian/image.test.ts, without a daemon',
  'docker run -p 8080:8080 -v transload:/app/data -e V2_BASE_URL=https://service.example.com transload':
    'test/debian/image.test.ts, without a daemon',
  'V2_BASE_URL=https://service.example.com POSTGRES_PASSWORD=… docker compose --file deploy/compose/compose.yaml up --build':
    'test/debian/deploy.test.ts, without a daemon',
  'kubectl apply --kustomize deploy/kubernetes/edge': 'test/debian/deploy.test.ts, without a cluster',
  'npm ci && npm pack && npm install --global ./transload-*.tgz': 'test/package.slow.test.ts, in a project',
  'systemctl enable --now transload': 'test/debian/deploy.test.ts runs the command of the unit',
  'NODE_OPTIONS=--import=/etc/transload/tracing.mjs transload serve': 'test/operations/tracing-import.test.ts',
  "curl -si -u ID:SECRET https://gateway.example.com/check/v2/shipments -H 'Content-Type: application/json' --data-binary @new.json":
    'test/calls/check.test.ts',
  'curl -s -u ID:SECRET https://gateway.example.com/check/last': 'test/calls/check.test.ts',
  'npm run bench': 'takes an hour',
  'npm run bench -- --only quotes,pass-through --seconds 5 --rounds 3': 'takes minutes',
}

/** The lines that certify a service; the next test runs them against a stand-in. */
const CERTIFYING = shellLines('docs/certainty.md').filter((line) => line.startsWith('transload certify'))

/** A folder with the files that the pages mention, and `transload` on the path. */
async function openFolder() {
  const folder = newFolder('documented')
  onTestFinished(() => rmSync(folder, { recursive: true }))
  symlinkSync(join(ROOT, 'bin/transload.js'), join(folder, 'transload'))
  for (const body of ['body.json', 'old.json']) writeFileSync(join(folder, body), JSON.stringify(bookingExample))
  const recorded = { path: '/getShippingQuote.php', request: quoteExample }
  writeFileSync(join(folder, 'recording.ndjson'), `${JSON.stringify(recorded)}\n`.repeat(17))
  mkdirSync(join(folder, 'my-mappings/cases'), { recursive: true })
  for (const secret of ['tenants.json', 'acme-secret.txt']) writeFileSync(join(folder, secret), '{}')
  // A store that can be backed up.
  await (await openStore(join(folder, 'data/transload.db'))).close()
  const env = cleanEnv({ PATH: [folder, pathWithThisNode()].join(delimiter), PORT: '0', ADMIN_PORT: '0' })
  return { folder, env }
}

/** Changes a line to run without root and without a cluster, and to fail for an error status. */
function asUser(line: string, folder: string): string {
  if (line.startsWith('kubectl create ')) return `${line} --dry-run=client --output=yaml`
  if (line.startsWith('install ')) return `cd '${ROOT}' && ${line.replace(' /etc/', ` '${folder}'/etc/`)}`
  if (line.startsWith('npm run ')) return `cd '${ROOT}' && ${line}`
  return line.replace(/^curl /, 'curl --fail ')
}

test('every shell line runs as printed', { timeout: 120_000 }, async () => {
  const { url } = await startGateway()
  const { folder, env } = await openFolder()
  const lines = pages.filter((page) => page !== 'docs/writing-a-mapping.md').flatMap(shellLines)
  const ran = lines.filter((line) => !Object.hasOwn(ELSEWHERE, line) && !CERTIFYING.includes(line))
  for (const line of ran) {
    const here = line.replace(/http:\/\/localhost:8080|https:\/\/gateway\.example\.com/, url)
    const out = await output('bash', ['-c', asUser(here, folder)], { cwd: folder, env })
    if (line.startsWith('curl ')) expect(JSON.parse(out)).toBeTypeOf('object')
  }
  expect(ran.length).toBeGreaterThan(6)
  expect(Object.keys(ELSEWHERE).filter((line) => !lines.includes(line))).toEqual([])
})

test('the lines that certify a service run one after the other', async () => {
  const { sandbox } = await startGateway()
  const { folder, env } = await openFolder()
  const own = { ...env, V2_BASE_URL: sandbox.url, V2_CLIENT_ID: CLIENT.id, V2_CLIENT_SECRET: CLIENT.secret }
  expect(CERTIFYING).toHaveLength(3)
  for (const line of CERTIFYING) {
    const here = line.replace('https://stage.example.com', sandbox.url)
    expect(await output('bash', ['-c', here], { cwd: folder, env: own })).not.toContain('contradicted  ')
  }
  expect([...sandbox.shipments.values()].every(({ status }) => status === 'canceled')).toBe(true)
}, 60_000)

test('the lines of the page about mappings run one after the other', async () => {
  const { folder, env } = await openFolder()
  const page = 'docs/writing-a-mapping.md'
  const [code = ''] = blocks(page, 'js')
  writeFileSync(join(folder, 'my-mappings/shipment-status.mjs'), code)
  const lines = shellLines(page)
  expect(lines.at(-1)).toBe('transload serve')
  const served = start('bash', ['-c', lines.join('\n')], { cwd: folder, env })
  const said = await served.says(/"msg":"listening"/)
  expect(said).toContain('The configuration is valid: 8 actions')
  expect(said).toContain('shipment.status: GET https://service.example.com/v2/shipments/')
})
