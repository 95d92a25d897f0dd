import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { readConfig } from '../../src/config/config.ts'
import { ConfigErrors } from '../../src/config/errors.ts'
import type { Fault } from '../../src/sandbox/sandbox.ts'
import { NO_SHIPMENT } from '../../src/service/acceptance.ts'
import { cheapHash, writeTenants } from '../callers/edge.ts'
import { newFolder } from '../command.ts'
import { basic, CLIENT, get, post, startGateway, type TestGateway, type TestGatewayOptions } from '../gateway.ts'

const ALL = 'quote.get,quote.update,shipment.get,shipment.create'
const startNative = ({ env, ...options }: TestGatewayOptions = {}) =>
  startGateway({ ...options, env: { NATIVE_ACTIONS: ALL, ...env } })

const QUOTE = {
  ActionName: 'Get Rate',
  ShipmentNumber: 'WTS1',
  OrderRefNumber: 'ORDER-1',
  EquipmentType: 'OPEN AUTO',
  TempShipFromPostalCode: '10314',
  TempShipToPostalCode: '33166',
}
const BOOKING = {
  ReferenceNumber: 'REF-1',
  PickupZip: '10314',
  PickupName: 'Pat Example',
  DeliveryZip: '33166',
  BillToName: 'Example Motors',
  Year: '2023',
  Make: 'Ford',
  VinNo: '1FDXE4FN9PDD32477',
}
const quote = (gateway: TestGateway, more: object = {}) => post(gateway, '/getShippingQuote.php', { ...QUOTE, ...more })
const book = (gateway: TestGateway, more: object = {}) => post(gateway, '/createShipment.php', { ...BOOKING, ...more })
const read = (gateway: TestGateway) => get(gateway, '/getShipment.php?ReferenceNumber=REF-1')
const sent = ({ sandbox }: TestGateway) => sandbox.requests.map(({ method, path }) => `${method} ${path.split('?')[0]}`)

