import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { readBody, readQuery } from '../../src/body/read.ts'
import { classify, readRequest, version1 } from '../../src/calls/read-request.ts'
import { beginCall } from '../../src/observe/call.ts'
import { actionNamed, catalog, requestOf } from './requests.ts'

// A call takes its id and its trace from the headers, and nothing else of a request.
const newCall = () => beginCall({ headers: {} } as IncomingMessage)

/** Classifies a body at a legacy path. */
function classified(path: string, body: object | string, synonyms: Readonly<Record<string, string>> = {}) {
  const endpoint = catalog.endpoints.get(path) ?? expect.fail('there is no such path')
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const call = newCall()
  return { call, request: classify(readBody(Buffer.from(text), undefined), endpoint, call, catalog, synonyms) }
}
const QUOTE = '/getshippingquote.php'
const BOOKING = '/createshipment.php'

describe('a version-1 request', () => {
  test('is one of its action, with its fields', () => {
    const { call, request } = classified(QUOTE, { ActionName: 'Update Rate', shipmentnumber_: 'N', Foo: 1, Bar: 2 })
    expect(request).toMatchObject({ generation: 1, compiled: actionNamed('quote.update') })
    expect(call).toMatchObject({ action: 'quote.update', unknownFields: 2, request })
    if (request.generation !== 1) return
    expect(request.sent('ShipmentNumber')).toBe('N')
    expect(request.sent('CSR')).toBeUndefined()
    expect(request.sent('Foo')).toBeUndefined()
  })

  test('has no text of a field that cannot be used', () => {
    expect(requestOf('quote.get', { ShipmentNumber: 'a\0' }).sent('ShipmentNumber')).toBeUndefined()
    expect(version1(actionNamed('quote.get'), readQuery('ShipmentNumber=')).sent('ShipmentNumber')).toBeUndefined()
  })

  test.each([
    ['ActionName', 'Update Rate', 'quote.update'],
    ['actionname_', 'update_rate', 'quote.update'],
    ['ACTIONNAME.', 'Update Rate', 'quote.update'],
    // Names that are no spelling of it.
    ['ActionNames', 'Update Rate', 'quote.get'],
    ['ActionNam', 'Update Rate', 'quote.get'],
    ['ActionName..', 'Update Rate', 'quote.get'],
  ])('names its action as %s', (name, said, action) => {
    expect(classified(QUOTE, { [name]: said }).call.action).toBe(action)
  })

  test('may name its action by a synonym', () => {
    const synonyms = { Preis: 'quote.get', Buchen: 'shipment.create' }
    expect(classified(QUOTE, { ActionName: 'preis' }, synonyms).call.action).toBe('quote.get')
    expect(() => classified(QUOTE, { ActionName: 'Buchen' }, synonyms)).toThrow(
      expect.objectContaining({ code: 'action-unknown' }),
    )
  })

  const NAMES = 'Get Rate, Get Quote, Update Rate, Update Quote, Approve Rate, Approve Quote, Accept Rate, Accept Quote'
  test.each([
    ['Book it', ' (Book it)'],
    ['a.b_c-9', ' (a.b_c-9)'],
    ['x'.repeat(64), ` (${'x'.repeat(64)})`],
    ['x'.repeat(65), ''],
    ['a<b', ''],
    ['a\nb', ''],
  ])('that names no action is told those of its path: %j', (ActionName, shown) => {
    expect(() => classified(QUOTE, { ActionName }, { Preis: 'quote.get', Buchen: 'shipment.create' })).toThrow(
      expect.objectContaining({
        code: 'action-unknown',
        message: expect.stringMatching(new RegExp(`${shown.replace(/[().]/g, '\\$&')}.*${NAMES}, Preis`)),
      }),
    )
  })
})

