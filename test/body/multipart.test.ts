/** Promise: multipart forms are read field for field (contract, section 2). */

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { readBody } from '../../src/body/read.ts'
import { GatewayError } from '../../src/errors.ts'
import type { FieldValue } from '../../src/mapping/fields.ts'
import { post, startGateway } from '../gateway.ts'
import { expectLaw } from '../laws.ts'
import { runs } from '../size.ts'

const RUNS = runs(300, 1_500)

interface Part {
  readonly name: string
  readonly content: string | Buffer
  /** More header lines. */
  readonly headers?: readonly string[]
  readonly filename?: string
}

/** A body as curl and browsers write it. */
function multipart(
  parts: readonly Part[],
  boundary = '------------------------1c2b3a4d5e6f',
  lineEnd = '\r\n',
): Buffer {
  const lines = parts.flatMap(({ name, content, headers = [], filename }) => {
    const file = filename === undefined ? '' : `; filename="${filename}"`
    const head = [`Content-Disposition: form-data; name="${name.replace(/["\\]/g, '\\$&')}"${file}`, ...headers, '']
    return [`--${boundary}`, ...head, content]
  })
  const joined = [...lines, `--${boundary}--`, ''].map((line) => Buffer.from(line))
  return Buffer.concat(joined.flatMap((line, i) => (i === 0 ? [line] : [Buffer.from(lineEnd), line])))
}

const labeled = (boundary: string) => `multipart/form-data; boundary=${boundary}`

/** The fields of a body, or the message of its refusal. */
function read(body: Buffer | string, contentType?: string): readonly (readonly [string, FieldValue])[] | string {
  try {
    return readBody(Buffer.from(body), contentType).entries
  } catch (error) {
    if (error instanceof GatewayError) return error.message
    throw error
  }
}

describe('multipart/form-data', () => {
  const zip: Part = { name: 'PickupZip', content: '10314' }

  test.each<[string, Buffer | string, string | undefined]>([
    ['as curl writes it', multipart([zip]), labeled('------------------------1c2b3a4d5e6f')],
    ['without a label', multipart([zip]), undefined],
    ['with another boundary in its label', multipart([zip]), labeled('other')],
    ['with single line feeds', multipart([zip], 'b', '\n'), labeled('b')],
    ['with a boundary of equals signs', multipart([zip], '===============123=='), undefined],
    ['with a boundary of pattern characters', multipart([zip], '.*(+)?[\\'), undefined],
    ['with a quoted boundary', `\r\n${multipart([zip], 'a b')}`, 'multipart/form-data; boundary="a b"'],
    ['after a preamble', `for old mail readers\r\n${multipart([zip], 'b')}`, labeled('b')],
    ['before an epilogue', `${multipart([zip], 'b')}--b\r\nmore`, labeled('b')],
    ['with blanks behind its boundaries', multipart([zip], 'b').toString().replace('--b\r', '--b \t\r'), labeled('b')],
    ['with headers of other cases', multipart([zip]).toString().replace('Content-D', 'CONTENT-d'), undefined],
    ['with a name without quotes', multipart([zip]).toString().replace('"PickupZip"', 'PickupZip'), undefined],
    ['with a folded header', multipart([zip]).toString().replace('; name', ';\r\n\tname'), undefined],
    ['with a byte order mark', `\ufeff${multipart([zip])}`, undefined],
    [
      'with more headers',
      multipart([{ ...zip, headers: ['Content-Type: text/plain', 'Content-Transfer-Encoding: 8bit'] }]),
      undefined,
    ],
  ])('%s', (_what, body, contentType) => {
    expect(read(body, contentType)).toEqual([['PickupZip', '10314']])
  })

  test('reads back field for field, with any values and boundary', () => {
    const boundary = fc.stringMatching(/^[\w'()+,./:=?-]{1,70}$/)
    const text = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 20 }),
      fc.array(fc.constantFrom('\r\n', '--', '\r\n--', 'b', ':', ';', '"', '\\', ' ', '=')).map((all) => all.join('')),
    )
    const name = fc
      .string({ unit: 'grapheme', minLength: 1, maxLength: 12 })
      .filter((one) => !/[\r\n\u2028\u2029]/.test(one))
    const law = fc.property(
      boundary,
      fc.array(fc.tuple(name, text), { minLength: 1, maxLength: 20 }),
      (line, fields) => {
        fc.pre(fields.every(([, value]) => !value.includes(`--${line}`)))
        const body = multipart(
          fields.map(([one, content]) => ({ name: one, content })),
          line,
        )
        expect(read(body, labeled(line))).toEqual(fields.map(([one, value]) => [one.trim(), value.trim() || null]))
      },
    )
    expectLaw(law, RUNS)
  })

  test('cut or changed anywhere it is read or refused, and never fails otherwise', () => {
    const body = multipart([zip, { name: 'Year', content: '2023' }, { name: 'f', content: 'x', filename: 'a' }], 'b')
    const law = fc.property(fc.nat(body.length), fc.uint8Array({ maxLength: 6 }), fc.nat(8), (at, bytes, skipped) => {
      const changed = Buffer.concat([body.subarray(0, at), bytes, body.subarray(at + skipped)])
      read(changed, labeled('b'))
      read(changed)
    })
    expectLaw(law, RUNS)
  })

  test.each([
    ['its end', (body: string) => body.replace('--b--', ''), 'it ends before its last boundary'],
    ['a name', (body: string) => body.replace('; name="PickupZip"', ''), 'one of its parts has no name'],
    ['all headers', (body: string) => body.replace(/Content-Disposition.*\r\n/, ''), 'one of its parts has no name'],
  ])('without %s it is refused', (_what, spoil, fault) => {
    expect(read(spoil(multipart([zip], 'b').toString()), labeled('b'))).toBe(
      `The body is not multipart/form-data: ${fault}. Send a JSON object or name=value pairs.`,
    )
  })

  test.each([
    ['after a character', 'x--b\r\n'],
    ['before a character', 'x\r\n--bx\r\n'],
    ['after a blank', 'x --b\r\n'],
  ])('a line with its boundary %s does not begin a part', (_what, line) => {
    const body = multipart([zip], 'b').toString().replace('--b\r\n', line)
    expect(read(body, labeled('b'))).toEqual([])
    const inside = multipart([{ ...zip, content: line }], 'b')
    expect(read(inside, labeled('b'))).toEqual([['PickupZip', line.trim()]])
  })

  test('a boundary that only the label has makes no multipart body', () => {
    expect(read('PickupZip=10314', labeled('b'))).toEqual([['PickupZip', '10314']])
    expect(read('PickupZip=10314', 'multipart/form-data')).toEqual([['PickupZip', '10314']])
  })

  test('of hostile bytes takes no longer than others', () => {
    const size = 200_000
    for (const hostile of [
      '--b\r\n'.repeat(size / 5),
      `--b\r\nContent-Disposition: form-data${';'.repeat(size)}`,
      `--b\r\nContent-Disposition: form-data${'; a="'.repeat(size / 5)}`,
      `--b\r\n${'Content-Type: x\r\n'.repeat(size / 17)}`,
      `--b\r\nContent-${' '.repeat(size)}`,
      `--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n${'\r\n--b'.repeat(size / 5)}x`,
    ]) {
      // A few milliseconds each; a quadratic search would end the test by its time-out.
      expect(read(hostile, labeled('b'))).toMatch(/^The body /)
    }
  })
})

