/** Promise: settling takes an id that the service knows and no other booking has, and can be taken back (contract, section 7). */

import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { settle } from '../../src/bookings/settlement.ts'
import { readConfig } from '../../src/config/config.ts'
import { loadMappings } from '../../src/config/mappings.ts'
import { translationSettings } from '../../src/config/translation-settings.ts'
import { openStore } from '../../src/store/open.ts'
import { createMemoryStore } from '../../src/store/sqlite/sqlite.ts'
import type { Claim, Store } from '../../src/store/store.ts'
import { cheapHash } from '../callers/edge.ts'
import { cleanEnv, type Ended, newFolder, ROOT, run } from '../command.ts'
import { basic } from '../gateway.ts'
import { sample } from '../size.ts'
import { link, newClaim } from '../store/samples.ts'

const ID = '6f1e4c1e-7a55-4b0c-9a3f-2f9d1c0b7e11'
const SHIPMENT = { id: ID, number: 'TL-7', status: 'new', external_id: 'REF-1' }
const KEY = 'bk_000000000001'
const OTHER_KEY = 'bk_000000000002'
const VIN = '1FDXE4FN9PDD32477'
const FIXED = { V2_CLIENT_ID: 'acme', V2_CLIENT_SECRET: 'acme-secret' }

/** The reply of the service in a test, as a status and a body. */
type Reply = readonly [status: number, body: unknown]

/** A store with bookings whose outcome is not known, a service that gives one reply, and the program beside them. */
async function openDesk(reply: Reply = [200, SHIPMENT]) {
  const folder = newFolder('settle')
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const storeUrl = join(folder, 'store.db')
  const store = await openStore(storeUrl)
  onTestFinished(() => store.close())
  await putUnknown(store, KEY, 'REF-1')
  const asked: { path: string | undefined; authorization: string | undefined }[] = []
  const service = createServer((incoming, outgoing) => {
    asked.push({ path: incoming.url, authorization: incoming.headers.authorization })
    const [status, body] = reply
    outgoing.writeHead(status).end(typeof body === 'string' ? body : JSON.stringify(body))
  }).listen(0, '127.0.0.1')
  await once(service, 'listening')
  onTestFinished(() => void service.close())
  // A server that listens on a port has an address with a port.
  const { port } = service.address() as AddressInfo
  const bookings = (args: readonly string[], env: NodeJS.ProcessEnv = FIXED): Promise<Ended> =>
    run(process.execPath, [join(ROOT, 'src/main.ts'), 'bookings', ...args], {
      cwd: folder,
      env: cleanEnv({ STORE_URL: storeUrl, V2_BASE_URL: `http://127.0.0.1:${port}`, ...env }),
    })
  const settle = (args: readonly string[] = [], env?: NodeJS.ProcessEnv) =>
    bookings(['settle', KEY, '--shipment-id', ID, ...args], env)
  const state = async (key = KEY) => (await store.claimByHandle(key))?.state
  return { store, folder, asked, bookings, settle, state }
}

async function putUnknown(store: Store, handle: string, reference: string): Promise<void> {
  const { claim } = await store.claim(newClaim({ key: reference, handle, reference, vin: VIN }))
  await store.change(claim, { state: 'unknown', instance: 'gateway-1', why: 'silent' })
}

