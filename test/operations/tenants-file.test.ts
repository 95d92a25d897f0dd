/** Promise: the tenants file is checked as a whole, and reloaded without a restart (contract, section 11). */

import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { loadMappings } from '../../mappings/load.ts'
import { ConfigErrors } from '../../src/language/config/errors.ts'
import { readTenants } from '../../src/language/config/tenants-file.ts'
import {
  as,
  atService,
  exchanges,
  folder,
  known,
  openEdge,
  quote,
  tenant,
  writeTenants,
} from '../callers/tenants-gateway.ts'
import { ROOT, runAlone } from '../command.ts'
import { basic } from '../gateway.ts'
import { ask, HTML } from '../pages/browser.ts'

interface Tenants {
  readonly env: Readonly<Record<'ACME_HOOK', string>>
  readonly whole: { readonly v2: object }
  readonly least: object
  /** Mistakes in the shape; null removes a key. */
  readonly misshapen: readonly (readonly [change: { readonly v2?: object }, said: string])[]
  /** Mistakes in hashes, addresses, networks and the environment, which only the gateway finds. */
  readonly beyond: Tenants['misshapen']
  /** Mistakes in a whole tenant, the same tenant under another name, and a smaller one with that name. */
  readonly shared: readonly string[]
}
const { env, whole, least, misshapen, beyond, shared }: Tenants = JSON.parse(
  readFileSync(join(import.meta.dirname, 'tenants.json'), 'utf8'),
)
const wrong = [...misshapen, ...beyond]
const MAPPINGS = await loadMappings(undefined, { actions: { 'Renew Rate': 'quote.update' } })

/** Returns a whole tenant with changes. */
const changed = ({ v2, ...more }: Readonly<Record<string, unknown>> & { readonly v2?: object }): object => {
  const { v2: wholeV2, ...rest } = whole
  return JSON.parse(JSON.stringify({ ...rest, v2: { ...wholeV2, ...v2 }, ...more }, (_, value) => value ?? undefined))
}

function fileWith(content: unknown): string {
  const path = join(folder(), 'tenants.json')
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}

/** The errors of a file, without its name. */
function errorsIn(content: unknown): readonly string[] {
  const path = fileWith(content)
  try {
    readTenants(path, MAPPINGS, env)
    return []
  } catch (error) {
    if (!(error instanceof ConfigErrors)) throw error
    return error.errors.map((line) => line.replace(path, '').replace(/^: /, ''))
  }
}

