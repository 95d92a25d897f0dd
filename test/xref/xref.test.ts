/** Promise: a name means the thing of its own caller (contract, section 6). */

import fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { createMemoryStore } from '../../src/store/sqlite/sqlite.ts'
import type { Store } from '../../src/store/store.ts'
import { createXref, vinKey, type Xref, type XrefRecord } from '../../src/xref/xref.ts'
import { basic, get, post, startGateway, type TestGateway } from '../gateway.ts'
import { runs } from '../size.ts'
import { link } from '../store/samples.ts'
import { approve, quote } from './program.ts'

describe('names', () => {
  const MEMORY_MS = 1_000
  const START = 10_000

  let now: number
  let store: Store
  let uses: string[]
  let xref: Xref
  beforeEach(() => {
    now = START
    uses = []
    store = createMemoryStore({ now: () => now })
    xref = createXref(store, MEMORY_MS, (tenant, at, names) => uses.push(`${tenant} ${at} ${names().join(', ')}`))
  })

  const record = (given: Partial<XrefRecord> = {}): XrefRecord => ({
    kind: 'shipment',
    id: 's-1',
    names: ['REF-1'],
    vin: 'VIN1',
    own: undefined,
    facts: undefined,
    ...given,
  })
  const idsOf = async (name: string) => (await xref.matches('acme', name)).map(({ id }) => id)

  describe('a shipment that is on record', () => {
    const later = (given: Partial<XrefRecord> = {}) => record({ isOnRecord: true, ...given })

    test('gets the names that its VIN does not have, and no others', async () => {
      await xref.write('acme', record({ serviceNames: ['TL-1'] }))
      now += 1
      expect(await xref.rowsOf('acme', later({ serviceNames: ['TL-1'], own: 'W-1' }))).toEqual({ links: [] })
      expect((await xref.rowsOf('acme', later({ names: ['REF-1', 'REF-2'] }))).links).toMatchObject([
        { name: 'REF-2', vin: 'VIN1', id: 's-1', givenBy: 'caller', at: undefined },
      ])
      // The caller’s own name stands for it already, whoever gave it.
      expect((await xref.rowsOf('acme', later({ names: [], serviceNames: ['REF-1'] }))).links).toEqual([])
      await xref.write('acme', later({ names: ['REF-1', 'REF-2'] }))
      expect(await idsOf('REF-2')).toEqual(['s-1'])
    })

    test('does not become the newest of several by another VIN', async () => {
      await xref.write('acme', record())
      now += 1
      await xref.write('acme', record({ id: 's-2', vin: 'VIN2' }))
      now += 1
      await xref.write('acme', later({ vin: 'VIN3' }))
      expect((await xref.matches('acme', 'REF-1')).map(({ id, vin, at }) => [id, vin, at])).toEqual([
        ['s-2', 'VIN2', START + 1],
        ['s-1', 'VIN3', START],
        ['s-1', 'VIN1', START],
      ])
    })

    test('gets a name although a quote, or another shipment of this VIN by the service, has it', async () => {
      await store.put({
        links: [
          link({ kind: 'quote', name: 'REF-1', vin: 'VIN1', id: 's-1' }),
          link({ kind: 'shipment', name: 'REF-1', vin: 'VIN1', id: 's-9', givenBy: 'service' }),
        ],
      })
      expect((await xref.rowsOf('acme', later())).links).toMatchObject([{ kind: 'shipment', name: 'REF-1', id: 's-1' }])
    })
  })

  describe('a name', () => {
    test('that the service gave counts only where the caller gave none of the kind', async () => {
      const shared = { name: '1001', vin: '' }
      await store.put({
        links: [
          link({ ...shared, kind: 'shipment', id: 'theirs', givenBy: 'service', at: 9 }),
          link({ ...shared, kind: 'quote', id: 'quote', givenBy: 'service', at: 8 }),
        ],
      })
      expect(await idsOf('1001')).toEqual(['theirs', 'quote'])
      await store.put({ links: [link({ ...shared, kind: 'shipment', id: 'mine', at: 1 })] })
      expect(await idsOf('1001')).toEqual(['mine', 'quote'])
      expect(await xref.numbered('acme', '1001')).toEqual(['theirs'])
    })

    test('is noted as used with its ids and their approvals, since the oldest of them', async () => {
      await store.put({ links: [link({ id: 'q-1', at: 7 }), link({ kind: 'shipment', id: 's-1', at: 5 })] })
      await xref.matches('acme', 'Q-1')
      expect(uses).toEqual(['acme 5 Q-1, q-1, q-1, s-1, s-1'])
      await xref.matches('acme', 'Q-2')
      expect(uses).toHaveLength(1)
    })
  })

  test.each([
    [' 1fdxe4 fn9 ', '1FDXE4FN9'],
    ['', ''],
    [undefined, ''],
  ])('the VIN %j is compared as %j', (vin, key) => expect(vinKey(vin)).toBe(key))
})

