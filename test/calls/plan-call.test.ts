import { describe, expect, test } from 'vitest'
import { explainPlan, explainVersion2, planFromNames } from '../../src/calls/dry-run.ts'
import { accountOf, planVersion2 } from '../../src/calls/plan.ts'
import type { Outgoing, ServiceRequest } from '../../src/service/service.ts'
import { catalog, planOf, requestOf, SETTINGS } from './requests.ts'

const ID = '6f1e4c1e-7a55-4b0c-9a3f-2f9d1c0b7e11'
const QUOTE = { TempShipFromPostalCode: '10314', TempShipToPostalCode: '33166' }

describe('a plan', () => {
  test('has the translated request, and the own number of the caller', () => {
    const plan = planOf('quote.get', { ...QUOTE, ShipmentNumber: 'N' }, { found: { own: 'OWN' } })
    expect(plan).toMatchObject({ problems: [], own: 'N', body: { pickup: '10314' } })
    expect(plan.toService).toEqual({ method: 'POST', path: '/v2/quote', namesAnId: false, body: plan.body })
    expect(planOf('quote.get', QUOTE, { found: { own: 'OWN' } }).own).toBe('OWN')
    // The number of a shipment is not what the caller sends.
    expect(planOf('shipment.get', { ShipmentNumber: 'N' }, { found: { own: 'OWN' } }).own).toBe('OWN')
  })

  test('begins its problems with the name that is missing', () => {
    const { problems } = planOf('quote.update', { TempShipFromPostalCode: '\0' })
    expect(problems.map(({ field }) => field)).toEqual(['ShipmentNumber', 'TempShipFromPostalCode'])
  })

  test('recalls the facts of its quote, and the id of one that is approved', () => {
    const quote = { id: 'Q', facts: { transport_type: 'enclosed' } }
    const sent = { PickupZip: '10314' }
    const body = (found: object, settings = {}) => planOf('shipment.create', sent, { found, settings }).body
    expect(body({ quote })).toMatchObject({ transport_type: 'enclosed' })
    expect(body({ quote })).not.toHaveProperty('quote_id')
    expect(body({})).toMatchObject({ transport_type: 'open' })
    expect(body({ quote }, { send_quote_id: true })).toHaveProperty('quote_id', 'Q')
    const approved = (sendsQuoteId: boolean) => ({ quote, approved: { id: 'Q', sendsQuoteId } })
    expect(body(approved(true))).toHaveProperty('quote_id', 'Q')
    expect(body(approved(false))).not.toHaveProperty('quote_id')
    const account = accountOf(planOf('shipment.create', sent, { found: approved(true) }))
    expect(account.fields.map(({ to }) => to)).toContain('quote_id')
  })
})

describe('a plan of a body of version 2', () => {
  const planned = (path: string, text: string) => {
    const endpoint = catalog.endpoints.get(path) ?? expect.fail('there is no such path')
    return planVersion2({ generation: 2, text, parse: () => JSON.parse(text) }, endpoint)
  }

  test('goes to the endpoint that its path implies', () => {
    const text = '{"id":"S 1","pickup":{}}'
    expect(planned('/createshipment.php', text)).toMatchObject({
      action: { name: 'shipment.create' },
      toService: { method: 'POST', path: '/v2/shipments', namesAnId: false, body: text },
      id: undefined,
    })
    expect(planned('/updateshipment.php', text)).toMatchObject({
      toService: { method: 'PUT', path: '/v2/shipments/S%201', namesAnId: true, body: text },
      id: 'S 1',
    })
  })

  test.each(['{}', '{"id":5}', '{"id":" "}', '{"id":null}'])('needs the id of what it changes: %s', (text) => {
    expect(() => planned('/updateshipment.php', text)).toThrow(
      expect.objectContaining({ code: 'number-missing', message: expect.stringContaining('shipment') }),
    )
  })

  test('needs a path with a default', () => {
    const endpoint = catalog.endpoints.get('/createshipment.php') ?? expect.fail('there is no such path')
    expect(() =>
      planVersion2({ generation: 2, text: '{}', parse: () => ({}) }, { ...endpoint, choose: () => undefined }),
    ).toThrow(expect.objectContaining({ code: 'path-unknown' }))
  })
})