describe('a quote', () => {
  test('is priced by the service in version 1, and the cross-reference stays the gateway’s', async () => {
    const gateway = await startNative()
    const { status, json } = await quote(gateway)
    const [[id = '', made] = []] = gateway.sandbox.quotes
    expect({ status, json }).toEqual({ status: 200, json: { Cost: made?.price.toFixed(2), ShipmentNumber: 'WTS1' } })
    expect(sent(gateway)).toEqual(['POST /getShippingQuote.php'])
    expect(JSON.parse(gateway.sandbox.requests[0]?.body ?? '')).toEqual({
      ActionName: 'Get Rate',
      OrderRefNumber: 'ORDER-1',
      EquipmentType: 'OPEN AUTO',
      TempShipFromPostalCode: '10314',
      TempShipToPostalCode: '33166',
    })

    const updated = await quote(gateway, { ActionName: 'Update Rate', EquipmentType: 'ENCLOSED AUTO' })
    expect(updated.json).toEqual({ Cost: gateway.sandbox.quotes.get(id)?.price.toFixed(2), ShipmentNumber: 'WTS1' })
    expect(JSON.parse(gateway.sandbox.requests[1]?.body ?? '')).toMatchObject({ ShipmentNumber: id })

    // A translated approval finds the quote by the caller's number.
    const approved = await post(gateway, '/getShippingQuote.php', {
      ActionName: 'Approve Rate',
      ShipmentNumber: 'WTS1',
    })
    expect(approved.json).toMatchObject({ TransportationBooked: 'Yes', ShipmentNumber: 'WTS1' })
    expect(sent(gateway)).toContain(`POST /v2/quote/${id}/approve`)
  })

  test('that is updated, and answered with the id of another one, may have been changed', async () => {
    const gateway = await startNative()
    await quote(gateway)
    const other = '6f1c1f5e-0000-4000-8000-000000000001'
    gateway.sandbox.fail({ kind: 'body', body: JSON.stringify({ Cost: '1.00', ShipmentNumber: other }) })
    const { status, json } = await quote(gateway, { ActionName: 'Update Rate' })
    expect([status, json.Cost]).toEqual([502, ''])
    expect(json.Message).toContain('may have been made')
  })

  test('may have fields that the gateway cannot translate, but none that it cannot read', async () => {
    const gateway = await startNative()
    expect(await quote(gateway, { EquipmentType: 'HOVERCRAFT' })).toMatchObject({ status: 200 })
    expect(await quote(gateway, { EquipmentType: ['OPEN AUTO'] })).toMatchObject({ status: 422 })
    expect(gateway.sandbox.requests).toHaveLength(1)
  })

  test('that the service refuses is refused with its own words, in the shape of the gateway', async () => {
    const gateway = await startNative()
    expect(await quote(gateway, { TempShipToPostalCode: 'nowhere' })).toMatchObject({
      status: 422,
      json: { Cost: '', ShipmentNumber: 'WTS1', Message: expect.stringContaining('postal code') },
    })
  })

  test.each([
    ['without a price', '{"ShipmentNumber":"x"}'],
    ['with a price that is none', '{"Cost":"on request","ShipmentNumber":"x"}'],
    ['that denies itself', '{"Cost":"1.00","success":false}'],
    ['in version 2', '{"shipment_id":"x","price":1}'],
    ['of no object', '[]'],
  ])('%s is 502', async (_, body) => {
    const gateway = await startNative()
    gateway.sandbox.fail({ kind: 'body', body })
    expect(await quote(gateway)).toMatchObject({ status: 502, json: { Cost: '' } })
  })

  test('keeps further fields of the service, without control characters', async () => {
    const gateway = await startNative()
    gateway.sandbox.fail({ kind: 'body', body: '{"Cost":"1.5","ShipmentNumber":"x","Note":"a\\u001bb","More":[1]}' })
    expect((await quote(gateway)).json).toEqual({ Cost: '1.5', ShipmentNumber: 'WTS1', Note: 'a b' })
  })

  test('has fields and a message of the usual lengths, and not more than a hundred fields', async () => {
    const gateway = await startNative()
    const long = 'x'.repeat(5_000)
    const more = Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`More${i}`, 'y']))
    gateway.sandbox.fail({ kind: 'body', body: JSON.stringify({ Cost: '1.5', Message: long, Note: long, ...more }) })
    const { json } = await quote(gateway)
    expect([json.Message.length, json.Note.length, Object.keys(json).length]).toEqual([500, 4_096, 100])
  })

  test('by a synonym of the operator is asked for by the documented name', async () => {
    const file = join(newFolder('native'), 'lookups.json')
    writeFileSync(file, JSON.stringify({ actions: { 'Fetch Price': 'quote.get' } }))
    const gateway = await startNative({ env: { LOOKUPS_FILE: file } })
    expect(await quote(gateway, { ActionName: 'Fetch Price' })).toMatchObject({ status: 200 })
    expect(JSON.parse(gateway.sandbox.requests[0]?.body ?? '')).toMatchObject({ ActionName: 'Get Rate' })
  })

  test('is asked for again if the connection breaks, as a translated one is', async () => {
    const gateway = await startNative()
    gateway.sandbox.fail({ kind: 'reset-before' })
    expect(await quote(gateway)).toMatchObject({ status: 200 })
    expect(sent(gateway)).toEqual(Array(2).fill('POST /getShippingQuote.php'))
  })

  test('goes to a version-2 path where the service reads version 1 there', async () => {
    const gateway = await startNative({ env: { NATIVE_ACTIONS: 'quote.get', V2_NATIVE_PATH: '/v2' } })
    expect((await quote(gateway)).json).toMatchObject({ ShipmentNumber: 'WTS1' })
    expect(sent(gateway)).toEqual(['POST /v2/quote'])
  })

  test('has an operation of its own in the metrics', async () => {
    const gateway = await startNative()
    await quote(gateway)
    const metrics = await (await fetch(`${gateway.adminUrl}/metrics`)).text()
    expect(metrics).toContain('transload_service_seconds_count{operation="POST *.php",status="2xx"} 1')
  })
})

