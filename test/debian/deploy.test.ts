/** Promise: the deployment examples are valid, and the proxies pass calls on (contract, section 1). */

import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { request as requestOverTls } from 'node:https'
import { join } from 'node:path'
import { text as textOf } from 'node:stream/consumers'
import { HTTPRoute } from '@kubernetes-models/gateway-api/gateway.networking.k8s.io/v1'
import { Deployment, StatefulSet } from 'kubernetes-models/apps/v1'
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1'
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1'
import { PersistentVolumeClaim, Service } from 'kubernetes-models/v1'
import { describe, expect, onTestFinished, test } from 'vitest'
import { parse } from 'yaml'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { configNames, readConfig } from '../../src/language/config/config.ts'
import { isCreation, openSandbox } from '../bookings/desk.ts'
import { type GatewayCommand, serve } from '../callers/commands.ts'
import { cleanEnv, newFolder, output, pathWithThisNode, ROOT, run, start } from '../command.ts'
import { freePort } from '../free-port.ts'
import { basic, get, startGateway } from '../gateway.ts'
import type { Sandbox } from '../stand-in/stand-in.ts'
import { startPostgres } from '../store/postgres-server.ts'

const DEPLOY = join(ROOT, 'deploy')
/** Makes an empty folder that is removed after the test. */
function folderOf(name: string): string {
  const folder = newFolder(name)
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return folder
}
const read = (path: string) => readFileSync(join(DEPLOY, path), 'utf8')

/** Checks settings as the gateway does at its start. Unknown variables would be slips. */
function checkSettings(settings: NodeJS.ProcessEnv): void {
  expect(Object.keys(settings).filter((name) => !configNames.includes(name))).toEqual([])
  expect(() => readConfig(settings)).not.toThrow()
}

const settingsIn = (lines: readonly string[]): NodeJS.ProcessEnv =>
  Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]))

const KINDS: Readonly<Record<string, new (resource: never) => { readonly validate: () => void }>> = {
  ...{ Deployment, HTTPRoute, StatefulSet, NetworkPolicy, PodDisruptionBudget, PersistentVolumeClaim, Service },
}

test.each([
  ['edge', /^transload-\w{10}$/],
  ['sidecar', undefined],
] as const)(
  'Kubernetes, %s: kustomize builds valid resources, with settings that are valid, and without rights',
  async (name, map) => {
    const built = await output('kubectl', ['kustomize', join(DEPLOY, 'kubernetes', name)])
    const resources = built.split(/^---$/m).map((text) => parse(text))
    const [settings, ...others] = resources.filter(({ kind }) => kind === 'ConfigMap')
    // The name of a map contains a hash of its settings, so that a change restarts the gateways.
    expect([settings?.metadata.name, ...others]).toEqual([map && expect.stringMatching(map)])
    for (const { kind, ...rest } of resources.filter((one) => one !== settings)) {
      const Kind = KINDS[kind] ?? expect.fail(`${kind} is not known here`)
      new Kind({ kind, ...rest } as never).validate()
    }
    const pod = resources.find(({ spec }) => spec?.template).spec.template.spec
    // A user without a name and without any right that it does not need.
    expect(pod).toMatchObject({
      automountServiceAccountToken: false,
      securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
    })
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(30)
    const { containers, initContainers: [gateway] = containers } = pod
    const rights = { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } }
    const image = expect.stringMatching(/^registry\.example\.com\/transload:\d+\.\d+\.\d+$/)
    expect(gateway).toMatchObject({ image, securityContext: rights })
    expect(gateway.envFrom).toEqual(settings && [{ configMapRef: { name: settings.metadata.name } }])
    const variables: readonly { readonly name: string; readonly value?: string }[] = gateway.env
    checkSettings({
      ...settings?.data,
      ...Object.fromEntries(variables.map(({ name, value = 'from-a-secret' }) => [name, value])),
    })
    /** Returns the volume that contains a file of the pod. */
    const mountOf = (file: string) =>
      gateway.volumeMounts.find(({ mountPath }: { mountPath: string }) => file.startsWith(`${mountPath}/`))?.name
    const files = [settings?.data['TENANTS_FILE'] ?? '', '/run/secrets/transload/acme'].map(mountOf)
    expect(files).toEqual(settings ? ['tenants', 'clients'] : [undefined, undefined])
  },
)

