import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { type Store, StoreDown } from '../../src/outside/store/store.ts'
import { as, folder, known, tenant, writeTenants } from '../callers/tenants-gateway.ts'
import { CLIENT, get, OWN, post, startGateway, type TestGateway, type WholeAnswer } from '../gateway.ts'
import type { DemoShipment } from '../stand-in/stand-in.ts'

const VIN = bookingExample.VinNo
const OTHER_VIN = '1HGCM82633A004352'
const THIRD_VIN = '5YJSA1E14HF000337'
const OTHER_DETAILS = { Year: '2019', Make: 'Honda', Model: 'Accord' }
const KEY = /bk_[0-9a-f]{12}/
const WEBHOOK = { WEBHOOK_SECRET: 'hook-secret-for-tests' }

type Mode = 'client' | 'fixed' | 'tenants'

/** Tests what names and VINs mean over HTTP, on gateways that keep their stores where it says. */
export function meaningTests(
  openStore: () => Promise<Store>,
  modes: readonly Mode[] = ['client', 'fixed', 'tenants'],
): void {
  const open = async (options: NonNullable<Parameters<typeof startGateway>[0]> = {}) => {
    const store = options.store ?? (await openStore())
    return talkTo(await startGateway({ ...options, store, env: { V2_SHIPMENT_PATH: '/v2/shipments', ...options.env } }))
  }

  /** A gateway of each mode. */
  const MODES = {
    client: () => open(),
    fixed: () => open({ env: OWN }),
    tenants: async () => {
      const path = join(folder(), 'tenants.json')
      writeTenants(path, tenant(join(path, '..'), 'acme'))
      const gateway = await startGateway({
        store: await openStore(),
        env: { TENANTS_FILE: path, V2_SHIPMENT_PATH: '/v2/shipments' },
        sandbox: { credentials: known('acme') },
      })
      return talkTo(gateway, as('acme'))
    },
  } satisfies Record<Mode, unknown>

  describe.each(modes)('the table of VINs in %s mode', (mode) => {
    test('no VIN, one shipment: it is read, changed and canceled; fields of one of several vehicles are 409', async () => {
      const at = await MODES[mode]()
      const id = await at.booked()
      at.addVehicle(id, OTHER_VIN)
      expect((await at.read({ ReferenceNumber: REF })).json.VinNo).toBe(VIN)
      expect((await at.update({ ReferenceNumber: REF, PickupName: 'T' })).status).toBe(200)
      at.expectNothingSent(await at.update({ ReferenceNumber: REF, Model: 'T' }), 409, VIN, OTHER_VIN)
      expect((await at.cancel({ ReferenceNumber: REF })).json.TransportationBooked).toBe('No')
      expect(at.shipment(id)?.status).toBe('canceled')
    })

    test('no VIN, several shipments: the newest is read, with their number; changes are 409 with the VINs', async () => {
      const at = await MODES[mode]()
      await at.booked()
      await at.booked({ VinNo: OTHER_VIN })
      const { json } = await at.read({ ReferenceNumber: REF })
      expect([json.VinNo, json.Message]).toEqual([OTHER_VIN, expect.stringContaining('2 shipments')])
      at.expectNothingSent(await at.update({ ReferenceNumber: REF, PickupName: 'T' }), 409, VIN, OTHER_VIN)
      at.expectNothingSent(await at.cancel({ ReferenceNumber: REF }), 409, VIN, OTHER_VIN)
    })

    test('a vehicle without a VIN gets the one that an update sends, and is canceled by it', async () => {
      const at = await MODES[mode]()
      const id = await at.booked({ VinNo: undefined })
      expect((await at.read({ ReferenceNumber: REF, VinNo: VIN })).status).toBe(200)
      expect((await at.update({ ReferenceNumber: REF, VinNo: VIN })).status).toBe(200)
      expect(at.vins(id)).toEqual([VIN])
      at.expectNothingSent(await at.cancel({ ReferenceNumber: REF, VinNo: OTHER_VIN }), 409, VIN)
      at.setVins(id, '')
      expect((await at.cancel({ ReferenceNumber: REF, VinNo: OTHER_VIN })).status).toBe(200)
      expect(at.shipment(id)?.status).toBe('canceled')
    })

    test('another VIN than that of the one vehicle: 404, changed by an update, 409 for a cancel', async () => {
      const at = await MODES[mode]()
      const id = await at.booked()
      const { status, json } = await at.read({ ReferenceNumber: REF, VinNo: OTHER_VIN })
      expect([status, json.TransportationBooked, json.Message]).toEqual([404, 'No', expect.stringContaining(VIN)])
      at.expectNothingSent(await at.cancel({ shipment_id: id, VinNo: OTHER_VIN }), 409, VIN)
      expect((await at.update({ ReferenceNumber: REF, VinNo: OTHER_VIN })).status).toBe(200)
      expect(at.vins(id)).toEqual([OTHER_VIN])
      // Both find it; the old one is not written back.
      for (const VinNo of [VIN, OTHER_VIN])
        expect((await at.read({ ReferenceNumber: REF, VinNo })).json.VinNo).toBe(OTHER_VIN)
      expect((await at.update({ ReferenceNumber: REF, VinNo: VIN, Model: 'T' })).status).toBe(200)
      expect(at.vins(id)).toEqual([OTHER_VIN])
      expect((await at.cancel({ ReferenceNumber: REF, VinNo: VIN })).status).toBe(200)
    })
  })

  describe('fields', () => {
    test.each(['cancel', 'update'] as const)(
      'that name different shipments are 409 for a %s, with what each means',
      async (use) => {
        const at = await open()
        const one = await at.booked({ ReferenceNumber: 'R1' })
        const other = await at.booked({ ReferenceNumber: 'R2', VinNo: OTHER_VIN })
        const answer = await at[use]({ ReferenceNumber: 'R1', ShipmentNumber: 'R2', PickupName: 'T' })
        at.expectNothingSent(answer, 409, `ReferenceNumber R1 is ${one}`, `ShipmentNumber R2 is ${other}`)
        expect(answer.json.TransportationBooked).toBe('Unknown')
      },
    )

    test('of a reference and the VIN of another vehicle that was booked under it change nothing', async () => {
      const at = await open()
      await at.booked()
      const other = await at.booked({ VinNo: OTHER_VIN })
      const answer = await at.update({ ReferenceNumber: REF, shipment_id: other, VinNo: VIN, PickupName: 'T' })
      at.expectNothingSent(answer, 409, VIN)
    })

    test('that nobody knows are ignored beside one that is known, and the answer says so', async () => {
      const at = await open()
      const id = await at.booked()
      const { status, json } = await at.cancel({ ReferenceNumber: REF, ShipmentNumber: 'NOBODY-1' })
      expect([status, json.Message]).toEqual([200, expect.stringContaining('ShipmentNumber NOBODY-1')])
      expect(at.shipment(id)?.status).toBe('canceled')
      const unknown = await at.cancel({ ShipmentNumber: 'NOBODY-1' })
      expect([unknown.status, unknown.json.TransportationBooked]).toEqual([404, 'No'])
    })
  })

  describe('one vehicle is booked once', () => {
    test('with its VIN and without', async () => {
      const at = await open()
      const id = await at.booked({ VinNo: undefined })
      const withVin = await at.book()
      expect([withVin.status, withVin.json.TransportationBooked]).toEqual([409, 'Unknown'])
      expect((await at.update({ ReferenceNumber: REF, VinNo: VIN })).status).toBe(200)
      expect((await at.book()).status).toBe(409)
      expect(await at.booked({ VinNo: undefined })).toBe(id)
      expect(at.creations()).toBe(1)
    })

    test('after an update changed its VIN', async () => {
      const at = await open()
      const id = await at.booked()
      expect((await at.update({ ReferenceNumber: REF, VinNo: OTHER_VIN })).status).toBe(200)
      expect(await at.booked()).toBe(id)
      expect((await at.book({ VinNo: OTHER_VIN })).json.TransportationBooked).toBe('Unknown')
      expect(at.creations()).toBe(1)
    })

    test.each([{ ReferenceNumber: REF }, { ReferenceNumber: '' }])('in another spelling: %j', async (reference) => {
      const at = await open()
      const id = await at.booked(reference)
      const spelled = { PickupState: 'New York', 'PickupPhNo.': '+1 718-555-0100', VinNo: VIN.toLowerCase() }
      expect(await at.booked({ ...reference, ...spelled })).toBe(id)
      expect(at.creations()).toBe(1)
    })

    test('where year, make or model differ, it is another vehicle', async () => {
      const at = await open()
      const id = await at.booked({ VinNo: undefined })
      expect(await at.booked({ VinNo: undefined, ...OTHER_DETAILS })).not.toBe(id)
      at.expectNothingSent(await at.update({ ReferenceNumber: REF, PickupName: 'T' }), 409, '(none)')
      expect(at.creations()).toBe(2)
    })

    test('a VIN that the service shows since is listed, found and canceled, and no other one', async () => {
      const at = await open()
      const id = await at.booked({ VinNo: undefined })
      at.setVins(id, VIN)
      at.expectNothingSent(await at.cancel({ ReferenceNumber: REF, VinNo: OTHER_VIN }), 409, VIN)
      expect((await at.update({ ReferenceNumber: REF, Model: 'T' })).status).toBe(200)
      await at.booked({ VinNo: OTHER_VIN })
      at.expectNothingSent(await at.update({ ReferenceNumber: REF, Model: 'U' }), 409, `${OTHER_VIN}, ${VIN}`)
      expect((await at.cancel({ ReferenceNumber: REF, VinNo: VIN })).status).toBe(200)
      expect(at.shipment(id)?.status).toBe('canceled')
    })

    test('a shipment that has lost its vehicle gets the one that an update sends', async () => {
      const at = await open()
      Object.assign(at.shipment(await at.booked()) ?? {}, { vehicles: [] })
      await at.update({ ReferenceNumber: REF, VinNo: VIN, Model: 'T' })
      const { method, body } = at.gateway.sandbox.requests.at(-1) ?? expect.fail('no request')
      expect([method, JSON.parse(body).vehicles]).toEqual(['PUT', [{ vin: VIN, model: 'T' }]])
    })

    test('after the service has changed its VIN, or has added a vehicle', async () => {
      const at = await open()
      const id = await at.booked()
      at.setVins(id, OTHER_VIN)
      await at.read({ ReferenceNumber: REF })
      expect(await at.booked()).toBe(id)
      at.addVehicle(id, THIRD_VIN)
      await at.read({ ReferenceNumber: REF })
      const added = await at.book({ VinNo: THIRD_VIN })
      expect([added.status, added.json.TransportationBooked]).toEqual([409, 'Unknown'])
      expect(at.creations()).toBe(1)
    })

    test('an update to the VIN of another booking of the reference is 409', async () => {
      const at = await open()
      const id = await at.booked()
      await at.booked({ VinNo: OTHER_VIN })
      at.expectNothingSent(await at.update({ shipment_id: id, ReferenceNumber: REF, VinNo: OTHER_VIN }), 409)
      at.expectNothingSent(await at.update({ shipment_id: id, VinNo: OTHER_VIN }), 409, OTHER_VIN)
      expect(at.vins(id)).toEqual([VIN])
    })
  })

  describe('a booking is sent anew', () => {
    const SHOWN_BY = {
      'version 1': (at: Talk) => at.read({ ReferenceNumber: REF }),
      '/v2/': (at: Talk, id: string) => at.version2('GET', `/v2/shipments/${id}`),
      'an event': (at: Talk, id: string) => at.event('shipment.canceled', id),
    }
    test.each(Object.entries(SHOWN_BY))('after %s has shown the shipment as canceled', async (_, show) => {
      const at = await open({ env: { ...OWN, ...WEBHOOK } })
      const id = await at.booked()
      at.cancelAtService(id)
      expect(await at.booked()).toBe(id)
      await show(at, id)
      await expect.poll(async () => (await at.gateway.store.claimsOfShipment(CLIENT.id, id))[0]?.state).toBe('freed')
      const again = await at.booked()
      expect(again).not.toBe(id)
      // The canceled one bears the name no more.
      expect((await at.update({ ReferenceNumber: REF, PickupName: 'T' })).status).toBe(200)
      expect(at.shipment(again)?.pickup).toMatchObject({ contact_name: 'T' })
    })

    test('late, after a look that shows that it is gone; a look that fails changes nothing', async () => {
      const at = await open({ env: { REPLAY_CHECK_AFTER: '1ms' } })
      const id = await at.booked()
      expect(await at.booked()).toBe(id)
      at.cancelAtService(id)
      at.gateway.sandbox.fail({ kind: 'status', status: 500, times: 'always', on: { method: 'GET' } })
      expect(await at.booked()).toBe(id)
      at.gateway.sandbox.clearFaults()
      expect(await at.booked()).not.toBe(id)
    })

    test('not before the store has freed its key, and until then nothing is sent or confirmed', async () => {
      const store = await openStore()
      let isDown = false
      const change: typeof store.change = async (...args) => {
        if (isDown) throw new StoreDown('The disk is full.')
        return store.change(...args)
      }
      const at = await open({ env: { REPLAY_CHECK_AFTER: '1ms' }, store: { ...store, change } })
      const id = await at.booked()
      at.cancelAtService(id)
      isDown = true
      const { status, json } = await at.book()
      expect([status, json.TransportationBooked, at.creations()]).toEqual([503, 'No', 1])
      isDown = false
      expect(await at.booked()).not.toBe(id)
    })
  })

  test('a VIN that a vehicle had before selects it, and is understood', async () => {
    const at = await open()
    await at.booked()
    expect((await at.update({ ReferenceNumber: REF, VinNo: OTHER_VIN })).status).toBe(200)
    const alone = await at.update({ ReferenceNumber: REF, VinNo: VIN })
    expect([alone.status, alone.json.Message]).toEqual([200, expect.stringContaining('these values already')])
    const { json } = await at.update({ ReferenceNumber: REF, VinNo: VIN, PickupName: 'T' })
    expect(json.Message).toMatch(/Changed: PickupName\.$/)
    expect(json.Message).not.toContain('Not understood')
  })

  describe('a booking in doubt', () => {
    const CALLS = ['read', 'update', 'cancel'] as const

    test.each(CALLS)('is never "not known" to a %s', async (use) => {
      const at = await open()
      at.gateway.sandbox.fail({ kind: 'status', status: 500, on: { method: 'POST' } })
      const key = keyIn(await at.book())
      const answer = await at[use]({ ReferenceNumber: REF, PickupName: 'T' })
      expect([answer.status, answer.json.TransportationBooked, keyIn(answer)]).toEqual([503, 'Unknown', key])
    })

    test('is not told to a read with the VIN of no booking', async () => {
      const at = await open()
      at.gateway.sandbox.fail({ kind: 'status', status: 500, on: { method: 'POST' } })
      const key = keyIn(await at.book())
      await at.booked({ VinNo: OTHER_VIN })
      expect((await at.read({ ReferenceNumber: REF, VinNo: '1FTFW1ET5DFC10312' })).status).toBe(404)
      expect(keyIn(await at.read({ ReferenceNumber: REF, VinNo: VIN }))).toBe(key)
    })

    test('keeps the vehicle of its shipment, which nothing else would know as booked', async () => {
      const at = await open({ env: { ...OWN, UPSTREAM_TIMEOUT_MS: '1500' } })
      at.gateway.sandbox.fail({ kind: 'timeout', on: { method: 'POST' } })
      const key = keyIn(await at.book())
      const [{ id = '' } = {}] = at.gateway.sandbox.shipments.values()
      for (const change of [{ VinNo: OTHER_VIN }, { Model: 'T' }]) {
        const answer = await at.update({ shipment_id: id, ...change })
        expect([answer.status, answer.json.TransportationBooked, keyIn(answer)]).toEqual([503, 'Unknown', key])
      }
      expect((await at.update({ shipment_id: id, PickupName: 'T' })).status).toBe(200)
    })

    test('keeps it while it is being sent, and says to come again', async () => {
      const at = await open({ env: { ...OWN, UPSTREAM_TIMEOUT_MS: '2000' } })
      at.gateway.sandbox.fail({ kind: 'timeout', on: { method: 'POST' } })
      const sent = at.book()
      await expect.poll(() => at.gateway.sandbox.shipments.size).toBe(1)
      const [{ id = '' } = {}] = at.gateway.sandbox.shipments.values()
      const answer = await at.update({ shipment_id: id, VinNo: OTHER_VIN })
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '5'])
      expect(answer.json).toMatchObject({
        TransportationBooked: 'Unknown',
        Message: expect.stringContaining('is being sent'),
      })
      expect(keyIn(await sent)).toBe(keyIn(answer))
    })

    test('in both spellings, with and without its VIN, is one: the second waits in either gateway while the first is sent', async () => {
      const at = await open()
      const other = talkTo(await startGateway({ store: at.gateway.store, serviceUrl: at.gateway.sandbox.url }))
      at.gateway.sandbox.fail({ kind: 'delay', ms: 500, on: { method: 'POST' } })
      const begun = at.gateway.sandbox.next(({ method }) => method === 'POST')
      const first = at.book()
      await begun
      const during = await at.read({ ReferenceNumber: REF })
      expect([during.status, during.json.TransportationBooked]).toEqual([503, 'Unknown'])
      const others = await Promise.all([at.book({ VinNo: undefined }), other.book({ VinNo: undefined })])
      expect((await first).status).toBe(200)
      for (const { status, json } of others) expect([status, json.TransportationBooked]).toEqual([409, 'Unknown'])
      expect(at.creations()).toBe(1)
    })
  })

  describe('202 is a promise', () => {
    const accepted = {
      kind: 'change',
      change: ({ body }: { body: string | Buffer }) => ({ status: 202, body }),
    } as const
    const undone = { ...accepted, process: false } as const

    test('of a booking, believed after a read that shows the shipment', async () => {
      const at = await open()
      at.gateway.sandbox.fail({ ...accepted, on: { method: 'POST' } })
      await at.booked()
      at.gateway.sandbox.fail(
        { ...accepted, on: { method: 'POST' } },
        { kind: 'status', status: 404, on: { method: 'GET' } },
      )
      const answer = await at.book({ ReferenceNumber: 'R2' })
      expect([answer.status, answer.json.TransportationBooked]).toEqual([503, 'Unknown'])
      keyIn(answer)
    })

    test('of an update', async () => {
      const at = await open()
      await at.booked()
      at.gateway.sandbox.fail({ ...accepted, on: { method: 'PUT' } })
      expect((await at.update({ ReferenceNumber: REF, Model: 'T' })).status).toBe(200)
      at.gateway.sandbox.fail({ ...undone, on: { method: 'PUT' } })
      const answer = await at.update({ ReferenceNumber: REF, Model: 'U' })
      expect([answer.status, answer.json.TransportationBooked]).toEqual([502, 'Unknown'])
    })

    test('of an approval', async () => {
      const at = await open({ sandbox: { approvalBooks: false } })
      await at.quote({ ShipmentNumber: 'Q1' })
      at.gateway.sandbox.fail({ ...accepted, on: { path: /approve$/ } })
      const answer = await at.approve({ ShipmentNumber: 'Q1' })
      expect(answer.json.TransportationBooked).toBe('Unknown')
    })

    test('of a cancel', async () => {
      const at = await open()
      const id = await at.booked()
      at.gateway.sandbox.fail({ ...undone, on: { method: 'DELETE' } })
      const answer = await at.cancel({ ReferenceNumber: REF })
      expect([answer.status, answer.json.TransportationBooked]).toEqual([502, 'Unknown'])
      expect(await at.booked()).toBe(id)
    })
  })

  describe('an approval that answers with a shipment of its own id', () => {
    const SHIPMENT = '77777777-7777-4777-8777-777777777777'
    const OF_IT = {
      'number and vehicles': { number: 'TL-7', vehicles: [{ id: 'v', vin: VIN }] },
      external_id: { external_id: 'Q1', number: 'TL-7' },
      quote_id: (quote: string) => ({ quote_id: quote, number: 'TL-7' }),
    }
    test.each(Object.entries(OF_IT))(
      'is believed by its %s, and the shipment is found by the names of the quote',
      async (_, given) => {
        const at = await open()
        const quote = await at.quote({ ShipmentNumber: 'Q1', OrderRefNumber: 'ORDER-1' })
        const body = JSON.stringify({
          id: SHIPMENT,
          status: 'new',
          ...(typeof given === 'function' ? given(quote) : given),
        })
        at.gateway.sandbox.fail({ kind: 'status', status: 200, body, on: { path: /approve$/ } })
        const { json } = await at.approve({ ShipmentNumber: 'Q1' })
        expect(json.TransportationBooked).toBe('Yes')
        for (const name of [
          { ShipmentNumber: 'Q1' },
          { OrderRefNumber: 'ORDER-1' },
          { number: 'TL-7' },
          { id: SHIPMENT },
        ]) {
          await at.read(name)
          expect(at.gateway.sandbox.requests.at(-1)?.path).toBe(`/v2/shipments/${SHIPMENT}`)
        }
      },
    )

    test('is 502 where nothing says that it is the quote’s', async () => {
      const at = await open()
      await at.quote({ ShipmentNumber: 'Q1' })
      const body = JSON.stringify({ id: SHIPMENT, status: 'new' })
      at.gateway.sandbox.fail({ kind: 'status', status: 200, body, on: { path: /approve$/ } })
      expect((await at.approve({ ShipmentNumber: 'Q1' })).status).toBe(502)
    })
  })

  describe('what was answered stays valid', () => {
    test('every number that answers have shown finds the shipment', async () => {
      const at = await open()
      const { headers } = await at.book()
      const id = headers.get('transload-shipment-id') ?? ''
      const number = headers.get('transload-shipment-number') ?? ''
      at.setNumber(id, 'TL-9')
      const renumbered = await at.read({ ReferenceNumber: REF })
      expect(renumbered.json.ShipmentNumber).toBe('TL-9')
      for (const name of [id, number, 'TL-9', REF, id.toUpperCase(), REF.toLowerCase()]) {
        expect((await at.read({ ShipmentNumber: name })).json.ReferenceNumber, name).toBe(REF)
      }
    })

    test('a number that only the answer to a cancel has shown, too', async () => {
      const at = await open()
      const id = await at.booked()
      at.setNumber(id, 'TL-9')
      expect((await at.cancel({ ReferenceNumber: REF })).json.Message).toContain('TL-9')
      at.setNumber(id, 'TL-10')
      expect((await at.read({ ShipmentNumber: 'TL-9' })).json.Status).toBe('canceled')
    })

    test('names of a quote find the shipment that was booked from it under its other name', async () => {
      const at = await open()
      const quote = await at.quote({ ShipmentNumber: 'Q1', OrderRefNumber: 'ORDER-1' })
      await at.booked({ ReferenceNumber: 'ORDER-1' })
      for (const name of [{ ShipmentNumber: 'Q1' }, { OrderRefNumber: 'ORDER-1' }, { shipment_id: quote }]) {
        expect((await at.read(name)).json.ReferenceNumber).toBe('ORDER-1')
      }
      const unnamed = await at.quote({ ShipmentNumber: '', OrderRefNumber: 'ORDER-2' })
      await at.booked({ ReferenceNumber: unnamed })
      expect((await at.read({ OrderRefNumber: 'ORDER-2' })).json.ReferenceNumber).toBe(unnamed)
    })

    test('the other number of a booked quote is no name of the booking: the next quote with it is booked itself', async () => {
      const at = await open({ sandbox: { approvalBooks: false } })
      const next = { ShipmentNumber: 'Q2', OrderRefNumber: 'ORDER-1' }
      await at.quote({ ...next, ShipmentNumber: 'Q1' })
      await at.booked({ ReferenceNumber: 'Q1' })
      expect((await at.update({ OrderRefNumber: 'ORDER-1', PickupName: 'T' })).status).toBe(200)
      await at.quote(next)
      expect((await at.approve(next)).json.Message).not.toMatch(/booked already/)
      expect((await at.read({ OrderRefNumber: 'ORDER-1' })).status).toBe(404)
      await at.booked({ ReferenceNumber: 'Q2' })
      expect((await at.read({ OrderRefNumber: 'ORDER-1' })).json.ReferenceNumber).toBe('Q2')
    })

    test('several shipments of a quote are chosen by their VINs, and the canceled ones do not take its other number', async () => {
      const at = await open()
      const names = { OrderRefNumber: 'ORDER-1' }
      await at.quote({ ...names, ShipmentNumber: 'Q1' })
      for (const VinNo of [VIN, OTHER_VIN]) await at.booked({ ReferenceNumber: 'Q1', VinNo })
      at.expectNothingSent(await at.cancel(names), 409, OTHER_VIN)
      expect((await at.cancel({ ...names, VinNo: VIN })).status).toBe(200)
      expect((await at.cancel(names)).status).toBe(200)
      await at.quote({ ...names, ShipmentNumber: 'Q2' })
      expect((await at.read(names)).status).toBe(404)
    })

    test("a caller's own name comes before the same number of the service", async () => {
      const at = await open()
      const first = await at.booked({ ReferenceNumber: 'R1' })
      at.setNumber(first, 'R2')
      await at.read({ ReferenceNumber: 'R1' })
      await at.booked({ ReferenceNumber: 'R2', VinNo: OTHER_VIN })
      expect((await at.read({ ShipmentNumber: 'R2' })).json.VinNo).toBe(OTHER_VIN)
    })
  })

  test('two gateways that share a store know each other’s names at once', async () => {
    const at = await open()
    const other = talkTo(
      await startGateway({
        store: at.gateway.store,
        serviceUrl: at.gateway.sandbox.url,
        env: { V2_SHIPMENT_PATH: '/v2/shipments' },
      }),
    )
    const id = await at.booked()
    expect((await other.read({ ReferenceNumber: REF })).json.VinNo).toBe(VIN)
    expect((await other.update({ ReferenceNumber: REF, VinNo: OTHER_VIN })).status).toBe(200)
    expect((await at.read({ ReferenceNumber: REF, VinNo: OTHER_VIN })).json.VinNo).toBe(OTHER_VIN)
    expect(await at.booked()).toBe(id)
    expect((await other.cancel({ ReferenceNumber: REF, VinNo: VIN })).status).toBe(200)
    expect(await at.booked()).not.toBe(id)
  })
}