describe('a new credential, in client mode,', () => {
  const OWNER = { authorization: basic() }
  const STRANGER = { authorization: basic(CLIENT.id, 'a guess') }
  const QUOTES = 'POST /getShippingQuote.php'

  test.each(['{"Message":"Access denied"}', '{"Cost":"","ShipmentNumber":"","Message":"Access denied"}', '', '<p>'])(
    'is not accepted by a success that prices nothing: %s',
    async (body) => {
      const gateway = await startNative({ proven: false })
      gateway.sandbox.fail({ kind: 'status', status: 200, body })
      expect((await post(gateway, '/getShippingQuote.php', QUOTE, STRANGER)).status).toBe(502)
      expect((await post(gateway, '/createShipment.php', BOOKING, STRANGER)).status).toBe(401)
      expect(await gateway.store.listClaims({})).toEqual([])
      expect(sent(gateway)).toEqual([QUOTES, `GET /v2/shipments/${NO_SHIPMENT}`])
      expect((await post(gateway, '/createShipment.php', BOOKING, OWNER)).json.TransportationBooked).toBe('Yes')
    },
  )

  test('is accepted by a price', async () => {
    const gateway = await startNative({ proven: false })
    expect((await post(gateway, '/getShippingQuote.php', QUOTE, OWNER)).status).toBe(200)
    expect((await post(gateway, '/createShipment.php', BOOKING, OWNER)).status).toBe(200)
    expect(sent(gateway)).not.toContain(`GET /v2/shipments/${NO_SHIPMENT}`)
  })
})