describe('the shipment of a settlement', () => {
  test('is asked for with the credential of the gateway, and its number is taken over', async () => {
    const { store, asked, settle, bookings } = await openDesk()
    expect(await settle()).toEqual({ code: 0, out: `${KEY} is booked as shipment ${ID}.\n`, err: '' })
    expect(asked).toEqual([{ path: `/v2/shipments/${ID}`, authorization: basic('acme', 'acme-secret') }])
    const claim = await store.claimByHandle(KEY)
    expect(claim).toMatchObject({ state: 'booked', shipment: ID })
    expect(JSON.parse(claim?.reply ?? '')).toMatchObject({
      headers: { 'Transload-Shipment-Id': ID, 'Transload-Shipment-Number': 'TL-7' },
    })
    expect((await store.links('acme', 'TL-7')).map(({ id }) => id)).toEqual([ID])
    const { out } = await bookings(['show', KEY])
    expect(out).toMatch(/^\S+Z {2}unknown → booked {2}settled: booked {2}\(operator .+\)$/m)
  })

  test('is asked for with the credential of the booking’s own tenant', async () => {
    const { folder, asked, settle } = await openDesk()
    const credentials = [{ id: 'x', secret_hash: cheapHash('x') }]
    const own = (name: string) => ({ name, v2: { client_id: `${name}-v2`, client_secret: { env: 'SECRET' } } })
    const file = join(folder, 'tenants.json')
    writeFileSync(
      file,
      JSON.stringify({
        tenants: [
          { ...own('zenith'), networks: ['::1'] },
          { ...own('acme'), credentials },
        ],
      }),
    )
    expect(await settle([], { TENANTS_FILE: file, SECRET: 's' })).toMatchObject({ code: 0, err: '' })
    expect(asked.map(({ authorization }) => authorization)).toEqual([basic('acme-v2', 's')])

    writeFileSync(file, JSON.stringify({ tenants: [{ ...own('zenith'), credentials }] }))
    const gone = await openDesk()
    expect((await gone.settle([], { TENANTS_FILE: file, SECRET: 's' })).err).toMatch(/belongs to acme/)
    expect(await gone.state()).toBe('unknown')
  })

  const refused: [reply: Reply, args: readonly string[], reason: RegExp][] = [
    [[404, { error: 'gone' }], [], /the service knows no shipment 6f1e/],
    [[410, ''], [], /the service knows no shipment/],
    [[401, ''], [], /the service answers 401/],
    [[500, ''], [], /the service answers 500/],
    [[200, ''], [], /answers something else than shipment/],
    [[200, '<html>'], [], /answers something else than shipment/],
    [[200, [SHIPMENT]], [], /answers something else than shipment/],
    [[200, { data: SHIPMENT }], [], /answers something else than shipment/],
    [[200, { ...SHIPMENT, id: 'another' }], [], /answers something else than shipment/],
    [[200, { ...SHIPMENT, status: 'canceled' }], [], /is canceled; settle the booking as --not-booked/],
    [[200, { ...SHIPMENT, external_id: 'REF-9' }], [], /has the reference REF-9, and the booking REF-1/],
    [[200, SHIPMENT], ['--number', 'TL-8'], /has the number TL-7, not TL-8/],
  ]
  test.each(sample(refused, 3))(
    'is not taken where the service answers %j and %j is given',
    async (reply, args, reason) => {
      const { settle, state } = await openDesk(reply)
      const { code, out, err } = await settle(args)
      expect({ code, out }).toEqual({ code: 1, out: '' })
      expect(err).toMatch(/^transload: [^\n]+ Nothing is settled; --unchecked settles without asking the service\n$/s)
      expect(err).toMatch(reason)
      expect(await state()).toBe('unknown')
    },
  )

  test('is taken unchecked on demand, and in client mode only so', async () => {
    const { asked, settle, state } = await openDesk([404, ''])
    const client = await settle([], {})
    expect(client).toMatchObject({ code: 1, out: '' })
    expect(client.err).toMatch(/^transload: in client mode the gateway has no credential of its own .* --unchecked/)
    expect(await state()).toBe('unknown')
    // Not even the address of the service is needed then.
    expect(await settle(['--unchecked'], { V2_BASE_URL: '' })).toMatchObject({ code: 0, err: '' })
    expect(asked).toEqual([])
    expect(await state()).toBe('booked')
  })

  test('belongs to one booking only', async () => {
    const { store, settle, bookings, state } = await openDesk([200, { ...SHIPMENT, external_id: undefined }])
    await putUnknown(store, OTHER_KEY, 'REF-2')
    expect((await settle()).code).toBe(0)
    for (const args of [[], ['--unchecked']]) {
      const second = await bookings(['settle', OTHER_KEY, '--shipment-id', ID, ...args])
      expect(second).toEqual({ code: 1, out: '', err: `transload: the booking ${KEY} has this shipment already\n` })
      expect(await state(OTHER_KEY)).toBe('unknown')
    }
  })
})

describe('a settlement', () => {
  const answer = {
    catalog: loadMappings(undefined, undefined),
    settings: readConfig({ V2_BASE_URL: 'http://x.invalid' }),
  }
  const settleWith = async (store: Store, claim: Claim, shipment: string) =>
    settle(
      claim,
      { shipment, number: undefined },
      { store, catalog: await answer.catalog, settings: translationSettings(answer.settings), instance: 'operator' },
    )
  const unknownClaim = async (store: Store) => {
    await putUnknown(store, KEY, 'REF-1')
    return (await store.claimByHandle(KEY)) ?? expect.fail('the booking is gone')
  }

  test('beside another one of the same booking changes nothing, nor do its names stay', async () => {
    const store = createMemoryStore()
    const claim = await unknownClaim(store)
    const results = await Promise.all(['S-1', 'S-2'].map((shipment) => settleWith(store, claim, shipment)))
    expect(results.map(({ outcome }) => outcome)).toEqual(['changed', 'wrong-state'])
    expect((await store.links('acme', 'REF-1')).map(({ id }) => id)).toEqual(['S-1'])
    expect(await store.claimByHandle(KEY)).toMatchObject({ state: 'booked', shipment: 'S-1' })
  })
})

