import { answerDeviating } from '../../src/sandbox/deviations.ts'
import type { Reply } from '../../src/sandbox/service.ts'
import { emptyState, type SandboxSettings } from '../../src/sandbox/state.ts'
import { CROWDED, LEGACY_BOOKING, LEGACY_QUOTE, WRONG_BODIES } from './bodies.ts'
import { basic, booking, DEMO, TRIP } from './client.ts'

/** The settings of a service that keeps every assumption. */
export const PLAIN: SandboxSettings = {
  credentials: { demo: 'demo-secret', other: 'other-secret' },
  auth: 'both',
  tokenExpiresIn: 3600,
  shipmentPath: 'both',
  quoteMethod: 'both',
  etag: false,
  repeatedCancel: 409,
  approvalBooks: true,
  findsByReference: false,
  nativeError: undefined,
  nativeNoise: false,
  movingPrices: 0,
  deviations: [],
  webhookUrl: undefined,
  webhookRetry: { attempts: 1, delayMs: 0 },
  clock: () => new Date(0),
}

const UNKNOWN = '00000000-0000-4000-8000-000000000000'

/** The replies of a service, by the number and the request of each step. */
export type Scene = ReadonlyMap<string, string>

type Ask = (
  method: string,
  target: string,
  sent?: unknown,
  headers?: Readonly<Record<string, string | undefined>>,
) => Readonly<Record<string, unknown>>

/** Asks a service of everything that it can do, in the same order each time. */
export function playScene(settings: Partial<SandboxSettings>): Scene {
  const replies = new Map<string, string>()
  const names = new Map([[UNKNOWN, '{unknown}']])
  const events: string[] = []
  let toldInStep = 0
  const state = emptyState({ ...PLAIN, ...settings }, (event, _, data) => {
    events.push(`${event} ${JSON.stringify(data ?? {})}`)
  })
  /** Names each id by the step that told it first. */
  const named = (text: string) =>
    text.replace(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\bQ-[0-9a-f]{8}/g, (id) => {
      const known = names.get(id)
      if (known !== undefined) return known
      toldInStep += 1
      const name = `{${replies.size + 1}.${toldInStep}}`
      names.set(id, name)
      return name
    })
  const ask: Ask = (method, target, sent = '', headers = {}) => {
    const body = typeof sent === 'string' ? sent : JSON.stringify(sent)
    const reply = answerDeviating(state, { method, target, headers: { authorization: DEMO, ...headers }, body })
    const step = `${replies.size + 1}. ${[method, named(target), named(brief(body))].filter(Boolean).join(' ')}`
    toldInStep = 0
    replies.set(step, named([replyLine(reply), ...events.splice(0)].map((line) => `   ${line}`).join('\n')))
    return { ...reply.body }
  }
  askForTokens(ask)
  askForQuotes(ask)
  askForShipments(ask)
  askInVersion1(ask)
  return replies
}

const brief = (text: string) => text.replace(/x{100,}/g, ({ length }) => `(${length} times x)`)

function replyLine({ status, headers = {}, body }: Reply): string {
  const text = JSON.stringify(body)
    .replace(/("access_token":|"token":)"[\w-]{32}"/, '$1"(a token)"')
    .replace(/("RequestId":|"AnsweredAt":)"[^"]+"/g, '$1"(new)"')
  return [status, ...Object.entries(headers).map((header) => header.join(': ')), brief(text)].join(' ')
}

function askForTokens(ask: Ask): void {
  for (const grant of ['', 'grant_type=password', 'grant_type=client_credentials']) ask('POST', '/oauth2/token', grant)
  const { access_token } = ask('POST', '/oauth2/token', 'grant_type=client_credentials')
  ask('POST', '/oauth2/token', 'grant_type=client_credentials', { authorization: basic('demo', 'wrong') })
  ask('GET', '/oauth2/token')
  const read = (authorization: string | undefined) => ask('GET', `/v2/shipments/${UNKNOWN}`, '', { authorization })
  for (const id of ['demo', 'nobody', 'other', 'constructor', '']) read(basic(id, 'other-secret'))
  for (const other of [undefined, 'Basic', 'Basic !', 'Bearer none', 'Digest x', DEMO.toUpperCase()]) read(other)
  read(`Bearer ${access_token}`)
}