describe('a booking', () => {
  test('is made once, is found by its reference, and frees its key when it is canceled', async () => {
    const gateway = await startNative()
    const answers = await Promise.all([book(gateway), book(gateway), book(gateway)])
    const [made] = gateway.sandbox.shipments.values()
    for (const { status, json, headers } of answers) {
      expect({ status, json }).toEqual({
        status: 200,
        json: { Message: `Shipment ${made?.number} is booked`, TransportationBooked: 'Yes' },
      })
      expect(headers.get('transload-shipment-id')).toBe(made?.id)
    }
    expect(gateway.sandbox.shipments.size).toBe(1)
    expect(sent(gateway).filter((line) => line === 'POST /createShipment.php')).toHaveLength(1)

    expect((await book(gateway)).json).toEqual(answers[0]?.json)
    expect((await book(gateway, { PickupName: 'Another' })).status).toBe(409)
    expect((await read(gateway)).json).toMatchObject({
      ReferenceNumber: 'REF-1',
      PickupName: 'Pat Example',
      Status: 'new',
    })
    expect(sent(gateway).at(-1)).toBe('GET /getShipment.php')

    expect((await post(gateway, '/deleteShipment.php', { ReferenceNumber: 'REF-1' })).status).toBe(200)
    expect((await book(gateway)).status).toBe(200)
    expect(gateway.sandbox.shipments.size).toBe(2)
  })

  test.each<{ name: string; fault: Fault }>([
    { name: 'a refusal', fault: { kind: 'status', status: 422, body: { Message: 'No trucks' } } },
    { name: 'an answer of No', fault: { kind: 'body', body: '{"Message":"No trucks","TransportationBooked":"No"}' } },
  ])('after $name may be sent again', async ({ fault }) => {
    const gateway = await startNative()
    const faulty = { ...fault, on: { path: '/createShipment.php' } }
    gateway.sandbox.fail(faulty)
    const refused = await book(gateway)
    expect(refused).toMatchObject({ status: 422, json: { TransportationBooked: 'No' } })
    expect(refused.json.Message).toContain('No trucks')
    expect((await book(gateway)).json).toMatchObject({ TransportationBooked: 'Yes' })
    expect(sent(gateway).filter((line) => line === 'POST /createShipment.php')).toHaveLength(2)
  })

  const create = { path: '/createShipment.php' }
  const look = { path: '/getShipment.php' }
  /** The look before the booking is sent, which goes well. */
  const firstLook: Fault = { kind: 'delay', ms: 0, on: look }
  test.each<{ name: string; fault: Fault }>([
    { name: 'an answer without a verdict', fault: { kind: 'body', body: '{"Message":"Thanks"}', on: create } },
    { name: 'an empty answer', fault: { kind: 'empty', on: create } },
    { name: 'an answer that is no JSON', fault: { kind: 'not-json', on: create } },
    { name: 'half an answer', fault: { kind: 'reset-mid-body', on: create } },
    { name: 'no answer', fault: { kind: 'reset-after', on: create } },
    { name: 'a failure', fault: { kind: 'status', status: 500, on: create } },
    { name: 'a failed look for its number', fault: { kind: 'status', status: 500, on: look, times: 'always' } },
    {
      name: 'a number of another shipment',
      fault: { kind: 'body', body: '{"ReferenceNumber":"X","ShipmentNumber":"1"}', on: look },
    },
    {
      name: 'a number that the service does not know',
      fault: { kind: 'body', body: '{"TransportationBooked":"Yes","ShipmentNumber":"none"}', on: create },
    },
  ])('after $name is unknown, and is not sent again', async ({ fault }) => {
    const gateway = await startNative()
    gateway.sandbox.fail(firstLook, fault)
    for (let i = 0; i < 2; i += 1) {
      expect(await book(gateway)).toMatchObject({ status: 503, json: { TransportationBooked: 'Unknown' } })
    }
    expect(sent(gateway).filter((line) => line === 'POST /createShipment.php')).toHaveLength(1)
    expect(await gateway.store.listClaims({ state: 'unknown' })).toMatchObject([{ reference: 'REF-1' }])
  })

  test('is unknown, and is not sent again, where the look for its shipment gets no token', async () => {
    const gateway = await startNative({
      env: { V2_CLIENT_ID: CLIENT.id, V2_CLIENT_SECRET: CLIENT.secret, V2_TOKEN: 'oauth2' },
    })
    await quote(gateway)
    gateway.sandbox.fail(
      firstLook,
      { kind: 'status', status: 401, on: look },
      { kind: 'status', status: 500, times: 'always', on: { path: '/oauth2/token' } },
    )
    expect(await book(gateway)).toMatchObject({ status: 503, json: { TransportationBooked: 'Unknown' } })
    gateway.sandbox.clearFaults()
    expect(await book(gateway)).toMatchObject({ status: 503, json: { TransportationBooked: 'Unknown' } })
    expect(gateway.sandbox.shipments.size).toBe(1)
  })

  test('is unknown where the service shows the shipment of another booking for its reference', async () => {
    const gateway = await startNative()
    const first = await post(gateway, '/createShipment.php', BOOKING, { 'idempotency-key': 'K-1' })
    const [made] = gateway.sandbox.shipments.values()
    expect(first.headers.get('transload-shipment-id')).toBe(made?.id)
    const shown = { ReferenceNumber: 'REF-1', VinNo: BOOKING.VinNo, ShipmentNumber: made?.number }
    gateway.sandbox.fail(firstLook, { kind: 'body', body: JSON.stringify(shown), on: look })
    const second = await post(gateway, '/createShipment.php', BOOKING, { 'idempotency-key': 'K-2' })
    expect(second).toMatchObject({ status: 503, json: { TransportationBooked: 'Unknown' } })
  })

  const TWIN = '{"ReferenceNumber":"REF-1","ShipmentNumber":"S-1","VinNo":"1FDXE4FN9PDD32477"}'

  test('is not the shipment that the service had for the reference before', async () => {
    const gateway = await startNative()
    const { sandbox } = gateway
    const older = await post(sandbox, '/createShipment.php', BOOKING)
    expect(older.json).toMatchObject({ TransportationBooked: 'Yes' })
    const [{ id: olderId = '', number = '' } = {}] = sandbox.shipments.values()

    expect((await book(gateway)).headers.get('transload-shipment-id')).not.toBe(olderId)
    expect(sandbox.shipments.size).toBe(2)
    await post(gateway, '/deleteShipment.php', { ReferenceNumber: 'REF-1' })

    // The service goes on showing the older one.
    sandbox.fail({ kind: 'body', body: TWIN.replace('S-1', number), on: look, times: 2 })
    expect(await book(gateway)).toMatchObject({ status: 503, json: { TransportationBooked: 'Unknown' } })
    expect(sandbox.shipments.size).toBe(3)
  })

  test.each<{ name: string; fault: Fault; status: number }>([
    { name: 'fails', fault: { kind: 'status', status: 500, on: look, times: 'always' }, status: 502 },
    { name: 'is answered with no JSON', fault: { kind: 'status', status: 200, body: '<p>', on: look }, status: 502 },
    { name: 'is refused', fault: { kind: 'status', status: 403, on: look, times: 'always' }, status: 403 },
  ])('is not sent where the look for an older shipment $name', async ({ fault, status }) => {
    const gateway = await startNative()
    gateway.sandbox.fail(fault)
    expect(await book(gateway)).toMatchObject({ status, json: { TransportationBooked: 'No' } })
    expect(sent(gateway)).not.toContain('POST /createShipment.php')
    gateway.sandbox.clearFaults()
    expect((await book(gateway)).json).toMatchObject({ TransportationBooked: 'Yes' })
  })

  test.each(['{"success":false}', '{"Message":"Unknown reference"}', TWIN.replace('32477', '00000')])(
    'is sent where the service knows no shipment of the reference and the VIN: %s',
    async (body) => {
      const gateway = await startNative()
      // A service that shows so much of an unknown reference, and with status 200.
      gateway.sandbox.fail({ kind: 'status', status: 200, body, on: look })
      expect((await book(gateway)).json).toMatchObject({ TransportationBooked: 'Yes' })
    },
  )

  test('of an approved quote is translated: it is merged into the shipment of the approval', async () => {
    const gateway = await startNative()
    await quote(gateway, { ShipmentNumber: 'REF-1' })
    await post(gateway, '/getShippingQuote.php', { ActionName: 'Approve Rate', ShipmentNumber: 'REF-1' })
    expect((await book(gateway)).json).toMatchObject({ TransportationBooked: 'Yes' })
    expect(gateway.sandbox.shipments.size).toBe(1)
    expect(sent(gateway)).not.toContain('POST /createShipment.php')
  })
})

