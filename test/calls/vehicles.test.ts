/** Promise: bookings of several vehicles of one reference are told apart (contract, section 7). */

import { describe, expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { get, post, startGateway, type TestGateway } from '../gateway.ts'

const REFERENCE = bookingExample.ReferenceNumber
const VIN = bookingExample.VinNo
const OTHER_VIN = '1HGCM82633A004352'

const WITHOUT_VIN = { VinNo: undefined }

/** Books, and returns the id of the shipment. */
async function book(gateway: TestGateway, changes: object = {}) {
  const { status, headers } = await post(gateway, '/createShipment.php', { ...bookingExample, ...changes })
  expect(status).toBe(200)
  return headers.get('transload-shipment-id') ?? ''
}

/** The fields that name a shipment. */
const named = (VinNo?: string) => ({ ReferenceNumber: REFERENCE, ...(VinNo !== undefined && { VinNo }) })

/** The id of the shipment that a read finds, or the status and the message. */
async function found(gateway: TestGateway, vin?: string) {
  const { status, json } = await get(gateway, `/getShipment.php?${new URLSearchParams(named(vin))}`)
  if (status !== 200) return { status, message: json.Message }
  return [...gateway.sandbox.shipments.values()].find(({ number }) => number === json.ShipmentNumber)?.id
}

const cancel = (gateway: TestGateway, vin: string) => post(gateway, '/deleteShipment.php', named(vin))
const change = (gateway: TestGateway, vin?: string) =>
  post(gateway, '/updateShipment.php', { ...named(vin), Model: 'T' })

/** The service shows another VIN from now on. */
function changeVin({ sandbox }: TestGateway, id: string, vin: string): void {
  const shipment = sandbox.shipments.get(id) ?? expect.fail('no shipment')
  sandbox.shipments.set(id, { ...shipment, vehicles: shipment.vehicles.map((one) => ({ ...one, vin })) })
}

describe('a booking without a VIN', () => {
  test('is found by its reference with the VIN that it has at the service since', async () => {
    const gateway = await startGateway()
    const id = await book(gateway, WITHOUT_VIN)
    expect(await found(gateway)).toBe(id)
    changeVin(gateway, id, VIN)
    expect(await found(gateway, VIN)).toBe(id)
    expect((await change(gateway, VIN)).status).toBe(200)
    expect(gateway.sandbox.shipments.get(id)?.vehicles[0]).toMatchObject({ vin: VIN, model: 'T' })
  })

  test('is told from a later one by the VIN that the service showed after an update', async () => {
    const gateway = await startGateway()
    const id = await book(gateway, WITHOUT_VIN)
    changeVin(gateway, id, VIN)
    expect((await change(gateway)).status).toBe(200)
    await book(gateway, { VinNo: OTHER_VIN })
    expect(await found(gateway, VIN)).toBe(id)
  })

  test('gets the VIN that an update sends, and is found by it from then on', async () => {
    const gateway = await startGateway()
    const id = await book(gateway, WITHOUT_VIN)
    const spelled = ` ${VIN.slice(0, 9).toLowerCase()} ${VIN.slice(9)}`
    expect((await change(gateway, spelled)).status).toBe(200)
    expect(gateway.sandbox.shipments.get(id)?.vehicles[0]).toMatchObject({ vin: VIN })
    expect(await found(gateway, VIN)).toBe(id)
    expect(await found(gateway, VIN.toLowerCase())).toBe(id)
  })

  test('is another one than a booking of the same reference with a VIN and another model', async () => {
    const gateway = await startGateway()
    const plain = await book(gateway, WITHOUT_VIN)
    const known = await book(gateway, { Model: 'Transit' })
    expect(known).not.toBe(plain)
    expect(await found(gateway, VIN)).toBe(known)
    // Reading takes the newest, changing does not guess.
    expect(await found(gateway)).toBe(known)
    const { status, json } = await change(gateway)
    expect(status).toBe(409)
    expect(json.Message).toContain(`${VIN}, (none)`)
    expect((await change(gateway, VIN)).status).toBe(200)
    expect(gateway.sandbox.shipments.get(known)?.vehicles[0]).toMatchObject({ model: 'T' })
    expect(gateway.sandbox.shipments.get(plain)?.vehicles[0]).toMatchObject({ model: bookingExample.Model })
  })

  test('is listed with the VIN that it has got, and not as one without', async () => {
    const gateway = await startGateway()
    await book(gateway, WITHOUT_VIN)
    expect((await change(gateway, VIN)).status).toBe(200)
    await book(gateway, { VinNo: OTHER_VIN })
    const { status, json } = await change(gateway)
    expect(status).toBe(409)
    expect(json.Message).toContain(`${OTHER_VIN}, ${VIN}`)
    expect(json.Message).not.toContain('(none)')
  })

  test('is canceled with the VIN that the service shows, and with no other', async () => {
    const gateway = await startGateway()
    const id = await book(gateway, WITHOUT_VIN)
    changeVin(gateway, id, VIN)
    const { status, json } = await cancel(gateway, OTHER_VIN)
    expect(status).toBe(409)
    expect(json.Message).toContain(VIN)
    expect(gateway.sandbox.shipments.get(id)?.status).not.toBe('canceled')
    expect((await cancel(gateway, VIN)).status).toBe(200)
    expect(gateway.sandbox.shipments.get(id)?.status).toBe('canceled')
  })

  test('sent again is replayed without a VIN, refused with one, and with another model a booking of its own', async () => {
    const gateway = await startGateway()
    const id = await book(gateway, WITHOUT_VIN)
    const again = await post(gateway, '/createShipment.php', { ...bookingExample, ...WITHOUT_VIN })
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    const known = await post(gateway, '/createShipment.php', { ...bookingExample, VinNo: OTHER_VIN })
    expect([known.status, known.json.TransportationBooked]).toEqual([409, 'Unknown'])
    expect(await book(gateway, { VinNo: OTHER_VIN, Model: 'Transit' })).not.toBe(id)
    expect(gateway.sandbox.shipments.size).toBe(2)
  })
})

test('a shipment that has lost its vehicle gets the one that an update sends', async () => {
  const gateway = await startGateway()
  const id = await book(gateway)
  const shipment = gateway.sandbox.shipments.get(id) ?? expect.fail('no shipment')
  gateway.sandbox.shipments.set(id, { ...shipment, vehicles: [] })
  await change(gateway, VIN)
  const { method, body } = gateway.sandbox.requests.at(-1) ?? expect.fail('no request')
  expect([method, JSON.parse(body).vehicles]).toEqual(['PUT', [{ vin: VIN, model: 'T' }]])
})

test('an update gives a booking with a VIN another one, by which it is canceled', async () => {
  const gateway = await startGateway()
  const id = await book(gateway)
  expect((await change(gateway, OTHER_VIN)).status).toBe(200)
  expect(gateway.sandbox.shipments.get(id)?.vehicles).toMatchObject([{ vin: OTHER_VIN, model: 'T' }])
  expect((await cancel(gateway, OTHER_VIN)).status).toBe(200)
  expect(gateway.sandbox.shipments.get(id)?.status).toBe('canceled')
})

test('a booking with a VIN is canceled with it, whatever the service shows since', async () => {
  const gateway = await startGateway()
  const id = await book(gateway)
  changeVin(gateway, id, OTHER_VIN)
  expect((await cancel(gateway, VIN)).status).toBe(200)
  expect(gateway.sandbox.shipments.get(id)?.status).toBe('canceled')
})

test('a VIN that no booking of the reference has is no reason to take one that has another', async () => {
  const gateway = await startGateway()
  await book(gateway)
  const { status, json } = await cancel(gateway, OTHER_VIN)
  expect(status).toBe(409)
  expect(json.Message).toContain(VIN)
  expect([...gateway.sandbox.shipments.values()].map(({ status: now }) => now)).not.toContain('canceled')
})

test('of more shipments under one reference than a call reads, each is chosen by its VIN', async () => {
  const gateway = await startGateway()
  const vins = Array.from({ length: 12 }, (_, i) => `1FDXE4FN9PDD324${10 + i}`)
  const ids: string[] = []
  for (const VinNo of vins) ids.push(await book(gateway, { VinNo }))
  const [oldest = '', second = ''] = vins
  expect(await found(gateway, oldest)).toBe(ids[0])
  expect((await change(gateway, oldest)).status).toBe(200)
  expect(gateway.sandbox.shipments.get(ids[0] ?? '')?.vehicles[0]).toMatchObject({ vin: oldest, model: 'T' })
  expect((await cancel(gateway, second)).status).toBe(200)
  expect(gateway.sandbox.shipments.get(ids[1] ?? '')?.status).toBe('canceled')
  const { status, json } = await post(gateway, '/deleteShipment.php', named())
  expect([status, json.Message]).toEqual([409, expect.stringContaining(oldest)])
  expect(json.Message).not.toContain('none')
})
