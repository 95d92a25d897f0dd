/** Promise: multipart forms are read field for field (contract, section 2). */

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { readBody } from '../../src/edge/body/read.ts'
import { GatewayError } from '../../src/language/errors.ts'
import type { FieldValue } from '../../src/language/mapping/fields.ts'
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

  const plain = multipart([zip]).toString()
  const short = multipart([zip], 'b').toString()
  const headers = ['Content-Type: text/plain', 'Content-Transfer-Encoding: 8bit']

  test.each<[string, Buffer | string, string?]>([
    ['as curl writes it', plain, labeled('------------------------1c2b3a4d5e6f')],
    ['without a label', plain],
    ['with another boundary in its label', plain, labeled('other')],
    ['with single line feeds', multipart([zip], 'b', '\n'), labeled('b')],
    ['with a boundary of equals signs', multipart([zip], '===============123==')],
    ['with a boundary of pattern characters', multipart([zip], '.*(+)?[\\')],
    ['with a quoted boundary', `\r\n${multipart([zip], 'a b')}`, 'multipart/form-data; boundary="a b"'],
    ['after a preamble', `for old mail readers\r\n${short}`, labeled('b')],
    ['before an epilogue', `${short}--b\r\nmore`, labeled('b')],
    ['with blanks behind its boundaries', short.replace('--b\r', '--b \t\r'), labeled('b')],
    ['with headers of other cases', plain.replace('Content-D', 'CONTENT-d')],
    ['with a name without quotes', plain.replace('"PickupZip"', 'PickupZip')],
    ['with a folded header', plain.replace('; name', ';\r\n\tname')],
    ['with a byte order mark', `\ufeff${plain}`],
    ['with more headers', multipart([{ ...zip, headers }])],
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
    const fields = fc.array(fc.tuple(name, text), { minLength: 1, maxLength: 20 })
    const law = fc.property(boundary, fields, (line, sent) => {
      fc.pre(sent.every(([, value]) => !value.includes(`--${line}`)))
      const parts = sent.map(([name, content]) => ({ name, content }))
      const trimmed = sent.map(([name, value]) => [name.trim(), value.trim() || null])
      expect(read(multipart(parts, line), labeled(line))).toEqual(trimmed)
    })
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
    ['it ends before its last boundary', short.replace('--b--', '')],
    ['one of its parts has no name', short.replace('; name="PickupZip"', '')],
    ['one of its parts has no name', short.replace(/Content-Disposition.*\r\n/, '')],
  ])('is refused because %s', (fault, body) => {
    expect(read(body, labeled('b'))).toBe(
      `The body is not valid multipart/form-data: ${fault}. Send a JSON object or name=value pairs.`,
    )
  })

  test.each(['x--b\r\n', 'x\r\n--bx\r\n', 'x --b\r\n'])('has no part that begins with the line %j', (line) => {
    expect(read(short.replace('--b\r\n', line), labeled('b'))).toEqual([])
    const inside = multipart([{ ...zip, content: line }], 'b')
    expect(read(inside, labeled('b'))).toEqual([['PickupZip', line.trim()]])
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
