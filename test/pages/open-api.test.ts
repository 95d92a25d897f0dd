/** Promise: the description of the interface is generated from the declarations (contract, section 1). */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Validator } from '@seriousme/openapi-schema-validator'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { ROOT } from '../command.ts'
import { get, post, startGateway } from '../gateway.ts'

describe('/openapi.json', () => {
  interface Operation {
    readonly operationId: string
    readonly parameters?: readonly { readonly name: string; readonly in: string; readonly schema: Property }[]
    readonly requestBody?: {
      readonly content: Readonly<Record<string, { readonly schema: { readonly anyOf: Body[] } }>>
    }
    readonly responses: Readonly<
      Record<string, { readonly content: Readonly<Record<string, { schema: { anyOf: Body[] } }>> }>
    >
  }
  interface Body {
    readonly title: string
    readonly properties: Readonly<Record<string, Property>>
    readonly required?: readonly string[]
  }
  interface Property {
    readonly type?: string
    readonly enum?: readonly string[]
    readonly description?: string
  }
  interface Document extends Readonly<Record<string, unknown>> {
    readonly openapi: string
    readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
    readonly components: {
      readonly securitySchemes: object
      readonly schemas: Readonly<Record<string, Parameters<typeof z.fromJSONSchema>[0]>>
    }
  }

  async function readDocument(env: Readonly<Record<string, string>> = {}): Promise<Document> {
    const { status, headers, json } = await get(await startGateway({ env }), '/openapi.json')
    expect(status).toBe(200)
    expect(headers.get('content-type')).toContain('application/json')
    return json
  }

  /** Reads the document with every reference replaced by the part that it names. */
  async function readWhole(env: Readonly<Record<string, string>> = {}): Promise<Document> {
    const document = await readDocument(env)
    const part = (pointer: string) =>
      pointer
        .slice(2)
        .split('/')
        .reduce<unknown>((at, key) => entries(at)[key], document)
    const whole = (value: unknown): unknown => {
      if (typeof value !== 'object' || value === null) return value
      if (Array.isArray(value)) return value.map(whole)
      const { $ref: pointer } = entries(value)
      if (typeof pointer === 'string') return whole(part(pointer))
      return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, whole(inner)]))
    }
    return { ...document, ...entries(whole({ paths: document.paths })) }
  }

  const entries = (value: unknown): Readonly<Record<string, unknown>> =>
    Object.fromEntries(Object.entries(typeof value === 'object' && value !== null ? value : {}))

  /** Returns the errors of an independent validator. */
  async function validate(document: Readonly<Record<string, unknown>>) {
    const { valid, errors } = await new Validator().validate(structuredClone(document))
    return { valid, errors }
  }

  describe('/openapi.json', () => {
    test('is OpenAPI 3.1, and the validator would notice if it were not', async () => {
      const document = await readDocument()
      expect(document.openapi).toMatch(/^3\.1\.\d$/)
      expect(await validate(document)).toEqual({ valid: true, errors: undefined })
      expect(await validate({ ...document, paths: { '/x': { get: { responses: 5 } } } })).toMatchObject({
        valid: false,
      })
    })

    test('has at most 120 KB and the version of the package, and is compressed for callers that accept gzip', async () => {
      const { url } = await startGateway()
      const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
      const read = async (acceptEncoding: string) => {
        const response = await fetch(`${url}/openapi.json`, { headers: { 'accept-encoding': acceptEncoding } })
        const text = await response.text()
        expect(response.headers.get('vary')).toBe('Accept-Encoding')
        return {
          text,
          encoding: response.headers.get('content-encoding'),
          bytes: Number(response.headers.get('content-length')),
        }
      }
      const plain = await read('identity')
      expect(JSON.parse(plain.text).info.version).toBe(version)
      expect(plain.encoding).toBeNull()
      expect(plain.bytes).toBe(Buffer.byteLength(plain.text))
      expect(plain.bytes).toBeLessThan(120_000)
      for (const accepted of ['gzip', 'br, gzip;q=0.5', 'deflate, GZIP ; q=1.0']) {
        const compressed = await read(accepted)
        expect({ accepted, ...compressed }).toEqual({
          accepted,
          text: plain.text,
          encoding: 'gzip',
          bytes: compressed.bytes,
        })
        expect(compressed.bytes).toBeLessThan(plain.bytes / 5)
      }
      for (const refused of ['gzip;q=0', 'br', 'gzip;q=0.0, br', 'gzipped'])
        expect((await read(refused)).encoding).toBeNull()
    })

    test('has the paths of the base paths that the operator chose alone', async () => {
      const { paths } = await readDocument({ LEGACY_BASE_PATHS: '/api/v1' })
      for (const path of Object.keys(paths))
        expect(path).toMatch(/^(\/dry-run)?\/api\/v1\/|^\/dry-run\/(reply|webhook)\//)
      expect(paths).toHaveProperty(['/api/v1/createShipment.php'])
    })

    test('says which fields a quote cannot do without', async () => {
      const { paths } = await readWhole()
      const bodies = paths['/getShippingQuote.php']?.['post']?.requestBody?.content['application/json']?.schema.anyOf
      expect(bodies?.map(({ title, required }) => [title, required])).toEqual([
        ['quote.get', ['TempShipFromPostalCode', 'TempShipToPostalCode']],
        ['quote.update', undefined],
        ['quote.approve', undefined],
      ])
    })

    test.each([
      ['DryRun', '/dry-run/createShipment.php', { PickupZip: '02134-1234', Year: '1', Foo: '1' }],
      ['DryRun', '/dry-run/updateShipment.php', { id: 'REF-1', PickupState: 'ZZ' }],
      ['ReplyDryRun', '/dry-run/reply/quote.get', { price: 'none', more: 1 }],
      ['ProblemDetails', '/dry-run/createShipment.php', '[]'],
      ['QuoteError', '/getShippingQuote.php', { ShipmentNumber: 'WTS-1' }],
      ['ShipmentError', '/createShipment.php', {}],
    ])('describes as %s what %s answers', async (name, path, body) => {
      const gateway = await startGateway()
      const { components } = (await get(gateway, '/openapi.json')).json as Document
      const schema = z.fromJSONSchema(components.schemas[name] ?? {})
      expect(schema.safeParse((await post(gateway, path, body)).json)).toMatchObject({ success: true })
      expect(schema.safeParse({}).success).toBe(false)
    })
  })
})

describe('the document', () => {
  test('the description of the interface is the reviewed one', async () => {
    const { status, json } = await get(await startGateway(), '/openapi.json')
    expect(status).toBe(200)
    const { version, ...info } = json.info
    expect(version).toMatch(/^\d+\.\d+\.\d+/)
    await expect(`${JSON.stringify({ ...json, info }, null, 1)}\n`).toMatchFileSnapshot('open-api.txt')
  })
})