test('compose: the settings are valid, and every mounted file exists', () => {
  const text = read('compose/compose.yaml')
    .replace(/\$\{V2_BASE_URL:[^}]+\}/, 'https://service.example.com')
    .replaceAll(/\$\{POSTGRES_PASSWORD:[^}]+\}/g, 'secret')
  type Service = { readonly environment?: NodeJS.ProcessEnv; readonly volumes?: readonly string[] }
  const { services, volumes }: { services: Record<string, Service>; volumes: object } = parse(text)
  checkSettings(services['gateway']?.environment ?? {})
  const sources = Object.values(services).flatMap((one) =>
    (one.volumes ?? []).map((volume) => volume.split(':')[0] ?? ''),
  )
  const { files = [], named } = Object.groupBy(sources, (source) => (source.startsWith('.') ? 'files' : 'named'))
  expect(named?.sort()).toEqual(Object.keys(volumes).sort())
  expect(files.filter((file) => !existsSync(join(DEPLOY, 'compose', file)))).toEqual([])
})

test('systemd: the unit is valid, and its exposure is low', async () => {
  const folder = folderOf('systemd')
  const unit = join(folder, 'transload.service')
  // The program is not installed here.
  const text = read('systemd/transload.service').replace('/usr/local/bin/transload', process.execPath)
  writeFileSync(unit, text)
  expect(await run('systemd-analyze', ['verify', '--man=no', unit])).toEqual({ code: 0, out: '', err: '' })
  expect((await run('systemd-analyze', ['security', '--offline=true', '--threshold=20', unit])).code).toBe(0)
  const { NODE_OPTIONS = '', ...environment } = environmentOf(text)
  expect(NODE_OPTIONS).toContain('--permission')
  checkSettings({ ...environment, ...settingsIn(read('systemd/transload.env').trim().split('\n')) })
})

const environmentOf = (unit: string): NodeJS.ProcessEnv =>
  settingsIn([...unit.matchAll(/^Environment="?(.+?)"?$/gm)].map(([, line = '']) => line))

test('systemd: the command of the unit serves with its environment, and reads no other file', async () => {
  const folder = folderOf('systemd')
  for (const name of ['bin', 'etc', 'state']) mkdirSync(join(folder, name))
  symlinkSync(join(ROOT, 'bin/transload.js'), join(folder, 'bin/transload'))
  const unit = read('systemd/transload.service')
    .replaceAll('/usr/local/lib/node_modules/transload/', `${ROOT}/`)
    .replaceAll('/usr/local/bin/', `${folder}/bin/`)
    .replaceAll('/etc/transload/', `${folder}/etc/`)
    .replaceAll('/var/lib/transload/', `${folder}/state/`)
  const [, command = ''] = /^ExecStart=(.+)$/m.exec(unit) ?? []
  const [program = '', ...words] = command.split(' ')
  const settings = { V2_BASE_URL: 'https://service.example.com', HOST: '127.0.0.1', PORT: '0', ADMIN_PORT: '0' }
  const env = cleanEnv({ PATH: pathWithThisNode(), ...environmentOf(unit), ...settings })
  const gateway = start(program, words, { cwd: '/', env })
  await gateway.says(/"msg":"listening"/)
  expect(existsSync(join(folder, 'state/transload.db'))).toBe(true)
  gateway.signal('SIGTERM')
  expect(await gateway.ended).toMatchObject({ code: 0, err: '' })
  const refused = await run(program, words, { cwd: '/', env: { ...env, TENANTS_FILE: '/etc/hostname' } })
  expect(refused).toMatchObject({ code: 78, err: expect.stringContaining('ERR_ACCESS_DENIED') })
})

