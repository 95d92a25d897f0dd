import type { UpstreamReply } from '../../src/service/exchange.ts'
import type { Reply } from './calls.ts'

type Json = Readonly<Record<string, unknown>>

const OTHER = '11111111-2222-4333-8444-555555555555'

/** The reply that the service would have given, read. */
const own = ({ body }: UpstreamReply): Json => JSON.parse(body.toString())

/** The key of a reply's id. */
const idKey = (body: Json) => ('shipment_id' in body ? 'shipment_id' : 'id')

/** A reply with another body. */
const json =
  (change: (own: Json) => unknown, status = 200) =>
  (reply: UpstreamReply): Reply => ({
    status,
    body: JSON.stringify(change(own(reply))),
  })
const raw =
  (body: string | Buffer | undefined, status = 200) =>
  (): Reply => ({ status, body })
/** The reply as it is, with another status. */
const as =
  (status: number) =>
  ({ body }: UpstreamReply): Reply => ({ status, body })
/** The reply with its id, under whichever key, replaced. */
const withId = (id: unknown) =>
  json((body) => {
    const { [idKey(body)]: _, ...rest } = body
    return id === undefined ? rest : { ...rest, [idKey(body)]: id }
  })
const NEST = '['.repeat(20_000) + ']'.repeat(20_000)
const PAGE = '<!doctype html><title>Welcome</title><h1>Welcome</h1>'
const refusal = (status: number) => (): Reply => ({ status, body: '{"message":"Lane closed"}' })

/** Replies of the service, each with what is odd about it. */
export const rows: readonly (readonly [what: string, change: (own: UpstreamReply) => Reply])[] = [
  // Statuses of success.
  ['the thing itself', as(200)],
  ['the thing itself, 201', as(201)],
  ['the thing itself, 202', as(202)],
  ['the thing itself, 203', as(203)],
  ['the thing itself, 206', as(206)],
  ['the thing itself, 299', as(299)],
  ['204', raw(undefined, 204)],
  ['205', raw(undefined, 205)],
  // Shapes.
  ['an empty body', raw(undefined)],
  ['blanks', raw(' \r\n')],
  ['null', raw('null')],
  ['true', raw('true')],
  ['false', raw('false')],
  ['a number', raw('17')],
  ['a text', raw('"ok"')],
  ['words', raw('OK')],
  ['a page', raw(PAGE)],
  ['an empty list', raw('[]')],
  ['a list of the thing', json((body) => [body])],
  ['an empty object', raw('{}')],
  ['the thing in data', json((body) => ({ data: body }))],
  ['the thing in shipment', json((body) => ({ shipment: body }))],
  ['a message alone', raw('{"message":"done"}')],
  ['success alone', raw('{"success":true}')],
  ['half a JSON', ({ body }) => ({ status: 200, body: body.subarray(0, body.length >> 1) })],
  ['two JSONs', ({ body }) => ({ status: 200, body: Buffer.concat([body, body]) })],
  ['a nest of 20,000 levels', raw(`{"deep":${NEST}}`)],
  ['the thing with a nest', ({ body }) => ({ status: 200, body: `${body.toString().slice(0, -1)},"deep":${NEST}}` })],
  ['the thing after a byte order mark', ({ body }) => ({ status: 200, body: `\ufeff${body}` })],
  ['noise', raw(Buffer.from([0x1f, 0x8b, 0xff, 0xfe, 0x00]))],
  // Ids.
  ['no id', withId(undefined)],
  ['an id of null', withId(null)],
  ['a blank id', withId('  ')],
  ['an id of dots', withId('..')],
  ['an id of one dot', withId('.')],
  ['an id that is an object', withId({ value: 1 })],
  ['an id that is a list', withId(['a'])],
  ['an id that is true', withId(true)],
  ['an id with a fraction', withId(1.5)],
  ['an id with a line end', withId('a\nb')],
  ['half a character as id', withId('\ud83d')],
  ['an id without end', withId('x'.repeat(257))],
  ['another id', withId(OTHER)],
  ['another id that is a number', withId(12_345_678)],
  ['its id in capitals', json((body) => ({ ...body, [idKey(body)]: String(body[idKey(body)]).toUpperCase() }))],
  // Contradictions.
  ['success: false', json((body) => ({ ...body, success: false }))],
  ['success: false alone', raw('{"success":false}')],
  ['success: "false"', json((body) => ({ ...body, success: 'false' }))],
  ['ok: 0', json((body) => ({ ...body, ok: 0 }))],
  ['an error', json((body) => ({ ...body, error: 'no truck' }))],
  ['an error alone', raw('{"error":{"code":7,"message":"no truck"}}')],
  ['a list of errors', json((body) => ({ ...body, errors: [{ message: 'no truck' }] }))],
  ['no errors', json((body) => ({ ...body, success: true, error: null, errors: [] }))],
  ['an error of nothing', json((body) => ({ ...body, error: { code: 0, message: '' } }))],
  ['an error that is OK', json((body) => ({ ...body, error: { code: 0, message: 'OK' } }))],
  ['status canceled', json((body) => ({ ...body, status: 'canceled' }))],
  ['status in_transit', json((body) => ({ ...body, status: 'in_transit' }))],
  ['no status', json(({ status: _, ...body }) => body)],
  // Parts.
  ['no price', json(({ price: _, ...body }) => body)],
  ['a price in words', json((body) => ({ ...body, price: 'on request' }))],
  ['the id alone', json((body) => ({ [idKey(body)]: body[idKey(body)] }))],
  ['no vehicles', json(({ vehicles: _, ...body }) => body)],
  ['vehicles of null', json((body) => ({ ...body, vehicles: null }))],
  ['an empty list of vehicles', json((body) => ({ ...body, vehicles: [] }))],
  ['vehicles that are texts', json((body) => ({ ...body, vehicles: ['Ford'] }))],
  ['vehicles without ids', json((body) => ({ ...body, vehicles: [{ make: 'Ford' }] }))],
  ['no pickup', json(({ pickup: _, ...body }) => body)],
  ['a pickup that is a text', json((body) => ({ ...body, pickup: 'Dallas' }))],
  // Refusals and failures.
  ...[301, 302, 304, 307].map((status) => [String(status), refusal(status)] as const),
  ...[400, 401, 403, 404, 405, 408, 409, 410, 412, 413, 418, 422, 429].map(
    (status) => [String(status), refusal(status)] as const,
  ),
  ...[500, 501, 502, 503, 504, 599].map((status) => [String(status), refusal(status)] as const),
  ['404 with the thing', as(404)],
  ['500 with the thing', as(500)],
]
