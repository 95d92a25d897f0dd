/** Promise: a dry run explains every field, and sends nothing (contract, section 8). */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { actions } from '../../mappings/index.ts'
import { output } from '../command.ts'
import { basic, CLIENT, get, post, startGateway, type TestGateway } from '../gateway.ts'

const FIXED = { V2_CLIENT_ID: CLIENT.id, V2_CLIENT_SECRET: CLIENT.secret }
const UUID = '6f1e4c1e-7a55-4b0c-9a3f-2f9d1c0b7e11'
const VIN = '1FDXE4FN9PDD32477'
const BOOKING = {
  ReferenceNumber: 'REF-1',
  PickupZip: '02134-1234',
  DeliveryZip: '33166',
  BillToName: 'Pat Example',
  VinNo: VIN,
}
const QUOTE = { ShipmentNumber: 'WTS-1', TempShipFromPostalCode: '10314', TempShipToPostalCode: '33166' }

describe('the explanation', () => {
  test('is indented for people by two spaces a level, and ends with a line break', async () => {
    const { text } = await post(await startGateway(), '/dry-run/getShippingQuote.php', QUOTE)
    expect(text).toMatch(/^\{\n {2}"action": "quote\.get",\n.*\n {2}"request": \{\n {4}"method": .*\n\}\n$/s)
  })

  test('everything about a call, and sends nothing', async () => {
    const gateway = await startGateway()
    const { status, headers, json } = await post(gateway, '/dry-run/createShipment.php', {
      ...BOOKING,
      ActionName: 'MakeBooking',
      PickupName: ' ',
      Foo: 1,
    })
    expect(status).toBe(200)
    expect(headers.get('content-type')).toContain('application/json')
    expect(headers.get('x-request-id')).toMatch(/./)
    const body = {
      external_id: 'REF-1',
      customer: { customer_name: 'Pat Example' },
      pickup: { zipcode: 2134 },
      delivery: { zipcode: 33166 },
      vehicles: [{ vin: VIN }],
      transport_type: 'open',
    }
    const text = { rule: 'text', keeps: 'exact', origin: 'caller' }
    const zipcode = {
      rule: 'zipcode',
      keeps: 'lossy: a ZIP+4 extension, and words around the ZIP',
      origin: 'caller',
    }
    expect(json).toEqual({
      action: 'shipment.create',
      ok: true,
      request: {
        method: 'POST',
        url: `${gateway.sandbox.url}/v2/shipments`,
        headers: expect.objectContaining({ authorization: 'Basic ***', 'content-type': 'application/json' }),
        body,
      },
      fields: [
        { to: 'external_id', from: ['ReferenceNumber'], before: 'REF-1', after: 'REF-1', ...text },
        { to: 'customer.customer_name', from: ['BillToName'], before: 'Pat Example', after: 'Pat Example', ...text },
        {
          ...{ to: 'pickup.zipcode', from: ['PickupZip'], before: '02134-1234', after: 2134, ...zipcode },
          loss: 'the ZIP+4 extension 1234',
        },
        { to: 'delivery.zipcode', from: ['DeliveryZip'], before: '33166', after: 33166, ...zipcode },
        {
          ...{ to: 'vehicles[0].vin', from: ['VinNo'], before: VIN, after: VIN, rule: 'vin', origin: 'caller' },
          keeps: 'canonical: uppercase without spaces',
        },
        {
          ...{ to: 'transport_type', from: [], after: 'open', origin: 'default', assumed: expect.any(String) },
          keeps: 'one way: the caller did not send it',
        },
      ],
      unused: [
        { field: 'PickupName', why: expect.stringContaining('blank') },
        { field: 'ActionName', why: expect.any(String) },
      ],
      unknown: ['Foo'],
      problems: [],
      reply: {
        example: expect.objectContaining({ number: 'TL-100001' }),
        v1: { Message: 'Transportation booked: shipment number TL-100001.', TransportationBooked: 'Yes' },
        status: 200,
        headers: {
          'Transload-Shipment-Id': expect.any(String),
          'Transload-Shipment-Number': 'TL-100001',
          'Transload-Assumed': 'transport_type=open',
          'Transload-Ignored': 'Foo',
        },
      },
      remarks: [expect.stringContaining('Earlier bookings were not consulted')],
      curl: expect.stringMatching(
        /^curl --request POST --user "\$SERVICE_ID:\$SERVICE_SECRET" "\$SERVICE_URL"\/v2\/shipments --header 'Content-Type: application\/json' --data-raw '\{/,
      ),
    })
    expect(gateway.sandbox.requests).toEqual([])
  })

  test('why a field that was sent is not sent on', async () => {
    const gateway = await startGateway()
    const unusedOf = async (path: string, fields: object) => {
      const { json } = await post(gateway, `/dry-run${path}`, fields)
      return Object.fromEntries(json.unused.map(({ field, why }: Record<string, string>) => [field, why]))
    }
    const trip = {
      PickupCommodityCode: 'BOX TRUCK',
      DeliveryCommodityCode: 'SEDAN',
      CSR: 'A. Agent',
      BillToCity: 'Dallas',
    }
    expect(await unusedOf('/getShippingQuote.php', { ...QUOTE, ...trip })).toEqual({
      ShipmentNumber: 'identifies the quote; version 2 has no field for it',
      DeliveryCommodityCode: 'an earlier field decided, or the lookup table does not know the value',
      CSR: 'version 2 does not record the agent',
      BillToCity: 'remembered for a later booking; this call does not send it',
    })
    expect(await unusedOf('/createShipment.php', { ...BOOKING, 'PickupPhNo.': 'TBD' })).toEqual({
      'PickupPhNo.': expect.stringMatching(/^lost: ./),
    })
    expect(await unusedOf('/updateShipment.php', { ReferenceNumber: UUID, PickupZip: '10314' })).toEqual({
      ReferenceNumber: 'identifies the shipment; its id is in the path',
    })
  })

  test('a reading takes a body as well as a query, and a UUID among its names is the id', async () => {
    const gateway = await startGateway()
    const queried = await get(gateway, `/dry-run/getShipment.php?ShipmentNumber=1&ReferenceNumber=${UUID}&Foo=1`)
    const body = { ShipmentNumber: 1, ReferenceNumber: UUID, Foo: 1 }
    const posted = await post(gateway, '/dry-run/getShipment.php', body)
    expect(queried.json).toMatchObject({ action: 'shipment.get', ok: true, unknown: ['Foo'] })
    expect(queried.json.request).toMatchObject({ method: 'GET', url: `${gateway.sandbox.url}/v2/shipments/${UUID}` })
    expect(queried.json.request).not.toHaveProperty('body')
    expect(posted.json).toEqual(queried.json)
    expect(gateway.sandbox.requests).toEqual([])
  })

  test('an update shows the fields to merge into the shipment, and the read of it', async () => {
    const gateway = await startGateway({ env: FIXED })
    const { json } = await post(gateway, '/dry-run/updateShipment.php', { id: UUID, DeliveryCity: 'Miami' })
    const url = `${gateway.sandbox.url}/v2/shipments/${UUID}`
    expect(json.request).toMatchObject({
      method: 'PUT',
      url,
      over: `GET ${url}`,
      body: { delivery: { city: 'Miami' } },
    })
    expect(gateway.sandbox.requests).toEqual([])
  })

  test('all problems at once, as an answer that succeeds', async () => {
    const gateway = await startGateway()
    const { status, json } = await post(gateway, '/dry-run/createShipment.php', {
      ...BOOKING,
      PickupZip: 'K1A 0B1',
      Year: '1885',
      PickupName: ['Pat'],
      Make: 'x'.repeat(4097),
      VinNo: null,
    })
    expect(status).toBe(200)
    expect(json.ok).toBe(false)
    expect(json.problems).toEqual([
      { field: 'PickupName', code: 'not-flat', message: expect.stringMatching(/^PickupName /) },
      { field: 'Make', code: 'too-long', message: expect.stringMatching(/^Make /) },
      { field: 'PickupZip', code: 'zipcode', message: expect.stringMatching(/^PickupZip /) },
      { field: 'Year', code: 'year', message: expect.stringMatching(/^Year /) },
      { field: 'VinNo', code: 'required', message: expect.stringMatching(/^VinNo/) },
    ])
    const why = json.unused.map(({ field }: { readonly field: string }) => field)
    expect(why.sort()).toEqual(['Make', 'PickupName', 'PickupZip', 'VinNo', 'Year'])
    expect(gateway.sandbox.requests).toEqual([])
  })
})

test('it is at every legacy path in every spelling, and open to all, for it tells nothing that was not sent', async () => {
  const gateway = await startGateway()
  const spelled = ['/CREATESHIPMENT.PHP/', '/Quotes/createshipment.php', '/create%53hipment.php']
  for (const path of [...actions.flatMap(({ legacy }) => legacy.paths), ...spelled]) {
    expect((await post(gateway, `/dry-run${path}`, BOOKING, { authorization: '' })).status, path).toBe(200)
  }
  expect(gateway.sandbox.requests).toEqual([])
})

/** Quotes a trip and books two vehicles under its number. */
async function withBookings(env: Readonly<Record<string, string>>): Promise<TestGateway> {
  const gateway = await startGateway({ env })
  const contact = { BillToContact: 'Pat Example~2145550000~~~quoted@example.com' }
  for (const [path, body] of [
    ['/getShippingQuote.php', { ...QUOTE, ...contact, EquipmentType: 'ENCLOSED AUTO' }],
    ['/createShipment.php', { ...BOOKING, ReferenceNumber: 'REF-1' }],
    ['/createShipment.php', { ...BOOKING, ReferenceNumber: 'REF-1', VinNo: '2HGFC2F59KH512345' }],
    ['/createShipment.php', { ...BOOKING, ReferenceNumber: 'REF-2' }],
  ] as const) {
    expect((await post(gateway, path, body)).status).toBe(200)
  }
  gateway.sandbox.requests.length = 0
  return gateway
}

describe('numbers that only the cross-reference knows', () => {
  test('stay placeholders in client mode, in which the caller is not verified', async () => {
    const gateway = await withBookings({})
    const read = await get(gateway, '/dry-run/getShipment.php?ReferenceNumber=REF-2')
    expect(read.json.request.url).toBe(`${gateway.sandbox.url}/v2/shipments/{shipment_id of REF-2}`)
    const approved = await post(gateway, '/dry-run/getShippingQuote.php', {
      ActionName: 'Accept Rate',
      ShipmentNumber: 'WTS-1',
    })
    expect(approved.json.request.url).toBe(`${gateway.sandbox.url}/v2/quote/{quote_id of WTS-1}/approve`)
    const booking = { ...BOOKING, ReferenceNumber: 'WTS-1' }
    const stranger = await post(gateway, '/dry-run/createShipment.php', booking, { authorization: basic('demo', 'x') })
    expect(stranger.text).not.toContain('quoted@example.com')
    expect(stranger.json.request.body.transport_type).toBe('open')
    expect(stranger.json.remarks).toEqual([expect.stringContaining('remembered quote')])
    const known = await post(gateway, '/dry-run/createShipment.php', booking)
    expect(known.json.request.body).toMatchObject({
      transport_type: 'enclosed',
      customer: { contact_email: 'quoted@example.com' },
    })
    expect(known.json.remarks).toEqual([expect.stringContaining('Earlier bookings were not consulted')])
    expect(gateway.sandbox.requests).toEqual([])
  })

  test('mean the shipment of the VIN where they stand for several, and are read by the live call where they are not known: the dry run says so', async () => {
    const gateway = await withBookings(FIXED)
    const ids = [...gateway.sandbox.shipments.keys()].slice(0, 2)
    const named = (path: string, fields: object) => post(gateway, `/dry-run${path}`, fields)
    const vin = await named('/updateShipment.php', { ReferenceNumber: 'REF-1', VinNo: VIN, Make: 'Ford' })
    // The vehicles of both are known: the VIN says which one is meant.
    expect(vin.json).toMatchObject({ ok: true, request: { url: `${gateway.sandbox.url}/v2/shipments/${ids[0]}` } })
    const unknown = await named('/getShipment.php', { ReferenceNumber: 'REF-9' })
    expect(unknown.json.remarks).toEqual([expect.stringContaining('GET /v2/shipments/REF-9 to learn what it names')])
    const one = await post(gateway, '/dry-run/deleteShipment.php', { ReferenceNumber: 'REF-1', VinNo: VIN })
    expect(one.json.ok).toBe(true)
    expect(gateway.sandbox.requests).toEqual([])
  })
})

describe('a booking that stands', () => {
  const said = (gateway: TestGateway, changes: object = {}) =>
    post(gateway, '/dry-run/createShipment.php', { ...BOOKING, ReferenceNumber: 'REF-2', ...changes })
  const live = (gateway: TestGateway, changes: object = {}) =>
    post(gateway, '/createShipment.php', { ...BOOKING, ReferenceNumber: 'REF-2', ...changes })

  test('is a replay: the reply shown is the answer that the live call repeats', async () => {
    const gateway = await withBookings(FIXED)
    const { json } = await said(gateway, { Foo: 'x' })
    const { status, headers, json: v1 } = await live(gateway, { Foo: 'x' })
    expect(json).toMatchObject({ ok: true, reply: { v1, status } })
    expect(json.remarks).toEqual([expect.stringMatching(/stands already, as bk_\w{12}: .* sends nothing/)])
    const own = ['Idempotent-Replayed', 'Transload-Ignored', 'Transload-Shipment-Number', 'Transload-Assumed']
    for (const name of own) expect(json.reply.headers[name]).toBe(headers.get(name))
    expect(gateway.sandbox.requests).toEqual([])
  })

  test('is read first where it is old', async () => {
    const gateway = await withBookings({ ...FIXED, REPLAY_CHECK_AFTER: '1ms' })
    const id = [...gateway.sandbox.shipments.keys()].at(-1)
    await expect.poll(async () => (await said(gateway)).json.remarks).toHaveLength(2)
    expect((await said(gateway)).json.remarks[1]).toContain(`reads the shipment ${id}`)
  })

  test('with other details is a 409 that names it', async () => {
    const gateway = await withBookings(FIXED)
    const { json } = await said(gateway, { PickupZip: '10001' })
    const { status, json: v1 } = await live(gateway, { PickupZip: '10001' })
    expect(status).toBe(409)
    expect(json).toMatchObject({ ok: false, reply: { v1, status }, problems: [{ code: 'booking-conflict' }] })
    expect(json.problems[0].message).toMatch(/bk_\w{12}/)
    expect((await said(gateway, { VinNo: '2HGFC2F59KH512345' })).json).toMatchObject({ ok: true })
  })

  test('in doubt is a 503 that names it', async () => {
    const gateway = await startGateway({ env: { ...FIXED, UPSTREAM_TIMEOUT_MS: '300' } })
    gateway.sandbox.fail({ kind: 'timeout', on: { method: 'POST', path: '/v2/shipments' } })
    const { status, json: v1 } = await live(gateway)
    expect(status).toBe(503)
    const { json } = await said(gateway)
    expect(json).toMatchObject({ ok: false, reply: { v1, status }, problems: [{ code: 'outcome-unknown' }] })
  })

  test('as an approved quote is merged into its shipment', async () => {
    const gateway = await startGateway({ env: FIXED })
    await post(gateway, '/getShippingQuote.php', QUOTE)
    await post(gateway, '/getShippingQuote.php', { ActionName: 'Accept Rate', ShipmentNumber: 'WTS-1' })
    gateway.sandbox.requests.length = 0
    const [id] = gateway.sandbox.quotes.keys()
    const { json } = await said(gateway, { ReferenceNumber: 'WTS-1' })
    expect(json.remarks).toEqual([expect.stringContaining(`asks for its shipment (GET /v2/shipments/${id})`)])
    expect(gateway.sandbox.requests).toEqual([])
    await live(gateway, { ReferenceNumber: 'WTS-1' })
    expect(gateway.sandbox.requests[0]).toMatchObject({ method: 'GET', path: `/v2/shipments/${id}` })
  })
})

describe('an approval', () => {
  const APPROVAL = { ActionName: 'Accept Rate', ShipmentNumber: 'WTS-1' }

  test.each([
    ['the ids of the quote alone', { shipment_id: UUID, price: 5 }, 'No'],
    ['a shipment', { id: UUID, number: 'TL-1', vehicles: [{ vin: VIN }], price: 5 }, 'Yes'],
  ])('is answered by %s as the live call answers it', async (_what, v2, booked) => {
    const gateway = await startGateway({ env: { ...FIXED, APPROVAL_BOOKS: 'no' } })
    await post(gateway, '/getShippingQuote.php', { ...QUOTE })
    const { json } = await post(gateway, '/dry-run/reply/quote.approve', v2)
    gateway.sandbox.fail({
      kind: 'change',
      change: (answer) => ({ ...answer, body: JSON.stringify(v2).replaceAll(UUID, quoteId) }),
      process: true,
      on: { path: '/v2/quote/*' },
    })
    const [quoteId = ''] = gateway.sandbox.quotes.keys()
    const live = await post(gateway, '/getShippingQuote.php', APPROVAL)
    expect(live.json).toMatchObject({ TransportationBooked: booked })
    expect(json.reply.v1).toMatchObject({
      TransportationBooked: booked,
      Message: live.json.Message.replaceAll(quoteId, UUID),
    })
    const rows: readonly { readonly to: string; readonly after: unknown }[] = json.fields
    expect(rows.find(({ to }) => to === 'TransportationBooked')?.after).toBe(booked)
    expect(json.remarks).toEqual(booked === 'No' ? [expect.stringContaining('The service decides here')] : undefined)
  })

  test('predicts no booking where only a read decides, and says what may stand', async () => {
    const gateway = await startGateway({ env: FIXED })
    await post(gateway, '/getShippingQuote.php', QUOTE)
    const said = () => post(gateway, '/dry-run/getShippingQuote.php', APPROVAL)
    expect((await said()).json).toMatchObject({
      reply: { v1: { ShipmentNumber: 'WTS-1', TransportationBooked: 'No' } },
      remarks: [expect.stringContaining('reads the shipment of the quote')],
    })
    await post(gateway, '/createShipment.php', { ...BOOKING, ReferenceNumber: 'WTS-1' })
    expect((await said()).json.remarks[0]).toContain('no approval is sent')
  })

  test.each(['quote.get', 'shipment.create', 'shipment.get'])(
    'a reply to %s that denies itself is a problem',
    async (action) => {
      const { json } = await post(await startGateway(), `/dry-run/reply/${action}`, {
        success: false,
        id: UUID,
        price: 1,
      })
      expect(json).toMatchObject({ ok: false, problems: [{ code: 'reply-doubtful' }] })
    },
  )
})

describe('secrets', () => {
  test.each([
    ['client', {}],
    ['fixed', { V2_CLIENT_ID: 'own-id', V2_CLIENT_SECRET: 'own-secret-value' }],
  ])('show as *** in %s mode', async (_mode, env) => {
    const gateway = await startGateway({ env })
    const authorization = basic('caller-id', 'caller-secret-value')
    const hidden = [authorization.slice('Basic '.length), 'caller-secret-value', 'own-secret-value']
    hidden.push(basic('own-id', 'own-secret-value').slice('Basic '.length))
    for (const answer of [
      await post(gateway, '/dry-run/createShipment.php', BOOKING, { authorization }),
      await post(gateway, '/dry-run/getShippingQuote.php', QUOTE, { authorization }),
      await get(gateway, '/dry-run/getShipment.php?id=1', { authorization }),
      await post(gateway, '/dry-run/createShipment.php', '{"', { authorization }),
      await post(gateway, '/dry-run/reply/quote.get', { price: 1 }, { authorization }),
    ]) {
      for (const secret of hidden) {
        expect(answer.text).not.toContain(secret)
        expect(JSON.stringify([...answer.headers])).not.toContain(secret)
      }
      if (answer.json.request) expect(answer.json.request.headers.authorization).toBe('Basic ***')
      if (answer.json.curl) expect(answer.json.curl).toContain('--user "$SERVICE_ID:$SERVICE_SECRET"')
    }
  })
})

describe('the line for a shell', () => {
  /** Runs the line as it is, with what it takes from the environment, in an empty folder. */
  async function runLine(line: string, { sandbox }: TestGateway): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), 'transload-curl-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    const service = { SERVICE_URL: sandbox.url, SERVICE_ID: CLIENT.id, SERVICE_SECRET: CLIENT.secret }
    const env = { ...process.env, ...service }
    return output('bash', ['-c', `${line} --silent --show-error --fail`], { cwd: folder, env })
  }

  test("books exactly the gateway's body, byte for byte, with any values", async () => {
    const gateway = await startGateway()
    const nasty = {
      ...BOOKING,
      PickupName: `O'Brien "& Sons" $(touch evil) \`touch evil\` $HOME \\`,
      DeliveryName: 'Ünïcode 漢字 🚚',
      PickupTransportationInstruction: 'line one\nline two\t!',
      Model: '@/etc/hostname',
    }
    const { json } = await post(gateway, '/dry-run/createShipment.php', nasty)
    const answer = JSON.parse(await runLine(json.curl, gateway))
    expect(answer).toMatchObject({ number: 'TL-100001', external_id: 'REF-1' })
    const [byHand] = gateway.sandbox.requests
    await post(gateway, '/createShipment.php', nasty)
    const byGateway = gateway.sandbox.requests.at(-1)
    expect(gateway.sandbox.requests).toHaveLength(2)
    expect(byHand?.body).toBe(byGateway?.body)
    expect(byHand).toMatchObject({ method: 'POST', path: '/v2/shipments', body: JSON.stringify(json.request.body) })
    expect(byHand?.headers['authorization']).toBe(byGateway?.headers['authorization'])
    expect(byHand?.headers['content-type']).toBe('application/json')
  })

  test('of an update reads the shipment, changes it, and sends what the gateway sends', async () => {
    const gateway = await withBookings(FIXED)
    const changes = { ReferenceNumber: 'REF-2', PickupName: `Sam "\\(1)" O'Example`, PickupZip: '10001', Make: 'Ford' }
    const { json } = await post(gateway, '/dry-run/updateShipment.php', changes)
    const [shipment] = [...gateway.sandbox.shipments.values()].slice(-1)
    const before = structuredClone(shipment)
    await runLine(json.curl, gateway)
    const byHand = gateway.sandbox.requests.splice(0)
    expect(byHand.map(({ method }) => method)).toEqual(['GET', 'PUT'])
    if (before) gateway.sandbox.shipments.set(before.id, before)
    await post(gateway, '/updateShipment.php', changes)
    const byGateway = gateway.sandbox.requests.find(({ method }) => method === 'PUT')
    expect(JSON.parse(byHand[1]?.body ?? '')).toEqual(JSON.parse(byGateway?.body ?? '""'))
  })

  test('resolves the numbers that the cross-reference knows, in fixed mode beside one application', async () => {
    const gateway = await withBookings(FIXED)
    const approve = await post(gateway, '/dry-run/getShippingQuote.php', {
      ActionName: 'Accept Rate',
      ShipmentNumber: 'WTS-1',
    })
    expect(JSON.parse(await runLine(approve.json.curl, gateway))).toMatchObject({ status: 'new' })
    const read = await get(gateway, '/dry-run/getShipment.php?ReferenceNumber=REF-2')
    expect(JSON.parse(await runLine(read.json.curl, gateway))).toMatchObject({ external_id: 'REF-2', status: 'new' })
    const cancel = await post(gateway, '/dry-run/deleteShipment.php', { ReferenceNumber: 'REF-2' })
    expect(JSON.parse(await runLine(cancel.json.curl, gateway))).toMatchObject({
      external_id: 'REF-2',
      status: 'canceled',
    })
    expect(gateway.sandbox.requests.map(({ method }) => method)).toEqual(['POST', 'GET', 'DELETE'])
  })
})

