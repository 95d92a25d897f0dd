/** Promise: no secret of a caller is found in answers, logs, metrics or the store (contract, section 5). */

import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { freePort } from '../free-port.ts'
import { basic, get, post, type WholeAnswer } from '../gateway.ts'
import { openService } from '../http/service.ts'
import { serve, transload } from './commands.ts'
import rows from './leaks.json' with { type: 'json' }
import { CALLS, cheapHash, folder, KINDS, seen, writeTenants } from './tenants-gateway.ts'

/** Makes secrets, and finds them in any text, in every form in which they are sent. */
function canaries() {
  const all: string[] = []
  const forms = new Map<string, string>()
  const base64 = (text: string) => Buffer.from(text).toString('base64').replace(/=+$/, '')
  const next = (kind: string) => {
    const canary = `${kind}-${randomBytes(12).toString('hex')}`
    all.push(canary)
    for (const form of [canary, base64(canary).slice(0, -1), Buffer.from(canary).toString('hex')]) {
      forms.set(form, canary)
    }
    return canary
  }
  /** `Authorization` for a secret; its Base64 is a form of it. */
  const asBasic = (id: string, secret: string) => {
    forms.set(base64(`${id}:${secret}`), secret)
    return basic(id, secret)
  }
  const foundIn = (place: string, text: string | Buffer) =>
    [...forms].flatMap(([form, canary]) => (text.includes(form) ? [`${canary} in ${place}`] : []))
  return { all, next, asBasic, foundIn }
}

type Next = ReturnType<typeof canaries>['next']

interface Row {
  readonly method: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | object
}

/** Makes calls of every kind with personal data, and returns the answers with bodies and headers. */
async function everyPath(gateway: { readonly url: string }, authorization: string, next: Next, person: Next) {
  const name = person('number')
  const fields = { PickupName: person('name'), BillToEmailAddress: person('mail'), Unknown: person('field') }
  const headers = { authorization }
  const answers: WholeAnswer[] = []
  for (const kind of KINDS) answers.push(await CALLS[kind](gateway, name, headers, fields))
  const filled = (text: string): string =>
    text
      .replace(/\{(secret|person)\}/g, (_, whose) => (whose === 'secret' ? next : person)('row'))
      .replace('{number}', name)
      .replace('{authorization}', authorization)
      .replace('{long}', 'x'.repeat(70_000))
  for (const row of rows) {
    const { method, path, headers: more, body }: Row = JSON.parse(filled(JSON.stringify(row)))
    const sent = { ...headers, ...more }
    answers.push(await (method === 'GET' ? get(gateway, path, sent) : post(gateway, path, body ?? '', sent)))
  }
  return answers.map(seen).join('\n')
}