describe('two clients', () => {
  const CLIENTS = ['acme', 'zenith'] as const
  type Client = (typeof CLIENTS)[number]

  /** Any name that a caller could send: blanks around it are cut off on the way in. */
  const names = fc
    .oneof(fc.string({ unit: 'binary', minLength: 1, maxLength: 12 }), fc.string({ minLength: 1, maxLength: 12 }))
    .map((text) => text.replaceAll('\0', '').trim())
    .filter((text) => text !== '')
  /** Few names, so both clients often use the same. */
  const fewNames = fc.uniqueArray(names, { minLength: 1, maxLength: 3 })
  const step = fc.record({
    client: fc.constantFrom(...CLIENTS),
    does: fc.constantFrom('quote', 'approve', 'book', 'read'),
    nth: fc.nat(2),
  })

  /** The ids of each client's names, as the service made them. */
  function createModel() {
    const known = new Map<string, string>()
    const key = (client: Client, kind: string, name: string) => JSON.stringify([client, kind, name])
    return {
      learn: (client: Client, kind: string, name: string, id: string) => known.set(key(client, kind, name), id),
      idOf: (client: Client, kind: string, name: string) => known.get(key(client, kind, name)),
    }
  }

  async function take(gateway: TestGateway, client: Client, does: string, name: string): Promise<number> {
    const authorization = basic(client)
    if (does === 'quote') return (await quote(gateway, name, {}, client)).status
    if (does === 'approve') return (await approve(gateway, name, client)).status
    if (does === 'read') {
      return (
        await get(gateway, `/getShipment.php?${new URLSearchParams({ ReferenceNumber: name })}`, { authorization })
      ).status
    }
    return (await post(gateway, '/createShipment.php', { ...bookingExample, ReferenceNumber: name }, { authorization }))
      .status
  }

  test('a name means the thing of its own client, even if the other uses the same name', async () => {
    const credentials = Object.fromEntries(CLIENTS.map((client) => [client, 'demo-secret']))
    await fc.assert(
      fc.asyncProperty(fewNames, fc.array(step, { minLength: 6, maxLength: 16 }), async (pool, steps) => {
        const gateway = await startGateway({
          sandbox: { credentials, approvalBooks: false },
          env: { V2_SHIPMENT_PATH: '/v2/shipments' },
        })
        const { sandbox } = gateway
        const model = createModel()
        const approved = new Set<string>()
        for (const { client, does, nth } of steps) {
          const name = pool[nth % pool.length] ?? ''
          sandbox.requests.length = 0
          const status = await take(gateway, client, does, name)
          const paths = sandbox.requests.map(({ path }) => path)
          if (does === 'quote') {
            expect(status).toBe(200)
            model.learn(client, 'quote', name, [...sandbox.quotes.keys()].at(-1) ?? '')
          } else if (does === 'book') {
            expect(status).toBe(200)
            // A booking that was made already is answered again, and nothing is sent.
            if (paths.length > 0) model.learn(client, 'shipment', name, [...sandbox.shipments.keys()].at(-1) ?? '')
          } else if (does === 'approve') {
            const id = model.idOf(client, 'quote', name)
            const booked = model.idOf(client, 'shipment', name)
            // A quote whose name is booked is not approved again: the answer tells of the shipment.
            const approval = `/v2/quote/${id}/approve`
            // The service is asked for the shipment that the approval made, and before a second one for that of the first.
            const read = `/v2/shipments/${id}`
            const asks = approved.has(id ?? '') ? [read, approval, read] : [approval, read]
            const sent = booked === undefined ? asks : [`/v2/shipments/${booked}`]
            expect({ status, paths }).toEqual(
              id === undefined ? { status: 404, paths: [] } : { status: 200, paths: sent },
            )
            if (booked === undefined && id !== undefined) approved.add(id)
          } else {
            const id = model.idOf(client, 'shipment', name) ?? model.idOf(client, 'quote', name)
            if (id !== undefined) expect(paths).toEqual([`/v2/shipments/${id}`])
            else expect(status).toBe(404)
          }
          // Every id in a request belongs to the client that sent it.
          const owners = [...sandbox.quotes.values()].map((one) => [one.shipment_id, one.client] as const)
          for (const [id, owner] of owners) {
            if (paths.some((path) => path.includes(id))) expect(owner).toBe(client)
          }
        }
      }),
      { numRuns: runs(4, 15) },
    )
  }, 120_000)
})