describe('a reply of version 2', () => {
  test('is shown in its version-1 form, place by place', async () => {
    const gateway = await startGateway()
    const v2 = { shipment_id: UUID, price: 1.005, currency: 'USD' }
    const { status, json } = await post(gateway, '/dry-run/reply/quote.get', v2)
    expect(status).toBe(200)
    expect(json).toEqual({
      action: 'quote.get',
      ok: true,
      reply: { v2, v1: { Cost: '1.01', ShipmentNumber: UUID } },
      fields: [
        {
          ...{ to: 'Cost', from: ['price'], before: 1.005, after: '1.01', rule: 'money', origin: 'service' },
          keeps: "lossy: fractions of a cent, and digits beyond a double's",
        },
        {
          ...{
            to: 'ShipmentNumber',
            from: ['shipment_id'],
            before: UUID,
            after: UUID,
            rule: 'number',
            origin: 'service',
          },
          keeps: "one way: the caller's own number is not the service's",
        },
      ],
      unused: [],
      unknown: ['currency'],
      problems: [],
    })
    expect(gateway.sandbox.requests).toEqual([])
  })

  test.each([['[]'], ['null'], ['5'], ['"text"']])('that is %s is no fault of the gateway', async (body) => {
    const gateway = await startGateway()
    const { status, json } = await post(gateway, '/dry-run/reply/shipment.get', body)
    expect(status).toBe(200)
    expect(json).toMatchObject({ ok: false, reply: { v1: { TransportationBooked: 'Unknown' } } })
  })
})

