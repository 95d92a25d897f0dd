/** Promise: each statement of the interface document on both generations holds (contract, section 4). */

import { expect, test } from 'vitest'
import { placeOf, valueAt } from '../../src/mapping/paths.ts'
import { basic, startGateway } from '../gateway.ts'
import { type Call, ID, type Statement, statements, WHOLE } from './statements.ts'

test('the table has the statements of the document', () => {
  expect(statements.length).toBeGreaterThanOrEqual(192)
  expect(new Set(statements.map(({ says }) => says)).size).toBe(statements.length)
})

test.each(statements)('$says', async ({ earlier = [], shipment, env = {}, call, expected }: Statement) => {
  const gateway = await startGateway({ env })
  const send = ({ method, path, body, headers }: Call) =>
    fetch(gateway.url + path, {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      headers: { authorization: basic(), ...headers },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
  // The stand-in holds any shipment; the document's is one of them.
  if (shipment) gateway.sandbox.shipments.set(ID, structuredClone(Object.assign({}, WHOLE, shipment)) as never)
  for (const one of earlier) expect((await send(one)).status).toBe(200)
  gateway.sandbox.requests.length = 0
  const answer = await send(call)
  const text = await answer.text()
  expect(answer.status, text).toBe(expected.status ?? 200)

  const [quote] = gateway.sandbox.quotes.keys()
  const [made] = gateway.sandbox.shipments.values()
  const filled = (value: unknown) =>
    typeof value === 'string'
      ? value
          .replace('{quote}', quote ?? '')
          .replace('{number}', made?.number ?? '')
          .replace('{shipment}', made?.id ?? '')
      : value
  const json = text.startsWith('{') ? JSON.parse(text) : {}
  for (const [name, value] of Object.entries(expected.answer ?? {})) {
    if (value instanceof RegExp) expect(json[name]).toMatch(value)
    else expect(json[name] ?? null).toEqual(filled(value))
  }
  for (const [name, value] of Object.entries(expected.headers ?? {}))
    expect(answer.headers.get(name)).toBe(filled(value))
  const { requests } = gateway.sandbox
  if (expected.sends === null) expect(requests).toEqual([])
  if (!expected.sends) return
  const { method, path, body = {}, headers = {} } = expected.sends
  const sent = requests.findLast((request) => request.method !== 'GET') ?? requests.at(-1)
  if (method !== undefined) expect(sent?.method).toBe(method)
  if (path !== undefined) expect(sent?.path).toBe(filled(path))
  const received = sent?.body.startsWith('{') ? JSON.parse(sent.body) : {}
  for (const [place, value] of Object.entries(body))
    expect(valueAt(received, placeOf(place.replace(/\.$/, '')))).toEqual(value)
  expect(sent?.headers).toMatchObject(headers)
})