test('the encoding of a part is its own charset, else that of _charset_, else that of the body, else UTF-8 or Windows-1252', () => {
  const [macintosh, windows] = ['Jos\x8e', 'Jos\xe9'].map((text) => Buffer.from(text, 'latin1')) as [Buffer, Buffer]
  const headers = ['Content-Type: text/plain; charset=macintosh']
  const utf8 = { name: 'a', content: 'José' }
  const both = multipart([utf8, { name: 'b', content: macintosh, headers }, { name: 'c', content: windows }])
  expect(read(both)).toEqual(['a', 'b', 'c'].map((name) => [name, 'José']))
  const unmarked = { name: 'a', content: macintosh }
  expect(read(multipart([unmarked], 'b'), `${labeled('b')}; charset=macintosh`)).toEqual([['a', 'José']])
  expect(read(multipart([{ name: '_charset_', content: 'macintosh' }, unmarked]))[1]).toEqual(['a', 'José'])
})

test('a part that is a file is a problem with its field, unless it is empty, and none with an unknown one', async () => {
  const gateway = await startGateway()
  const parts = Object.entries(bookingExample).map(([name, content]) => ({ name, content }))
  const photo = { name: 'Photo', content: Buffer.from([0xff, 0xd8, 0, 1]), filename: 'a.jpg' }
  const send = async (all: readonly Part[]) =>
    await post(gateway, '/createShipment.php', new Uint8Array(multipart(all, 'b')), { 'content-type': labeled('b') })
  const refused = await send([...parts.filter(({ name }) => name !== 'VinNo'), { ...photo, name: 'VinNo' }])
  expect(refused).toMatchObject({ status: 422, json: { Message: 'VinNo must be text, not a file.' } })
  expect(gateway.sandbox.requests).toEqual([])
  const empty = { name: 'LoadReference', content: '', filename: '' }
  const booked = await send([...parts, photo, empty])
  expect(booked).toMatchObject({ status: 200, json: { TransportationBooked: 'Yes' } })
})