describe('a read', () => {
  test('shows what the service says, with the caller’s own number', async () => {
    const gateway = await startNative({ env: { NATIVE_ACTIONS: 'shipment.get' } })
    await book(gateway, { ShipmentNumber: 'OWN-1' })
    const { status, json } = await read(gateway)
    const [made] = gateway.sandbox.shipments.values()
    expect({ status, json }).toMatchObject({
      status: 200,
      json: { Message: `Shipment ${made?.number}`, VinNo: BOOKING.VinNo },
    })
    expect(gateway.sandbox.requests.at(-1)?.path).toBe(`/getShipment.php?ShipmentNumber=${made?.id}`)
  })

  test.each(['{}', '{"TransportationBooked":"Yes","Message":"Found"}', '[]', '{"PickupZip":""}'])(
    'of nothing is 502: %s',
    async (body) => {
      const gateway = await startNative()
      await book(gateway)
      gateway.sandbox.fail({ kind: 'body', body, on: { path: '/getShipment.php' } })
      expect(await read(gateway)).toMatchObject({ status: 502 })
    },
  )

  test('of another shipment is 502: by its id, or by a number that the service gave to another one', async () => {
    const gateway = await startNative()
    await book(gateway)
    await book(gateway, { ReferenceNumber: 'REF-2', VinNo: '1FDXE4FN9PDD00000' })
    const [one, two] = [...gateway.sandbox.shipments.values()]
    const shown = async (number: string | undefined) => {
      gateway.sandbox.fail({
        kind: 'body',
        body: JSON.stringify({ ShipmentNumber: number, PickupZip: '10314', TransportationBooked: 'Yes' }),
        on: { path: '/getShipment.php' },
      })
      return (await read(gateway)).status
    }
    expect(await Promise.all([one?.number, one?.id.toUpperCase(), 'S-unknown'].map(shown))).toEqual([200, 200, 200])
    expect(await shown(two?.number)).toBe(502)
    expect(await shown(two?.id)).toBe(502)
  })
})

