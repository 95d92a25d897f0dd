import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { isDeepStrictEqual } from 'node:util'
import { bookingExample, shipmentExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { AUTHORIZATION } from './calls.ts'
import type { Contender } from './contenders.ts'
import { HOST, type Running } from './processes.ts'
import { Refused } from './rounds.ts'

/** A call that every contender must answer, and ask the service for, exactly as the gateway does. */
interface Probe {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body?: object
  /** The service's reply. */
  readonly status: number
  readonly reply: object
}

/** The kinds of calls that are compared. */
export type Kind = 'quotes' | 'pass-through' | 'bookings' | 'reads-by-id'

const ID = '6f1e4c1e-7a55-4b0c-9a3f-2f9d1c0b7e11'

const priced = (path: string, body: object, price: number): Probe => ({
  method: 'POST',
  path,
  body,
  status: 200,
  reply: { shipment_id: ID, price },
})

const quote = (fields: object, price: number) => priced('/getShippingQuote.php', { ...quoteExample, ...fields }, price)

/** A call that proves its credential, and has no number that a booking could refer to. */
const PROOF = quote({ ShipmentNumber: '', OrderRefNumber: '' }, 1)

const unknownCodes = { PickupCommodityCode: '', DeliveryCommodityCode: 'WHAT IS THIS' }

const booking = (fields: object, reply: object = {}): Probe => ({
  method: 'POST',
  path: '/createShipment.php',
  body: { ...bookingExample, ...fields },
  status: 201,
  reply: { ...shipmentExample, ...reply },
})

const read = (reply: object): Probe => ({
  method: 'GET',
  path: `/getShipment.php?ReferenceNumber=${ID}`,
  status: 200,
  reply,
})

const [vehicle] = shipmentExample.vehicles

const probes: Readonly<Record<Kind, readonly Probe[]>> = {
  quotes: [
    quote({}, 1234.5),
    quote({ ShipmentNumber: 'X-1', EquipmentType: 'enclosed auto', TempShipFromPostalCode: '2134' }, 80),
    quote({ ...unknownCodes, LoadReference: '2019 Jeep Grand Cherokee, red' }, 999.99),
    quote({ ...unknownCodes, LoadReference: 'no such thing', EquipmentType: '' }, 1_000_000),
  ],
  'pass-through': [
    priced('/v2/quote', { pickup: '10314', delivery: '33166', vehicle_type: 'car' }, 1234.5),
    priced('/v2/quote?x=%20y', { pickup: 'é', n: [1, 2.5, null] }, 2),
  ],
  // Each has a new reference, because the gateway answers a repeated one from its record.
  bookings: [
    booking({}),
    booking({ ReferenceNumber: 'X-1', PickupState: 'New York', PickupZip: '2134', VinNo: '', BillToName: ' Zoë ' }),
    booking(
      {
        ReferenceNumber: 'X-2',
        PickupName: '',
        'PickupPhNo.': '+1 (718) 555-0100',
        'DeliveryPhNo.': '305-555-0101 ext. 5',
        DeliveryZip: '33166-1234',
        VinNo: '1fdxe4fn9 pdd32477',
      },
      { number: null },
    ),
  ],
  'reads-by-id': [
    read(shipmentExample),
    read({ ...shipmentExample, status: 'canceled', price: 80, pickup: { location_name: 'Zoë', zipcode: 2134 } }),
    read({ ...shipmentExample, status: 'delivered', vehicles: [vehicle, { ...vehicle, make: 'Jeep' }] }),
    read({ id: ID, number: 'TL-1', external_id: null, vehicles: [{ year: 1999 }] }),
  ],
}

/** One answered call, seen from the caller and from the service. */
interface Outcome {
  readonly status: number
  readonly type: string | undefined
  readonly answer: unknown
  /** The requests to the service. */
  readonly asked: readonly object[]
}

interface CheckingService {
  readonly port: number
  readonly outcome: (contender: Running, probe: Probe) => Promise<Outcome>
  readonly close: () => Promise<void>
}

/** Starts a service that records its requests. */
async function startCheckingService(): Promise<CheckingService> {
  let asked: object[] = []
  let status = 200
  let reply = ''
  const server = createServer(async (request, response) => {
    const body = await text(request)
    const { method, url, headers } = request
    asked.push({
      method,
      path: url,
      authorization: headers.authorization,
      type: mediaType(headers['content-type']),
      body: readable(body),
    })
    const length = Buffer.byteLength(reply)
    response.writeHead(status, { 'content-type': 'application/json', 'content-length': length }).end(reply)
  }).listen(0, HOST)
  await once(server, 'listening')
  return {
    // A server that listens on a port has an address with a port.
    port: (server.address() as AddressInfo).port,
    outcome: async ({ port }, probe) => {
      asked = []
      status = probe.status
      reply = JSON.stringify(probe.reply)
      const { method, path, body } = probe
      const response = await fetch(`http://${HOST}:${port}${path}`, {
        method,
        headers: { authorization: AUTHORIZATION, ...(body && { 'content-type': 'application/json' }) },
        ...(body && { body: JSON.stringify(body) }),
      })
      const answer = readable(await response.text())
      const type = mediaType(response.headers.get('content-type'))
      return { status: response.status, type, answer, asked }
    },
    close: async () => {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

/** Parses JSON, in which the order of fields is free; returns anything else unchanged. */
function readable(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return body
  }
}

/** Refuses contenders that do not ask and answer exactly as the gateway does, because they would do other work. */
export async function check(
  kind: Kind,
  gateway: Contender,
  others: readonly Contender[],
  newFolder: () => string,
): Promise<void> {
  const service = await startCheckingService()
  const outcomes = async (contender: Contender): Promise<readonly Outcome[]> => {
    const running = await contender.start({ folder: newFolder(), servicePort: service.port })
    try {
      // The gateway asks for a proof of a new credential before it books with it. Any answered call is one.
      await service.outcome(running, PROOF)
      const found: Outcome[] = []
      for (const probe of probes[kind]) found.push(await service.outcome(running, probe))
      return found
    } finally {
      await running.stop()
    }
  }
  try {
    const expected = await outcomes(gateway)
    for (const [i, { status, asked }] of expected.entries()) {
      if (status === 200 && asked.length === 1) continue
      throw new Refused(`the gateway answers probe ${i + 1} of ${kind} with ${status}, asking ${asked.length} times`)
    }
    for (const other of others) {
      for (const [i, found] of (await outcomes(other)).entries()) {
        if (isDeepStrictEqual(found, expected[i])) continue
        const both = `it is ${JSON.stringify(found)}\nthe gateway's is ${JSON.stringify(expected[i])}`
        throw new Refused(`${other.name} answers probe ${i + 1} of ${kind} wrongly:\n${both}`)
      }
    }
  } finally {
    await service.close()
  }
}

/** Returns a media type without its parameters, which are free. */
const mediaType = (type: string | null | undefined) => type?.split(';')[0]
