/** Promise: the description of the interface is generated from the declarations (contract, section 1). */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Validator } from '@seriousme/openapi-schema-validator'
import { afterAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { loadMappings } from '../../mappings/load.ts'
import { ROOT } from '../command.ts'
import { get, post, startGateway } from '../gateway.ts'

interface Document extends Readonly<Record<string, unknown>> {
  readonly info: { readonly version: string }
  readonly paths: Readonly<Record<string, object>>
  readonly components: { readonly schemas: Readonly<Record<string, Parameters<typeof z.fromJSONSchema>[0]>> }
}

const gateway = await startGateway({ closeAt: afterAll })

async function readDocument(from = gateway): Promise<Document> {
  const { status, headers, json } = await get(from, '/openapi.json')
  expect(status).toBe(200)
  expect(headers.get('content-type')).toContain('application/json')
  return json
}

describe('/openapi.json', () => {
  test('has at most 120 KB and the version of the package', async () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
    const { info } = await readDocument()
    expect(info.version).toBe(version)
    const { text } = await get(gateway, '/openapi.json')
    expect(Buffer.byteLength(text)).toBeLessThan(120_000)
  })

  test("has only the paths below the operator's base paths", async () => {
    const { paths } = await readDocument(await startGateway({ env: { LEGACY_BASE_PATHS: '/api/v1' } }))
    for (const path of Object.keys(paths))
      expect(path).toMatch(/^(\/dry-run)?\/api\/v1\/|^\/dry-run\/(reply|webhook)\//)
    expect(paths).toHaveProperty(['/api/v1/createShipment.php'])
  })

  test('has every path, field and reply of every action', async () => {
    const { actions } = await loadMappings()
    const { paths, components } = await readDocument()
    for (const { action, fields } of actions.values()) {
      const { method, paths: own } = action.legacy
      for (const path of own)
        for (const place of [path, `/quotes${path}`, `/dry-run${path}`])
          expect(Object.keys(paths[place] ?? {}), place).toContain(method.toLowerCase())
      const [request, reply] = [action.name, `${action.name}.reply`].map((name) => components.schemas[name])
      expect(request).toMatchObject({ properties: Object.fromEntries(fields.names.map((name) => [name, {}])) })
      const { json } = await post(gateway, `/dry-run/reply/${action.name}`, Object(action.example.reply))
      const shown = Object.keys(json.reply.v1).map((name) => [name, { type: 'string' }])
      expect(reply).toMatchObject({ properties: Object.fromEntries(shown) })
      expect(shown).not.toEqual([])
      expect(z.fromJSONSchema(request ?? {}).safeParse(action.example.request)).toMatchObject({ success: true })
    }
  })

  test('describes what is answered', async () => {
    const { components } = await readDocument()
    for (const [name, path, body] of [
      ['DryRun', '/dry-run/createShipment.php', { PickupZip: '02134-1234', Year: '1', Foo: '1' }],
      ['DryRun', '/dry-run/updateShipment.php', { id: 'REF-1', PickupState: 'ZZ' }],
      ['DryRun', '/dry-run/reply/quote.get', { price: 'none', more: 1 }],
      ['DryRun', '/dry-run/webhook/shipment.created', {}],
      ['ProblemDetails', '/dry-run/createShipment.php', '[]'],
      ['QuoteError', '/getShippingQuote.php', { ShipmentNumber: 'WTS-1' }],
      ['ShipmentError', '/createShipment.php', {}],
    ] as const) {
      const schema = z.fromJSONSchema(components.schemas[name] ?? {})
      expect(schema.safeParse((await post(gateway, path, body)).json), name).toMatchObject({ success: true })
      expect(schema.safeParse({}).success).toBe(false)
    }
  })

  // This must be last, because it takes so long that the gateway would close the connections of the others.
  test('is OpenAPI 3.1, and the validator notices if it is not', async () => {
    const document = await readDocument()
    const validate = (one: object) => new Validator().validate({ ...structuredClone(one) })
    expect(await validate(document)).toMatchObject({ valid: true })
    const spoiled = { ...document, paths: { '/x': { get: { responses: 5 } } } }
    expect(await validate(spoiled)).toMatchObject({ valid: false })
  })
})