test('secrets appear nowhere, whatever the path, and the log has no personal data', async () => {
  const { all, next, asBasic, foundIn } = canaries()
  const people = canaries()
  const place = folder()
  const failures = [200, 200, 200, 500, 503, 404, 429, 302, 403]
  let requests = 0
  // A service that fails in every way, repeats requests in its replies, and issues tokens, which are secrets, too.
  const service = await openService((incoming, outgoing) => {
    const { authorization = '' } = incoming.headers
    incoming.resume().on('end', () => {
      requests += 1
      if (incoming.url === '/oauth2/token') {
        if (requests % 7 === 0) return outgoing.destroy()
        if (requests % 5 === 0)
          return outgoing.writeHead(401).end(JSON.stringify({ error_description: `no ${authorization}` }))
        return outgoing.end(JSON.stringify({ access_token: next('token'), expires_in: requests % 2 ? 3600 : 1 }))
      }
      const status = failures[requests % failures.length] ?? 200
      if (requests % 11 === 0) return outgoing.destroy()
      if (requests % 4 === 0) return outgoing.writeHead(401, { 'www-authenticate': 'Bearer' }).end()
      const id = crypto.randomUUID()
      const message = `bad login ${authorization}`
      const body = { id, shipment_id: id, number: `TL-${requests}`, price: 10, status: 'new', vehicles: [], message }
      return outgoing.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    })
  })

  const declared = ['basic', 'oauth2', 'auto', 'basic', 'oauth2', 'auto'].map((token, i) => {
    const [legacy, own, hook] = [next('legacy'), next('service'), next('hook')]
    const file = join(place, `${i}.secret`)
    writeFileSync(file, own)
    asBasic(`v2-${i}`, own)
    const v2 = { client_id: `v2-${i}`, client_secret: i % 2 ? { file } : { env: `OWN_${i}` }, token }
    const credentials = [{ id: `legacy-${i}`, secret_hash: cheapHash(legacy, `salt of tenant ${i}`) }]
    const tenant = { name: `t${i}`, credentials, v2, webhook_secret: { env: `HOOK_${i}` } }
    return { env: { [`OWN_${i}`]: own, [`HOOK_${i}`]: hook }, legacy, hook, tenant }
  })
  const path = join(place, 'tenants.json')
  const tenants = declared.map(({ tenant }) => tenant)
  writeTenants(path, ...tenants)
  const env = {
    ...Object.assign({}, ...declared.map((one) => one.env)),
    V2_BASE_URL: service.url,
    TENANTS_FILE: path,
    LOG_LEVEL: 'trace',
    ADMIN_PORT: String(await freePort()),
    UPSTREAM_TIMEOUT_MS: '2000',
    STORE_URL: 'sqlite:./data/store.db',
  }
  const gateway = await serve(place, env)
  const told: string[] = []
  const callers = declared.map(({ legacy }, i) => asBasic(`legacy-${i}`, legacy))
  const strangers = [asBasic('legacy-0', next('guess')), `Bearer ${next('guess')}`]
  await Promise.all(
    [...callers, ...strangers].map(async (authorization) => {
      told.push(await everyPath(gateway, authorization, next, people.next))
    }),
  )
  // Events, of which the gateway reads the shipments.
  const event = { shipment_id: 'x', event: 'shipment.created', event_date: '2024-08-10T08:00:00+0000' }
  for (const { hook } of declared) {
    for (const [body, status] of [
      [event, 200],
      ['nonsense', 400],
    ] as const) {
      const answer = await post(gateway, `/webhooks/${hook}`, body)
      expect(answer.status).toBe(status)
      told.push(seen(answer))
    }
  }
  for (const words of [
    'check --connect',
    'tenants list',
    'bookings list',
    'xref export',
    'migration report',
    'tenants hash',
  ]) {
    const { out, err } = await transload(words.split(' '), place, env, next('typed'))
    told.push(out, err)
  }
  for (const at of ['/metrics', '/healthz', '/readyz', '/bookings', '/migration', '/nothing']) {
    for (const accept of ['*/*', 'text/html']) {
      told.push(seen(await get({ url: gateway.adminUrl }, at, { accept })))
    }
  }
  gateway.signal('SIGTERM')
  const { code, out, err } = await gateway.ended
  expect(code).toBe(0)

  expect(all.filter((canary) => canary.startsWith('token')).length).toBeGreaterThan(10)
  const found = [
    ...foundIn('the log', out + err),
    ...people.foundIn('the log', out + err),
    ...told.flatMap((text, i) => foundIn(`answer ${i}: ${text.slice(0, 60)}`, text)),
  ]
  const files = readdirSync(join(place, 'data'), { encoding: 'utf8' }).map((name) => join(place, 'data', name))
  expect(files.some((name) => name.endsWith('store.db'))).toBe(true)
  for (const name of files) found.push(...foundIn(name, readFileSync(name)))
  expect(found).toEqual([])
  // Bookings were made, refused and lost, and the log shows it.
  for (const status of [200, 401, 404, 422, 502, 503]) expect(out).toContain(`"status":${status}`)
}, 120_000)