describe('errors are problem details', () => {
  test('of each cause', async () => {
    const gateway = await startGateway({ env: { ERROR_STATUS: 'ok' } })
    const both = { ...BOOKING, customer: {} }
    const rows: readonly (readonly [string, string | object, number, string])[] = [
      ['createShipment.php', '<xml/>', 400, 'body-unreadable'],
      ['getShipment.php', '', 400, 'body-unreadable'],
      ['createShipment.php', 'a='.padEnd(262_145, 'x'), 413, 'body-too-large'],
      ['createShipment.php', 'a=1&'.repeat(201), 422, 'too-many-fields'],
      ['createShipment.php', both, 422, 'generations-mixed'],
      ['updateShipment.php', { vehicles: [] }, 422, 'number-missing'],
      ['getRates.php', {}, 404, 'path-unknown'],
      ['elsewhere/createShipment.php', {}, 404, 'path-unknown'],
      ['', {}, 404, 'path-unknown'],
      ['reply/constructor', {}, 404, 'path-unknown'],
      ['reply/quote.get', 'Cost=1', 400, 'body-unreadable'],
      ['reply/quote.get', `"${'x'.repeat(262_144)}"`, 413, 'body-too-large'],
    ]
    for (const [path, body, status, code] of rows) {
      const answer = await post(gateway, `/dry-run/${path}`, body)
      expect(answer.json, path).toMatchObject({
        type: `urn:transload:error:${code}`,
        status,
        title: expect.any(String),
      })
      expect(answer.json.detail).toMatch(/^[^\p{Cc}]{1,500}$/u)
      expect(answer.status).toBe(status)
      expect(answer.headers.get('content-type')).toContain('application/problem+json')
      expect(answer.headers.get('x-request-id')).toMatch(/./)
    }
    for (const [method, path, allow] of [
      ['PUT', 'getShippingQuoteWTS.php', 'POST'],
      ['DELETE', 'quotes/getShipment.php', 'GET, POST'],
      ['GET', 'reply/quote.get', 'POST'],
      ['PUT', 'webhook/shipment.created', 'GET, POST'],
    ]) {
      const response = await fetch(`${gateway.url}/dry-run/${path}`, { method: method ?? '' })
      expect([response.status, response.headers.get('allow')]).toEqual([405, allow])
      expect(await response.json()).toMatchObject({ type: 'urn:transload:error:method-wrong', status: 405 })
    }
    expect(gateway.sandbox.requests).toEqual([])
  })
})

