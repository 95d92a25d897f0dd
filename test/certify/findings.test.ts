import { expect, test } from 'vitest'
import { type Setting, tried } from './trial.ts'

/** Services that answer everything alike, or as the stand-in does with one more trait. */
const STRANGE: Readonly<Record<string, Setting>> = {
  'keeps every assumption': {},
  'knows singular paths and quotes by GET only': { shipmentPath: 'singular', quoteMethod: 'GET' },
  'takes tokens only': { auth: 'bearer' },
  'answers with empty bodies': { faults: [{ kind: 'empty', times: 'always' }] },
  'answers without ids': { faults: [{ kind: 'no-id', times: 'always' }] },
  'answers with pages': { faults: [{ kind: 'not-json', times: 'always' }] },
  'answers 200 with an empty object': alike(200, {}),
  'answers 200 with numbers where texts belong': alike(200, { id: 1, price: '1', status: 2, vehicles: {}, Cost: 3 }),
  'answers 201 with other ids': alike(201, {
    id: 'x',
    shipment_id: 'y',
    quote_id: 'z',
    status: 'posted',
    price: 1.005,
  }),
  'fails at reads of shipments': failing('GET', /^\/v2\/shipments\//),
  'fails at updates': failing('PUT', /^/),
  'fails at cancellations': failing('DELETE', /^/),
  'fails at approvals': failing('POST', /approve$/),
  'answers 401': alike(401, { message: 'no' }),
  'answers 404': alike(404, { message: 'no' }),
  'answers 422 with a text': alike(422, 'pickup'),
  'answers 500': alike(500, { message: 'no' }),
}

function alike(status: number, body: string | Record<string, unknown> | unknown[]): Setting {
  return { faults: [{ kind: 'status', status, body: body, times: 'always' }] }
}

function failing(method: string, path: RegExp): Setting {
  return { faults: [{ kind: 'status', status: 500, on: { method, path }, times: 'always' }] }
}

test.each(Object.entries(STRANGE))(
  'of a service that %s, every assumption is found as it was',
  async (name, setting) => {
    const { all, sandbox, requests } = await tried(undefined, setting)
    const findings = Map.groupBy(all, ({ verdict, seen }) => `${verdict}: ${seen}`)
    const told = [`${requests.length} requests, ${sandbox.shipments.size} shipments`]
    for (const [finding, results] of findings) told.push(finding, `  ${results.map(({ id }) => id).join(', ')}`)
    await expect(`${told.join('\n')}\n`).toMatchFileSnapshot(`findings/${name.replaceAll(' ', '-')}.txt`)
  },
)