describe('a body of version 2', () => {
  test.each([
    'customer',
    'pickup',
    'delivery',
    'vehicles',
    'vehicle_type',
    'transport_type',
    'external_id',
    'instructions',
  ])('is one with %s', (key) => {
    const text = `{"id":1.50,"${key}":{}}`
    const { call, request } = classified(BOOKING, text)
    expect(request).toEqual({ generation: 2, text, parse: expect.any(Function) })
    expect(request.generation === 2 && JSON.stringify(request.parse())).toBe(text)
    expect(call).toMatchObject({ action: undefined, request: undefined })
  })

  test.each(['id', 'number', 'shipment_id', 'quote_id', 'other', 'ZIPCODE'])('may have %s, too', (key) => {
    expect(classified(BOOKING, { [key]: 1, pickup: {} }).request.generation).toBe(2)
  })

  test.each([
    ['PickupZip', 'pickup'],
    ['pickupzip', 'vehicles'],
    ['ReferenceNumber', 'external_id'],
  ])('cannot have %s, of version 1', (version1Name, version2Name) => {
    for (const names of [
      [version1Name, version2Name],
      [version2Name, version1Name],
    ]) {
      const body = Object.fromEntries(names.map((name) => [name, 'x']))
      expect(() => classified(BOOKING, body)).toThrow(
        expect.objectContaining({
          code: 'generations-mixed',
          message: expect.stringMatching(new RegExp(`${version1Name}.*${version2Name}`)),
        }),
      )
    }
  })

  test.each([
    ['in another case', '{"Pickup":{}}'],
    ['in capitals', '{"PICKUP":{}}'],
    ['in a form', 'pickup=x'],
    ['in none of its fields', '{"id":"x"}'],
  ])('is none with its keys %s', (_, body) => {
    expect(classified(BOOKING, body).request.generation).toBe(1)
  })
})

describe('a request over HTTP', () => {
  /** Reads what a connection writes. */
  async function read(written: string) {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    // A server that listens on a port has an address with a port.
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
    onTestFinished(() => {
      socket.destroy()
      server.close()
    })
    socket.write(written)
    // The event's arguments, as Node documents them.
    const [incoming] = (await once(server, 'request')) as [IncomingMessage]
    const call = newCall()
    const { entries, format } = await readRequest(incoming, call, 1_000)
    return { entries, format, own: call.own, incoming }
  }
  const BODY = '{"shipmentNumber":"N-1","a":1}'
  const LENGTH = `Host: x\r\nContent-Length: ${BODY.length}\r\n`

  test.each([
    [
      'GET /x?ShipmentNumber=N-1&a=b?c',
      [
        ['ShipmentNumber', 'N-1'],
        ['a', 'b?c'],
      ],
      'N-1',
    ],
    ['HEAD /x?a=b', [['a', 'b']], ''],
    ['GET /x', [], ''],
    ['GET /x?', [], ''],
    // Only text is a number of the caller.
    ['GET /x?ShipmentNumber=', [['ShipmentNumber', null]], ''],
  ])('%s has its fields in the query', async (line, entries, own) => {
    expect(await read(`${line} HTTP/1.1\r\nHost: x\r\n\r\n`)).toMatchObject({ entries, own, format: 'form' })
  })

  test('without a query has no use for its body, which is let go', async () => {
    const { entries, incoming } = await read(`GET /x HTTP/1.1\r\n${LENGTH}\r\n${BODY}`)
    expect(entries).toEqual([])
    if (!incoming.complete) await once(incoming, 'end')
    expect(incoming.readableFlowing).toBe(true)
  })

  test.each(['POST', 'PUT', 'DELETE'])('by %s has its fields in the body', async (method) => {
    expect(await read(`${method} /x?b=2 HTTP/1.1\r\n${LENGTH}\r\n${BODY}`)).toMatchObject({
      entries: [
        ['shipmentNumber', 'N-1'],
        ['a', '1'],
      ],
      format: 'json',
      own: 'N-1',
    })
  })

  test('has a body up to its limit, in the charset of its label', async () => {
    const head = `POST /x HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain; charset=iso-8859-15\r\nContent-Length: `
    expect((await read(`${head}6\r\n\r\na=%A4x`)).entries).toEqual([['a', '€x']])
    await expect(read(`${head}1001\r\n\r\n`)).rejects.toMatchObject({ code: 'body-too-large' })
  })
})