function askForQuotes(ask: Ask): void {
  const { shipment_id } = ask('POST', '/v2/quote', TRIP)
  const id = String(shipment_id)
  ask('GET', `/v2/quote?${new URLSearchParams({ ...TRIP, delivery: '02134', vehicle_type: 'service_body' })}`)
  ask('POST', '/v2/quote', { pickup: 'K1A 0B1', delivery: '02134-1234', transport_type: 'enclosed' })
  ask('POST', '/v2/quote', { ...TRIP, vehicle_type: 'suv', transload_test: 'x' })
  for (const wrong of [{}, { ...TRIP, pickup: '' }, { ...TRIP, delivery: '331667' }, { ...TRIP, vehicle_type: 'boat' }])
    ask('POST', '/v2/quote', wrong)
  for (const wrong of ['{"pickup":', '[]', 'null', `{"pad":"${'x'.repeat(110 * 1024)}"}`])
    ask('POST', '/v2/quote', wrong)
  ask('DELETE', '/v2/quote')
  ask('PUT', `/v2/quote/${id}`, { transport_type: 'enclosed' })
  ask('PUT', `/v2/quote/${id}`, { delivery: 'nowhere' })
  ask('PUT', `/v2/quote/${id}`, { vehicle_type: 'van' }, { authorization: basic('other', 'other-secret') })
  ask('PUT', `/v2/quote/${UNKNOWN}`, TRIP)
  ask('PUT', '/v2/quote/%zz', TRIP)
  ask('PATCH', `/v2/quote/${id}`, TRIP)
  ask('PUT', `/v2/quote/${id}/decline`, TRIP)
  ask('GET', `/v2/quote/${id}/approve`)
  ask('POST', `/v2/quote/${UNKNOWN}/approve`, {})
  ask('POST', `/v2/quote/${id}/approve`, {})
  ask('POST', `/v2/quote/${id}/approve`, {})
  ask('PUT', `/v2/quote/${id}`, TRIP)
  ask('GET', `/v2/shipments/${id}`)
  ask('PUT', `/v2/shipments/${id}`, { instructions: 'Call first' })
  ask('POST', '/v2/shipments', booking({ quote_id: id, external_id: 'REF-Q' }))
  ask('POST', '/v2/shipments', booking({ quote_id: UNKNOWN }))
}

function askForShipments(ask: Ask): void {
  for (const wrong of [...WRONG_BODIES, '{', '[1]']) ask('POST', '/v2/shipments', wrong)
  const crowded = ask('POST', '/v2/shipments', CROWDED)
  const path = `/v2/shipments/${crowded['id']}`
  ask('POST', '/v2/shipment', booking({ pickup: { zipcode: 10314 }, instructions: 'x'.repeat(1100) }))
  ask('POST', '/v2/shipment', booking({ pickup: { zipcode: 10314 } }))
  for (const name of [crowded['id'], crowded['number'], 'TRANSLOAD-TEST-1', 'TL-1', UNKNOWN, '%zz'])
    ask('GET', `/v2/shipments/${name}`)
  ask('GET', path, '', { authorization: basic('other', 'other-secret') })
  ask('GET', '/v2/shipments')
  ask('PATCH', path)
  ask('GET', `${path}/documents`)
  ask('GET', `${path}/documents/1`)
  ask('GET', '/v2/transload-no-such-path')
  ask('GET', '/v3/quote')

  const vehicles = Array.isArray(crowded['vehicles']) ? crowded['vehicles'] : []
  const known = { id: vehicles[0]?.id, vin: '1FDXE4FN9PDD32479', type: 'truck' }
  ask('PUT', path, { vehicles: [known, { type: 'car' }] })
  ask('PUT', path, { vehicles: [{ ...known, id: UNKNOWN }] })
  ask('PUT', path, { pickup: { zipcode: 10314 }, customer: { customer_name: 'Other Motors' } }, { 'if-match': '"1"' })
  ask('PUT', path, { instructions: 'Call first' }, { 'if-match': '"2"' })
  ask('PUT', path, { instructions: 'Call last' }, { 'if-match': '*' })
  ask('PUT', path, { instructions: 'Call last' })
  for (const wrong of [{ vehicles: [] }, { customer: {} }, { status: 'new' }, { vehicles: 1, pickup: 1 }, '{', '[]'])
    ask('PUT', path, wrong)
  ask('PUT', `/v2/shipments/${UNKNOWN}`, { instructions: 'x' })
  ask('GET', path)

  ask('DELETE', `/v2/shipments/${UNKNOWN}`)
  ask('DELETE', path)
  ask('DELETE', path)
  ask('GET', path)
  ask('PUT', path, { instructions: 'too late' })
  ask('POST', '/v2/shipments', booking({ external_id: 'TRANSLOAD-TEST-1' }))
  for (let i = 0; i < 6; i += 1) ask('GET', `/v2/shipments/again-${i}`)
}