describe('a body that is version 2 already', () => {
  test('is passed on unchanged, leaf by leaf', async () => {
    const gateway = await startGateway()
    // The id stands in the path alone.
    const body = { pickup: { zipcode: 2134 }, vehicles: [{ vin: VIN }] }
    const { json } = await post(gateway, '/dry-run/updateShipment.php', { id: UUID, ...body })
    expect(json).toMatchObject({
      action: 'shipment.update',
      ok: true,
      request: { method: 'PUT', url: `${gateway.sandbox.url}/v2/shipments/${UUID}`, body },
      unused: [],
      unknown: [],
      problems: [],
    })
    expect(json.fields).toEqual(
      [
        ['pickup.zipcode', 2134],
        ['vehicles[0].vin', VIN],
      ].map(([to, value]) => ({
        to,
        from: [to],
        before: value,
        after: value,
        rule: 'unchanged',
        keeps: 'exact',
        origin: 'caller',
      })),
    )
    expect(gateway.sandbox.requests).toEqual([])
  })

  test('shows a token where the service is sent one', async () => {
    const gateway = await startGateway({ env: { ...FIXED, V2_TOKEN: 'oauth2' } })
    const { json } = await post(gateway, '/dry-run/createShipment.php', { vehicles: [{ vin: VIN }] })
    expect(json.request.headers.authorization).toBe('Bearer ***')
    expect(json.curl).toContain('--header "Authorization: Bearer $SERVICE_TOKEN"')
    expect(gateway.sandbox.requests).toEqual([])
  })
})