describe('reopen', () => {
  test('makes a settled booking unknown again, and it can be settled otherwise', async () => {
    const { store, settle, bookings, state } = await openDesk()
    expect((await settle()).code).toBe(0)
    expect(await bookings(['reopen', KEY])).toEqual({ code: 0, out: `${KEY} is unknown again.\n`, err: '' })
    expect(await store.claimByHandle(KEY)).toMatchObject({ state: 'unknown', shipment: '', reply: '' })
    // The name of this booking must not lead to the wrong shipment.
    expect(await Promise.all([store.links('acme', 'REF-1'), store.links('acme', 'TL-7')])).toEqual([[], []])
    expect((await bookings(['settle', KEY, '--not-booked'])).code).toBe(0)
    expect(await state()).toBe('freed')
    expect((await bookings(['reopen', KEY])).code).toBe(0)
    expect((await settle()).code).toBe(0)
    const { out } = await bookings(['show', KEY])
    const trail = out
      .split('\n')
      .filter((line) => line.includes('→'))
      .map((line) => line.split('  ').slice(1, 3).join(': '))
    expect(trail).toEqual([
      'none → sending: claimed',
      'sending → unknown: silent',
      'unknown → booked: settled: booked',
      'booked → unknown: reopened',
      'unknown → freed: settled: not booked',
      'freed → unknown: reopened',
      'unknown → booked: settled: booked',
    ])
  })

  test('gives the names back their earlier meaning, with their times', async () => {
    const { store, settle, bookings } = await openDesk()
    const given = { kind: 'shipment', vin: VIN, id: 'S-OLD' } as const
    const older = [link({ ...given, name: 'REF-1' }), link({ ...given, name: 'TL-7', givenBy: 'service' })]
    // Of the same name and another vehicle; it is the newest.
    const other = link({ ...given, name: 'REF-1', vin: '1HGCM82633A004352', id: 'S-OTHER', at: 2_000 })
    await store.put({ links: [...older, other] })
    const names = () => Promise.all([store.links('acme', 'REF-1'), store.links('acme', 'TL-7')])
    const before = await names()
    expect(before).toEqual([[other, older[0]], [older[1]]])

    expect((await settle()).code).toBe(0)
    const settled = await names()
    expect(settled.flat().map(({ id }) => id)).toEqual([ID, 'S-OTHER', ID])
    expect((await bookings(['reopen', KEY])).code).toBe(0)
    expect(await names()).toEqual(before)

    // A second mistake takes the names back as well.
    expect((await bookings(['settle', KEY, '--shipment-id', 'S-9', '--unchecked'])).code).toBe(0)
    expect((await bookings(['reopen', KEY])).code).toBe(0)
    expect(await names()).toEqual(before)
  })

  test('reverts only the last settlement of an operator', async () => {
    const { store, bookings } = await openDesk()
    const rule = 'only settled bookings can be reopened'
    expect(await bookings(['reopen', KEY])).toEqual({
      code: 1,
      out: '',
      err: `transload: ${KEY} is unknown; ${rule}\n`,
    })
    const { claim } = await store.claim(newClaim({ key: 'REF-3', handle: OTHER_KEY }))
    const change = {
      state: 'booked',
      instance: 'gateway-1',
      at: 3_000,
      why: 'made',
      shipment: ID,
      reply: '{}',
    } as const
    await store.change(claim, change)
    expect((await bookings(['reopen', OTHER_KEY])).err).toBe(`transload: ${OTHER_KEY} is booked; ${rule}\n`)
    expect((await bookings(['reopen', 'bk_ffffffffffff'])).err).toBe('transload: there is no booking bk_ffffffffffff\n')

    // A settled booking that was canceled since is done with.
    expect((await bookings(['settle', KEY, '--shipment-id', 'S-9', '--unchecked'])).code).toBe(0)
    const settled = await store.claimByHandle(KEY)
    if (!settled) throw new Error('the booking is gone')
    await store.change(settled, { state: 'freed', instance: 'gateway-1', why: 'canceled' })
    expect((await bookings(['reopen', KEY])).err).toBe(`transload: ${KEY} is freed; ${rule}\n`)
  })
})