describe('a proxy in front', () => {
  const CERTIFICATES = join(ROOT, 'test/http/certificates')

  /** Calls the proxy with a path that is sent unchanged. */
  const call = async (
    port: number,
    path: string,
    { method = 'GET', ...headers }: Readonly<Record<string, string>> = {},
    body = '',
  ) => {
    const sent = requestOverTls({
      port,
      method,
      path,
      host: '127.0.0.1',
      servername: 'gateway.example.com',
      rejectUnauthorized: false,
      agent: false,
      headers: { host: 'gateway.example.com', authorization: basic(), ...headers },
    }).end(body)
    const [reply]: IncomingMessage[] = await once(sent, 'response')
    return { status: reply?.statusCode, text: reply ? await textOf(reply) : '' }
  }

  /** Resolves when the proxy accepts connections; a proxy that ends before fails the test. */
  const listening = (port: number, ended: Promise<unknown>) => {
    const answers = () => call(port, '/healthz').catch(() => undefined)
    return Promise.race([
      expect.poll(answers).toBeDefined(),
      ended.then(() => expect.fail('the proxy ended before it listened')),
    ])
  }

  async function checkCalls(port: number, { requests }: Pick<Sandbox, 'requests'>): Promise<void> {
    expect(await call(port, '/readyz')).toMatchObject({ status: 200 })
    const unknown = '/getShipment.php?ReferenceNumber=NONE'
    expect(await call(port, unknown)).toMatchObject({ status: 404, text: expect.stringContaining('NONE') })
    const before = requests.length
    for (const path of ['/v2/a%2fb/../../x', '/v2/a%5cb/..%2f../x', '/v2/%2e%2e/x', '/v2/a;/../x', '/%zz'])
      expect([400, 404], path).toContain((await call(port, path)).status)
    expect(requests.slice(before).filter(({ path }) => !path.startsWith('/v2/'))).toEqual([])
  }

  /** Returns the command that runs nginx with its file before these gateways, in a folder and on a port of the test. */
  async function nginxBefore(urls: readonly string[], timeout = '30s') {
    const folder = folderOf('nginx')
    const port = await freePort()
    let sockets = 0
    const [first = '', second] = urls.map((url) => new URL(url).host)
    const site = read('nginx/transload.conf')
      .replace('127.0.0.1:8080', first)
      .replace(/#(server) 127\.0\.0\.1:8081/, (line, server) => (second ? `${server} ${second}` : line))
      .replace('proxy_read_timeout 30s', `proxy_read_timeout ${timeout}`)
      .replace('listen 443', `listen 127.0.0.1:${port}`)
      .replaceAll(/listen (?=80|\[)[^ ;]+/g, () => `listen unix:${folder}/${sockets++}.socket`)
      .replace('/etc/nginx/tls/gateway.pem', join(CERTIFICATES, 'server.pem'))
      .replace('/etc/nginx/tls/gateway.key', join(CERTIFICATES, 'server.key'))
    mkdirSync(join(folder, 'tmp'))
    const kinds = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    const paths = kinds.map((kind) => `${kind}_temp_path ${folder}/tmp/${kind};`).join(' ')
    const conf = join(folder, 'nginx.conf')
    writeFileSync(
      conf,
      `pid ${folder}/nginx.pid; error_log stderr; daemon off; events {} http { access_log ${folder}/access.log; ${paths}\n${site}\n}`,
    )
    return { folder, port, words: ['-p', folder, '-c', conf] }
  }

  test('nginx accepts its file, and passes calls on unchanged', async () => {
    const gateway = await startGateway({ env: { TRUST_PROXY: '127.0.0.1' } })
    const { folder, port, words } = await nginxBefore([gateway.url], '1s')
    expect((await run('nginx', ['-t', ...words])).err).toContain('test is successful')
    const nginx = start('nginx', words)
    await listening(port, nginx.ended)
    await checkCalls(port, gateway.sandbox)
    await call(port, '/webhooks/a-secret-of-events')
    const said = async (path: string, headers: Readonly<Record<string, string>>) => {
      const { status, text } = await call(port, path, headers)
      return [status, JSON.parse(text)]
    }
    const post = { method: 'POST' }
    const tooLarge = { Message: 'The body is too large.', TransportationBooked: 'No' }
    expect(await said('/createShipment.php', { ...post, 'content-length': '2000000' })).toEqual([413, tooLarge])
    const quote = { Cost: '', ShipmentNumber: '', Message: expect.stringContaining('Try again') }
    const booking = { Message: expect.stringContaining('Send the same call again'), TransportationBooked: 'Unknown' }
    gateway.sandbox.fail({ kind: 'delay', ms: 60_000, times: 'always' })
    expect(await said('/getShipment.php?number=1', {})).toEqual([504, booking])
    await gateway.gateway.close()
    expect(await said('/quotes/getShippingQuote.php', post)).toEqual([502, quote])
    expect(await said('/ConfirmBooking', post)).toEqual([502, booking])
    const passed = { Message: expect.stringContaining('before you send this again') }
    expect(await said('/v2/shipments', post)).toEqual([502, passed])
    nginx.signal('SIGTERM')
    await nginx.ended
    const log = readFileSync(join(folder, 'access.log'), 'utf8')
    expect(log).toContain('/getShipment.php')
    expect(log).not.toContain('a-secret-of-events')
  })

  test('two gateways on one PostgreSQL, behind nginx: one shows what the other booked, and continues without it', async () => {
    const postgres = await startPostgres()
    onTestFinished(() => postgres.remove())
    const sandbox = await openSandbox()
    const common = { V2_BASE_URL: sandbox.url, STORE_URL: await postgres.createDatabase(), TRUST_PROXY: '127.0.0.1' }
    const serveOne = async () => serve(folderOf('gateway'), { ...common, ADMIN_PORT: String(await freePort()) })
    const gateways = [await serveOne(), await serveOne()]
    const { port, words } = await nginxBefore(gateways.map(({ url }) => url))
    await listening(port, start('nginx', words).ended)
    const book = (ReferenceNumber: string) =>
      call(port, '/createShipment.php', { method: 'POST' }, JSON.stringify({ ...bookingExample, ReferenceNumber }))
    const booked = { status: 200, text: expect.stringContaining('"Yes"') }
    const shown = () => call(port, '/getShipment.php?ReferenceNumber=R-1')
    const metricsOf = async ({ adminUrl }: GatewayCommand) => (await get({ url: adminUrl }, '/metrics')).text

    expect(await book('R-1')).toMatchObject(booked)
    expect(await shown()).toMatchObject({ status: 200, text: expect.stringContaining(bookingExample.PickupCity) })
    const metrics = await Promise.all(gateways.map(metricsOf))
    const actions = metrics.map((text) => text.match(/(?<=^transload_calls_total\{.*action=")shipment\.\w+/gm))
    expect(actions.sort()).toEqual([['shipment.create'], ['shipment.get']])

    sandbox.fail({ kind: 'delay', ms: 60_000, on: { method: 'POST' }, times: 1 })
    const sent = sandbox.next(isCreation)
    const lost = book('R-2')
    await sent
    for (const gateway of gateways)
      if (/^transload_calls_under_way 1$/m.test(await metricsOf(gateway))) gateway.signal('SIGKILL')
    expect(await lost).toMatchObject({ status: 502, text: expect.stringContaining('"Unknown"') })
    // In turns, some of these calls would go to the killed gateway.
    for (let i = 0; i < 4; i += 1) {
      expect(await book('R-1')).toMatchObject(booked)
      expect(await shown()).toMatchObject({ status: 200 })
    }
    expect(sandbox.requests.filter(isCreation)).toHaveLength(2)
  })

  test('Caddy accepts its file, and passes calls on unchanged', async () => {
    const folder = folderOf('caddy')
    const port = await freePort()
    const gateway = await startGateway({ env: { TRUST_PROXY: '127.0.0.1' } })
    const env = cleanEnv({ HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder })
    const adapter = ['--adapter', 'caddyfile', '--config']
    await output('caddy', ['validate', ...adapter, join(DEPLOY, 'caddy/Caddyfile')], { env })
    const site = read('caddy/Caddyfile')
      .replace('127.0.0.1:8080', new URL(gateway.url).host)
      .replace(
        'gateway.example.com {',
        `https://gateway.example.com:${port} {\n\ttls ${CERTIFICATES}/server.pem ${CERTIFICATES}/server.key`,
      )
    const file = join(folder, 'Caddyfile')
    writeFileSync(file, `{\n\tadmin off\n\tauto_https disable_redirects\n}\n${site}`)
    const caddy = start('caddy', ['run', ...adapter, file], { env })
    await listening(port, caddy.ended)
    await checkCalls(port, gateway.sandbox)
  })
})