function askInVersion1(ask: Ask): void {
  for (const name of ['getShippingQuote.php', 'quotes/getShippingQuoteWTS.php', 'GETSHIPPINGQUOTE.php'])
    ask('POST', `/${name}`, LEGACY_QUOTE)
  const vehicles = ['Minivan van', 'box truck', 'Pickup', 'sedan', 'truck', 'suvs']
  for (const vehicle of vehicles)
    ask('POST', '/getShippingQuote.php', { ...LEGACY_QUOTE, PickupCommodityCode: vehicle })
  for (const changed of [
    { PickupCommodityCode: null, DeliveryCommodityCode: 'box truck' },
    { PickupCommodityCode: '', LoadReference: 'truck', EquipmentType: 'OPEN AUTO', ShipmentNumber: '' },
    { TempShipToPostalCode: 'nowhere' },
    { ActionName: 'Update Rate', TempShipToPostalCode: '90001' },
    { ActionName: 'update', ShipmentNumber: '' },
    { ActionName: 'Approve', ShipmentNumber: 'Q-1' },
    { ActionName: 'Accept', ShipmentNumber: 'Q-1' },
    { ActionName: 'Accept', ShipmentNumber: 'Q-2' },
  ])
    ask('POST', '/getShippingQuote.php', { ...LEGACY_QUOTE, ...changed })
  ask('POST', '/getShippingQuote.php', `\uFEFF ${new URLSearchParams(LEGACY_QUOTE)}`)
  ask('POST', '/getShippingQuote.php', '{')
  ask('GET', '/getShippingQuote.php')
  ask('POST', '/createShipment.php', new URLSearchParams(LEGACY_BOOKING).toString())
  ask('POST', '/confirmBooking', { ...LEGACY_BOOKING, ReferenceNumber: 'R-2', PickupZip: 'nowhere' })
  ask('POST', '/confirmBooking', {
    ...LEGACY_BOOKING,
    ReferenceNumber: 'R-2',
    OrderRefNumber: 'O-2',
    PickupZip: '10314-1234',
  })
  ask('POST', '/confirmBooking', { PickupZip: '10314', VinNo: 'X', Year: 'x' })
  ask('GET', '/getShipment.php?ReferenceNumber=R-1')
  ask('GET', '/getShipment.php?OrderRefNumber=O-2')
  ask('GET', '/getShipment.php?ReferenceNumber=nobody')
  ask('GET', '/getShipment.php')
  ask('POST', '/getShipment.php', { ReferenceNumber: 'R-1' })
  ask('POST', '/updateShipment.php', { ReferenceNumber: 'R-1', PickupZip: '90001', Year: '2024' })
  ask('POST', '/updateShipment.php', { ReferenceNumber: 'R-1', DeliveryCity: 'Boston' })
  ask('POST', '/deleteShipment.php', { ReferenceNumber: 'R-1' })
  ask('POST', '/deleteShipment.php', { ReferenceNumber: 'R-1' })
  ask('GET', '/getShipment.php?ReferenceNumber=R-1')
  ask('POST', '/v2/quote', LEGACY_QUOTE)
  ask('PUT', `/v2/quote/${UNKNOWN}`, LEGACY_QUOTE)
  ask('POST', '/v2/shipments', { ...LEGACY_BOOKING, ReferenceNumber: 'R-3' })
  ask('PUT', '/v2/shipments/R-3', { VinNo: '1FDXE4FN9PDD32478' })
  ask('POST', '/getShippingQuote.php', LEGACY_QUOTE, { authorization: 'none' })
  ask('POST', '/quotes/x/getShippingQuote.php', LEGACY_QUOTE)
}