describe('a dry run', () => {
  const address = { origin: 'http://service.invalid', prefix: '/edge', scheme: 'basic' } as const
  const service = {
    outgoing: ({ method, path, body }: ServiceRequest): Outgoing => ({
      method,
      path,
      headers: { accept: "it's" },
      body: body === undefined ? undefined : JSON.stringify(body),
    }),
  }

  test('shows the request, its fields and a line for a shell', () => {
    const plan = planOf('quote.get', { ...QUOTE, CSR: 'x', Other: 'y' })
    const run = explainPlan(plan, { service, address })
    expect(run).toMatchObject({ action: 'quote.get', ok: true, problems: [], unknown: ['Other'] })
    expect(run.request).toEqual({
      method: 'POST',
      url: 'http://service.invalid/edge/v2/quote',
      headers: { authorization: 'Basic ***', accept: "it's" },
      body: plan.body,
    })
    expect(run.unused.map(({ field }) => field)).toEqual(['CSR'])
    expect(run.reply.v1).toHaveProperty('Cost', '1234.50')
    expect(run.curl).toBe(
      "curl --request POST 'http://service.invalid/edge/v2/quote' --header 'authorization: Basic ***' --header 'accept: it'\\''s' " +
        `--data-raw '${JSON.stringify(plan.body)}'`,
    )
  })

  test('of an update shows what it is merged into, and of a read no body', () => {
    const update = explainPlan(planFromNames(requestOf('shipment.update', { id: ID, PickupZip: '10314' }), SETTINGS), {
      service,
      address: { ...address, scheme: 'oauth2' },
    })
    expect(update.request).toMatchObject({
      over: `GET http://service.invalid/edge/v2/shipments/${ID}`,
      headers: { authorization: 'Bearer ***' },
    })
    const read = explainPlan(planFromNames(requestOf('shipment.get', { id: ID }), SETTINGS), { service, address })
    expect(Object.keys(read.request)).toEqual(['method', 'url', 'headers'])
    expect(read.curl).not.toContain('--data-raw')
  })

  test('of version 2 shows every leaf unchanged', () => {
    const text = '{"pickup":{"zipcode":1},"vehicles":[{"vin":"V"}]}'
    const endpoint = catalog.endpoints.get('/createshipment.php') ?? expect.fail('there is no such path')
    const plan = planVersion2({ generation: 2, text, parse: () => JSON.parse(text) }, endpoint)
    const run = explainVersion2(plan, { service, address })
    const leaf = { rule: 'unchanged', keeps: 'exact', origin: 'caller' }
    expect(run).toMatchObject({ action: 'shipment.create', ok: true, unused: [], unknown: [], problems: [] })
    expect(run.fields).toEqual([
      { ...leaf, to: 'pickup.zipcode', from: ['pickup.zipcode'], before: 1, after: 1 },
      { ...leaf, to: 'vehicles[0].vin', from: ['vehicles[0].vin'], before: 'V', after: 'V' },
    ])
    expect(run.request.body).toEqual(JSON.parse(text))
    expect(run.reply).toEqual({ example: plan.action.example.reply, v1: {} })
  })

  test('without look-ups has the name in place of the id, unless it is one', () => {
    const path = (fields: Readonly<Record<string, string>>) =>
      planFromNames(requestOf('shipment.update', fields), SETTINGS).toService.path
    expect(path({ ReferenceNumber: 'R' })).toBe('/v2/shipments/{shipment_id of R}')
    expect(path({ ReferenceNumber: 'R', id: ID })).toBe(`/v2/shipments/${ID}`)
    expect(path({})).toBe('/v2/shipments/{shipment_id}')
    const quote = planFromNames(requestOf('quote.update', { ShipmentNumber: 'N' }), SETTINGS)
    expect(quote).toMatchObject({ own: 'N', toService: { path: '/v2/quote/{quote_id of N}' } })
  })
})