const REF = bookingExample.ReferenceNumber

const keyIn = ({ json }: WholeAnswer) => KEY.exec(json.Message)?.[0] ?? expect.fail(`no key in: ${json.Message}`)

type Fields = Readonly<Record<string, string | undefined>>
type Talk = ReturnType<typeof talkTo>

/** Speaks version 1 to a gateway, and does at the service what others may do. */
function talkTo(gateway: TestGateway, headers: Readonly<Record<string, string>> = {}) {
  const { sandbox } = gateway
  const book = (changes: Fields = {}) =>
    post(gateway, '/createShipment.php', { ...bookingExample, ...changes }, headers)
  const shipment = (id: string) => sandbox.shipments.get(id)
  const change = (id: string, how: (shipment: DemoShipment) => Partial<DemoShipment>) => {
    const before = shipment(id) ?? expect.fail('no shipment')
    sandbox.shipments.set(id, { ...before, ...how(before) })
  }
  const noted = async (call: () => Promise<WholeAnswer>) => {
    sandbox.requests.length = 0
    return call()
  }
  return {
    gateway,
    book,
    /** Books, and returns the id of the shipment. */
    booked: async (changes: Fields = {}) => {
      const answer = await book(changes)
      expect([answer.status, answer.json.TransportationBooked], answer.json.Message).toEqual([200, 'Yes'])
      return answer.headers.get('transload-shipment-id') ?? expect.fail('no id')
    },
    /** Gets a quote, and returns its id. */
    quote: async (changes: Fields) => {
      await post(gateway, '/getShippingQuote.php', { ...quoteExample, OrderRefNumber: '', ...changes }, headers)
      return [...sandbox.quotes.keys()].at(-1) ?? expect.fail('no quote')
    },
    approve: (fields: Fields) =>
      post(gateway, '/getShippingQuote.php', { ActionName: 'Accept Rate', ...fields }, headers),
    read: (fields: Fields) =>
      noted(() => get(gateway, `/getShipment.php?${new URLSearchParams(fields as Record<string, string>)}`, headers)),
    update: (fields: Fields) => noted(() => post(gateway, '/updateShipment.php', fields, headers)),
    cancel: ({ PickupName: _, ...fields }: Fields) =>
      noted(() => post(gateway, '/deleteShipment.php', fields, headers)),
    version2: (method: string, path: string) =>
      fetch(gateway.url + path, { method, headers }).then((reply) => reply.text()),
    event: (event: string, shipment_id: string) =>
      post(gateway, `/webhooks/${WEBHOOK.WEBHOOK_SECRET}`, {
        event,
        shipment_id,
        event_date: '2026-11-25T12:00:00+0000',
      }),
    shipment,
    vins: (id: string) => shipment(id)?.vehicles.map(({ vin }) => vin),
    creations: () => sandbox.shipments.size,
    setVins: (id: string, vin: string) =>
      change(id, ({ vehicles }) => ({ vehicles: vehicles.map((one) => ({ ...one, vin })) })),
    addVehicle: (id: string, vin: string) =>
      change(id, ({ vehicles: [first] }) => ({ vehicles: first ? [first, { ...first, id: 'another', vin }] : [] })),
    setNumber: (id: string, number: string) => change(id, () => ({ number })),
    cancelAtService: (id: string) => change(id, () => ({ status: 'canceled' })),
    /** Expects a refusal whose message says all this, and that nothing but reads reached the service. */
    expectNothingSent: ({ status, json }: WholeAnswer, should: number, ...texts: readonly string[]) => {
      expect(status, json.Message).toBe(should)
      for (const text of texts) expect(json.Message).toContain(text)
      expect(sandbox.requests.filter(({ method }) => method !== 'GET')).toEqual([])
    },
  }
}