describe('an update of a shipment whose vehicles are known', () => {
  const OTHER = '1HGCM82633A004352'

  async function withTwo() {
    const gateway = await startGateway({ env: FIXED })
    await post(gateway, '/createShipment.php', BOOKING)
    const [shipment] = gateway.sandbox.shipments.values()
    const [vehicle] = shipment?.vehicles ?? []
    if (!shipment || !vehicle) throw new Error('The booking made no vehicle.')
    const vehicles = [vehicle, { ...vehicle, id: 'another', vin: OTHER }]
    gateway.sandbox.shipments.set(shipment.id, { ...shipment, vehicles })
    const names = { ReferenceNumber: BOOKING.ReferenceNumber }
    await get(gateway, `/getShipment.php?${new URLSearchParams(names)}`)
    const both = async (fields: object) => ({
      dry: (await post(gateway, '/dry-run/updateShipment.php', { ...names, ...fields })).json,
      live: await post(gateway, '/updateShipment.php', { ...names, ...fields }),
    })
    return { gateway, both }
  }

  test.each([{ VinNo: '1FTFW1ET5DFC10312', PickupName: 'T' }, { Model: 'T' }])(
    'is refused as the live call is: %j',
    async (fields) => {
      const { dry, live } = await (await withTwo()).both(fields)
      expect(live.status).toBe(409)
      expect(dry).toMatchObject({ ok: false, reply: { status: 409 } })
    },
  )

  test('says which vehicle it changes', async () => {
    const { dry } = await (await withTwo()).both({ VinNo: OTHER, Model: 'T' })
    expect(dry.remarks).toEqual([expect.stringContaining('vehicle 2')])
  })

  test('does not write a former VIN back', async () => {
    const gateway = await startGateway({ env: FIXED })
    await post(gateway, '/createShipment.php', BOOKING)
    const names = { ReferenceNumber: BOOKING.ReferenceNumber }
    await post(gateway, '/updateShipment.php', { ...names, VinNo: OTHER })
    const { json } = await post(gateway, '/dry-run/updateShipment.php', { ...names, VinNo: VIN, PickupName: 'T' })
    expect(json).toMatchObject({ ok: true, request: { body: { pickup: { contact_name: 'T' } } } })
    expect(json.request.body).not.toHaveProperty('vehicles')
  })
})