test('a dry run shows the native request', async () => {
  const gateway = await startNative()
  const { json } = await post(gateway, '/dry-run/getShippingQuote.php', QUOTE)
  expect(json.request).toMatchObject({ method: 'POST', url: `${gateway.sandbox.url}/getShippingQuote.php` })
  expect(json.request.body).toMatchObject({ TempShipFromPostalCode: '10314' })
  expect(json.fields).toEqual([])
})

test('actions that are not named are translated', async () => {
  const gateway = await startNative({ env: { NATIVE_ACTIONS: 'shipment.get' } })
  await quote(gateway)
  await book(gateway)
  expect(sent(gateway)).toEqual(['POST /v2/quote', 'POST /v2/shipments'])
})

test('actions that cannot be native are refused at start, with the reason', () => {
  const errorsOf = (env: NodeJS.ProcessEnv) => {
    try {
      readConfig({ V2_BASE_URL: 'https://service.example.com', ...env })
      return []
    } catch (error) {
      return error instanceof ConfigErrors ? error.errors : [String(error)]
    }
  }
  expect(errorsOf({ NATIVE_ACTIONS: ALL })).toEqual([])
  for (const action of ['quote.approve', 'shipment.update', 'shipment.cancel']) {
    expect(errorsOf({ NATIVE_ACTIONS: action })).toEqual([
      expect.stringMatching(`NATIVE_ACTIONS must not have ${action}: .+`),
    ])
  }
  expect(errorsOf({ NATIVE_ACTIONS: 'quote.fetch' })).toEqual([expect.stringContaining('which is none of quote.get')])
  expect(errorsOf({ NATIVE_ACTIONS: 'quote.get,shipment.get', V2_NATIVE_PATH: '/v2' })).toEqual([
    expect.stringContaining('has shipment.get, which needs the legacy paths'),
  ])
  expect(errorsOf({ V2_NATIVE_PATH: 'quotes' })).toHaveLength(1)
  expect(errorsOf({ SHADOW_SHARE: '1.5' })).toHaveLength(1)
  expect(errorsOf({ SHADOW_SHARE: '0.25', SHADOW_PER_SECOND: '0' })).toHaveLength(1)
})

test('a tenant may have other native actions than the rest', async () => {
  const folder = newFolder('native')
  const tenant = (name: string, more: object) => ({
    name,
    credentials: [{ id: name, secret_hash: cheapHash('legacy-secret', `the salt of ${name}`) }],
    v2: { client_id: CLIENT.id, client_secret: { env: 'V2_SECRET_OF_ALL' } },
    ...more,
  })
  const path = join(folder, 'tenants.json')
  writeTenants(path, tenant('native', {}), tenant('translated', { native_actions: [] }))
  process.env['V2_SECRET_OF_ALL'] = CLIENT.secret
  onTestFinished(() => {
    delete process.env['V2_SECRET_OF_ALL']
  })
  const gateway = await startNative({ env: { TENANTS_FILE: path } })
  for (const name of ['native', 'translated']) {
    const headers = { authorization: basic(name, 'legacy-secret') }
    expect(await post(gateway, '/getShippingQuote.php', QUOTE, headers)).toMatchObject({ status: 200 })
  }
  expect(sent(gateway)).toEqual(['POST /getShippingQuote.php', 'POST /v2/quote'])
})