describe('the file', () => {
  test('an error in the shape names the tenant, or its place if it has no name', () => {
    const tenants = ['a"', 'b'].map((name) => ({ ...least, name, networks: [5], colour: 'red' }))
    expect(errorsIn(`\ufeff${JSON.stringify({ tenants })}`)).toEqual([
      expect.stringMatching(/^tenants\[0\]: name: must be 1 to 64 letters/),
      ...['tenants[0]', 'b'].flatMap((one) => [`${one}: networks[0]: must be text`, `${one}: unknown key colour`]),
    ])
  })

  test.each([
    ['{"tenants":[{"v2":{"client_secret": my-canary}}]}', / is not JSON/],
    ['{"tenants":[{"v2":{"client_secret": "my" -canary}}]}', / is not JSON \(line 1 column \d+\)$/],
    ['[]', /^must be an object$/],
    ['{}', /^tenants: is required$/],
    ['{"tenants":[]}', /^tenants: must have at least one/],
    ['{"tenants":[], "more": 1}', /^unknown key more$/],
  ])('a file with %s is an error that does not quote it', (content, said) => {
    const errors = errorsIn(content)
    expect(errors).toContainEqual(expect.stringMatching(said))
    expect(errors.join()).not.toContain('canary')
  })

  test('errors of all kinds are reported at once, and none hides another', () => {
    const two = [whole, { ...whole, name: 'acme-2' }, { ...least, name: 'acme-2' }]
    expect(errorsIn({ tenants: two })).toEqual(shared)
    const all = changed(Object.assign({}, ...wrong.map(([change]) => change)))
    const tenants = wrong.map(([change], i) => changed({ name: `tenant-${i}`, ...change }))
    const errors = errorsIn({ tenants: [...tenants, all, ...two], extra: true })
    for (const [, said] of wrong) expect(errors).toContainEqual(expect.stringContaining(said))
    expect(errors.join()).not.toContain('my-canary')
    expect(errors).toEqual(expect.arrayContaining(['unknown key extra', shared[0]]))
    expect(errors.length).toBeGreaterThan(wrong.length + 4)
  })

  test('secrets are read from the place in the file, without a BOM or a line end', () => {
    const tenant = changed({
      v2: { client_secret: { file: fileWith('\ufefftwo\r\n') } },
      ...{ callback_url: 'http://10.0.0.1/', callback_allow_http: true, callback_networks: ['10.0.0.0/8'] },
      ...{ callback_format: 'form', callback_secrets: [{ env: 'SIGNING' }, { env: 'OLD_SIGNING' }] },
    })
    expect(readTenants(fileWith({ tenants: [tenant] }), MAPPINGS, env)).toMatchObject([
      {
        secret: 'two',
        webhookSecrets: [env.ACME_HOOK],
        signingKeys: [],
        callback: { format: 'form', networks: ['10.0.0.0/8'], keys: [{ length: 24 }, { length: 32 }] },
      },
    ])
  })

  test('the schema file refuses the same files as the gateway', () => {
    const file = JSON.parse(readFileSync(join(ROOT, 'docs/tenants.schema.json'), 'utf8'))
    const { items } = file.properties.tenants
    expect(items.anyOf).toEqual([{ required: ['credentials'] }, { required: ['networks'] }])
    // Otherwise the validator would ignore everything beside it.
    delete items.anyOf
    const schema = z.fromJSONSchema(file)
    expect(schema.safeParse({ tenants: [whole, least] }).success).toBe(true)
    for (const [change, said] of misshapen)
      expect(schema.safeParse({ tenants: [changed(change)] }).success, said).toBe(false)
  })

  test('unchanged tenants keep their tokens and limits; changed ones do not keep the old credential', async () => {
    const limits = { limits: { per_second: 0.01 } }
    const all = (place: string) => [tenant(place, 'acme', limits), tenant(place, 'beta')]
    const edge = await openEdge((place) => [...all(place), tenant(place, 'gone')], { env: { V2_TOKEN: 'oauth2' } })
    const statuses = async () => {
      const answers = ['acme', 'beta', 'gone'].map((name) => quote(edge, as(name)))
      return (await Promise.all(answers)).map(({ status }) => status)
    }
    expect(await statuses()).toEqual([200, 200, 200])
    edge.sandbox.set({ credentials: { ...known('acme'), 'beta-v2': 'renewed' } })
    writeTenants(edge.path, ...all(edge.place))
    writeFileSync(join(edge.place, 'beta.secret'), 'renewed')
    edge.hangUp()
    expect(await statuses()).toEqual([429, 200, 401])
    const tokens = exchanges(edge).map(({ headers }) => headers.authorization)
    expect(tokens.slice(0, -1).sort()).toEqual(['acme', 'beta', 'gone'].map(atService).sort())
    expect(tokens.at(-1)).toBe(basic('beta-v2', 'renewed'))
  })
})

test("a new file or secret is loaded automatically; a refused file is in a metric and on the operators' home page, and is not quoted", async () => {
  const edge = await openEdge((place) => [tenant(place, 'acme')])
  const metrics = async () => (await ask(edge, '/metrics')).text
  const home = async () => (await ask(edge, '/home.json')).json
  const becomes = (name: string, status: number) =>
    expect.poll(async () => (await quote(edge, as(name))).status).toBe(status)
  expect(await metrics()).toContain('transload_reload_success{file="tenants"} 1')
  expect(await home()).toMatchObject({ refusedReloads: [] })
  edge.sandbox.set({ credentials: { 'acme-v2': 'renewed', ...known('beta') } })
  writeFileSync(join(edge.place, 'acme.secret'), 'renewed')
  await becomes('acme', 200)
  // An editor or a mounted volume replaces the file without an event.
  const next = join(edge.place, 'new.json')
  writeTenants(next, tenant(edge.place, 'beta', { error_status: 'ok' }))
  renameSync(next, edge.path)
  await becomes('acme', 401)
  expect((await quote(edge, as('beta'), { TempShipToPostalCode: '' })).status).toBe(200)

  writeFileSync(edge.path, '{ "tenants": [ { "name": "acme", "client_secret": "CANARY')
  edge.hangUp()
  expect(await metrics()).toMatch(
    /transload_reload_success\{file="tenants"\} 0\n[\s\S]*transload_reload_last_success_timestamp_seconds\{file="tenants"\} 1\d{9}/,
  )
  const reasons = [expect.stringContaining('is not JSON')]
  expect(await home()).toMatchObject({ refusedReloads: [{ file: 'tenants', reasons }] })
  const page = (await ask(edge, '/', HTML)).text
  expect(page).toMatch(/<h1>The new tenants file was refused; the old one stays in use\.<\/h1>[\s\S]*is not JSON/)
  expect(page + JSON.stringify(edge.lines())).not.toContain('CANARY')
  expect((await quote(edge, as('beta'))).status).toBe(200)
})

test('a start that fails halfway ends its process', async () => {
  const { code, out } = await runAlone(process.execPath, [join(import.meta.dirname, 'start-child.ts')])
  expect({ code, out }).toEqual({
    code: 0,
    out: 'ConfigErrors: the configuration has an error:\nthe tenants file /nowhere/tenants.json cannot be read (ENOENT)\n',
  })
})
