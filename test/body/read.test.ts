/** Promise: every body is read field by field, by its bytes and not its label, or refused with a reason (contract, section 2). */

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { readBody, readQuery } from '../../src/edge/body/read.ts'
import { GatewayError } from '../../src/language/errors.ts'
import { type FieldValue, type FlatBody, NOT_FLAT } from '../../src/language/mapping/fields.ts'
import { NAUGHTY } from '../calls/naughty-values.ts'
import { post, startGateway } from '../gateway.ts'
import { anyCharacter, expectLaw } from '../laws.ts'
import { runs } from '../size.ts'

const RUNS = runs(200, 1_500)
const NIGHT_MS = 3_600_000
const FORM = 'application/x-www-form-urlencoded'

type Fields = readonly (readonly [string, FieldValue])[]

/** Returns the fields of a body, or its refusal. */
function outcome(read: () => FlatBody): Fields | GatewayError {
  try {
    return read().entries
  } catch (error) {
    if (error instanceof GatewayError) return error
    throw error
  }
}
const read = (body: Buffer | string, label?: string) =>
  outcome(() => readBody(typeof body === 'string' ? Buffer.from(body) : body, label))

/** Text as ASCII, numbers as single bytes. */
const bytes = (...parts: (string | readonly number[])[]): Buffer =>
  Buffer.concat(parts.map((part) => Buffer.from(typeof part === 'string' ? part : Uint8Array.from(part))))

interface Part {
  readonly name: string
  readonly content: string | Buffer
  /** More header lines. */
  readonly headers?: readonly string[]
  readonly filename?: string
}

/** A multipart body as curl and browsers write it. */
function multipart(parts: readonly Part[], boundary = 'b', lineEnd = '\r\n'): Buffer {
  const lines = parts.flatMap(({ name, content, headers = [], filename }) => {
    const file = filename === undefined ? '' : `; filename="${filename}"`
    const head = [`Content-Disposition: form-data; name="${name.replace(/["\\]/g, '\\$&')}"${file}`, ...headers, '']
    return [`--${boundary}`, ...head, content]
  })
  return Buffer.concat([...lines, `--${boundary}--`, ''].flatMap((line) => [Buffer.from(lineEnd), Buffer.from(line)]))
}
const labeled = (boundary: string) => `multipart/form-data; boundary=${boundary}`

describe('laws', { timeout: NIGHT_MS }, () => {
  const anyText = fc.oneof(
    fc.string({ unit: anyCharacter, maxLength: 12 }),
    fc.stringMatching(/^[ !#-[\]-~é]{0,12}$/),
    fc.constantFrom(...NAUGHTY.filter((one) => one.length < 100)),
  )
  const anyName = fc.oneof(anyText, fc.constantFrom('__proto__', 'constructor', 'PickupPhNo.', 'a', 'a'))
  const labels = fc.constantFrom(
    undefined,
    'application/json',
    'text/plain; charset=utf-8',
    'a/b; charset=nonsense',
    '',
  )

  test('a JSON object reads back field by field, in order, including duplicates and digits', () => {
    const jsonBlank = fc.stringMatching(/^[ \t\r\n]{0,3}$/)
    const number = fc.stringMatching(/^-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,4})?$/)
    /** JSON values, each with the value of its field. */
    const value: fc.Arbitrary<readonly [literal: string, value: FieldValue]> = fc.oneof(
      anyText.map((text) => [JSON.stringify(text), text.trim() || null] as const),
      fc.oneof(number, fc.constantFrom('true', 'false')).map((literal) => [literal, literal] as const),
      fc.constant(['null', null] as const),
      fc
        .oneof(fc.array(fc.jsonValue()), fc.dictionary(anyText, fc.jsonValue()))
        .map((nested) => [JSON.stringify(nested), NOT_FLAT] as const),
    )
    const members = fc.array(fc.tuple(anyName, value), { minLength: 1, maxLength: 30 })
    const law = fc.property(members, jsonBlank, labels, (fields, blank, label) => {
      const pairs = fields.map(([name, [literal]]) => [JSON.stringify(name), ':', literal].join(blank))
      const text = `${blank}{${blank}${pairs.join(`${blank},${blank}`)}${blank}}${blank}`
      expect(read(text, label)).toEqual(fields.map(([name, [, value]]) => [name.trim(), value]))
    })
    expectLaw(law, RUNS)
    expect(Object.keys(Object.prototype)).toEqual([])
  })

  test('a form reads back field by field, in order, including duplicates', () => {
    const named = fc.array(fc.tuple(anyName, anyText), { minLength: 1, maxLength: 30 })
    const law = fc.property(named, labels, (pairs, label) => {
      fc.pre(pairs[0]?.[0] !== '')
      const text = new URLSearchParams(pairs).toString()
      const sent = pairs.map(([name, value]) => [name.toWellFormed().trim(), value.toWellFormed().trim() || null])
      expect(read(text, label)).toEqual(sent)
      expect(readQuery(text).entries).toEqual(sent)
    })
    expectLaw(law, RUNS)
  })

  test('a multipart form reads back field by field, with any values and boundary', () => {
    const text = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 20 }),
      fc.array(fc.constantFrom('\r\n', '--', '\r\n--', 'b', ':', ';', '"', '\\', ' ', '=')).map((all) => all.join('')),
    )
    const name = fc
      .string({ unit: 'grapheme', minLength: 1, maxLength: 12 })
      .filter((one) => !/[\r\n\u2028\u2029]/.test(one))
    const fields = fc.array(fc.tuple(name, text), { minLength: 1, maxLength: 20 })
    const law = fc.property(fc.stringMatching(/^[\w'()+,./:=?-]{1,70}$/), fields, (line, sent) => {
      fc.pre(sent.every(([, value]) => !value.includes(`--${line}`)))
      const parts = sent.map(([name, content]) => ({ name, content }))
      const trimmed = sent.map(([name, value]) => [name.trim(), value.trim() || null])
      expect(read(multipart(parts, line), labeled(line))).toEqual(trimmed)
    })
    expectLaw(law, RUNS)
  })

  test('any bytes under any label give fields or a refusal, the same the second time, and stay unchanged', () => {
    /** Pieces of valid bodies, so that random bodies get beyond the first byte. */
    const piece = fc.oneof(
      fc.constantFrom(...'{}[]":,\\&=+%;\0\t', '\\u', '\\ud800', '%0', '%e9', '%00', '\r\n', '\ufeff'),
      fc.constantFrom('null', 'true', '1e9', '-0', 'a', 'PickupZip', '"a":', '"a":1', 'a=b', '{}', '[{'),
      anyText,
    )
    const pieces = fc.array(piece, { maxLength: 40 }).map((all) => all.join(''))
    const form = multipart([
      { name: 'PickupZip', content: '10314' },
      { name: 'f', content: 'x', filename: 'a' },
    ])
    const anyBytes = fc.oneof(
      fc.uint8Array({ maxLength: 80 }).map((bytes) => Buffer.from(bytes)),
      pieces.map((text) => Buffer.from(text)),
      pieces.map((text) => Buffer.from(`{"a":${text}}`)),
      pieces.map((text) => Buffer.from(`a=${text}`)),
      pieces.map((text) => Buffer.from(`{"a":"${text}"}`, 'utf16le')),
      pieces.map((text) => Buffer.from(text, 'latin1')),
      fc
        .tuple(fc.nat(form.length), pieces, fc.nat(8))
        .map(([at, text, skipped]) =>
          Buffer.concat([form.subarray(0, at), Buffer.from(text), form.subarray(at + skipped)]),
        ),
    )
    const charsets = ['utf-16', 'shift_jis', 'iso-2022-jp', 'gb18030', 'big5', 'x-user-defined', 'koi8-r']
    const anyLabel = fc.oneof(
      anyText,
      fc.constantFrom(labeled('b'), ...charsets.map((name) => `text/plain; charset=${name}`)),
    )
    const law = fc.property(anyBytes, anyLabel, (bytes, label) => {
      const before = bytes.toString('hex')
      const once = read(bytes, label)
      expect(read(bytes, label)).toEqual(once)
      for (const got of [once, outcome(() => readQuery(bytes.toString('latin1')))]) {
        if (got instanceof GatewayError) {
          expect([400, 422]).toContain(got.status)
          expect(got.message).not.toMatch(/\p{Cc}/u)
          continue
        }
        expect(got.length).toBeLessThanOrEqual(200)
        for (const field of got) expect(field).toEqual(field.map((one) => (typeof one === 'string' ? one.trim() : one)))
        expect(got.map(([, value]) => value)).not.toContain('')
      }
      expect(bytes.toString('hex')).toBe(before)
    })
    expectLaw(law, 4 * RUNS)
  })
})

describe('encodings', () => {
  const utf8 = Buffer.from('{"a":"é🚚"}')
  const latin1 = bytes('{"a":"', [0xe9], '"}')
  const utf16be = (text: string) => Buffer.from(text, 'utf16le').swap16()
  const jis = [0x1b]
  test.each<[name: string, body: Buffer, contentType: string | undefined, a: string]>([
    ['Windows-1252 after a UTF-8 BOM', bytes([0xef, 0xbb, 0xbf], [...latin1]), undefined, 'é'],
    ['the euro and quotes of Windows-1252', bytes('{"a":"', [0x80, 0x91, 0x92], '"}'), undefined, '€‘’'],
    ['a named charset is obeyed', Buffer.from('{"a":"é"}'), 'application/json; charset=windows-1252', 'Ã©'],
    ['a named charset in a form', bytes('a=%A4'), `${FORM}; charset="ISO-8859-15"`, '€'],
    ['Shift_JIS in a form', bytes('a=%83%6f', [0x83], 'A%83B'), `${FORM}; charset=shift_jis`, 'バアィ'],
    ['ISO-2022-JP in a form', bytes('a=', jis, '$B=&', jis, '(B'), 'a/b;charset=iso-2022-jp', '拾'],
    ['bytes that the named charset cannot have made', latin1, 'text/plain; charset=euc-kr', 'é'],
    ['an unknown charset is ignored', utf8, 'application/json; charset=klingon', 'é🚚'],
    ['a garbage charset is ignored', utf8, 'application/json; charset=\u0000\u0001{', 'é🚚'],
    ['an ASCII label on UTF-8 is ignored', utf8, 'application/json; charset=US-ASCII', 'é🚚'],
    ['UTF-16 with a BOM', Buffer.from('\ufeff{"a":"é"}', 'utf16le'), undefined, 'é'],
    ['UTF-16, big end first, with a BOM', utf16be('\ufeff{"a":"é"}'), undefined, 'é'],
    ['UTF-16 without a BOM', Buffer.from('{"a":"é"}', 'utf16le'), 'text/plain; charset=utf-16', 'é'],
    ['a form in UTF-16', utf16be('a=é'), FORM, 'é'],
    ['UTF-8 labeled UTF-16', utf8, 'text/xml; charset=utf-16', 'é🚚'],
  ])('%s', (_, body, contentType, a) => {
    expect(read(body, contentType)).toEqual([['a', a]])
  })

  test.each([[[0xff, 0x20]], [[0xfe, 0x20]], [[0x20, 0xfe]], [[0x20, 0xff]]])(
    'one byte of a mark is not a mark: %j in the preamble of a multipart body',
    (mark) => {
      const body = bytes(mark, `preamble.${multipart([{ name: 'a', content: '1' }])}`)
      // Otherwise it could not be UTF-16.
      expect(body.length % 2).toBe(0)
      expect(read(body, labeled('b'))).toEqual([['a', '1']])
    },
  )

  test('of a part: its own charset, else that of _charset_, else that of the body, else UTF-8 or Windows-1252', () => {
    const [macintosh, windows] = [bytes('Jos', [0x8e]), bytes('Jos', [0xe9])]
    const headers = ['Content-Type: text/plain; charset=macintosh']
    const utf8 = { name: 'a', content: 'José' }
    const both = multipart([utf8, { name: 'b', content: macintosh, headers }, { name: 'c', content: windows }])
    expect(read(both)).toEqual(['a', 'b', 'c'].map((name) => [name, 'José']))
    const unmarked = { name: 'a', content: macintosh }
    expect(read(multipart([unmarked]), `${labeled('b')}; charset=macintosh`)).toEqual([['a', 'José']])
    const charset = { name: '_charset_', content: 'macintosh' }
    expect(read(multipart([charset, unmarked]))).toEqual([Object.values(charset), ['a', 'José']])
  })
})

test.each<[string, string, Record<string, string>]>([
  ['names are decoded and trimmed', 'Pickup%50hNo%2E=1&+b%20=2', { 'PickupPhNo.': '1', b: '2' }],
  ['a first name with letters beyond ASCII, unescaped', 'Größe=1&a=2', { Größe: '1', a: '2' }],
  ['a second = belongs to the value, and ; is no separator', 'a=b=c;d=2', { a: 'b=c;d=2' }],
  [
    'malformed escapes stay',
    'a=%zz%4&b=100%&c=%%41%4g%3:%:3%3/%3@%3G%3`',
    { a: '%zz%4', b: '100%', c: '%A%4g%3:%:3%3/%3@%3G%3`' },
  ],
  ['UTF-8 and Windows-1252, each value by itself', 'a=Jos%C3%A9&b=Jos%E9%80', { a: 'José', b: 'José€' }],
  ['a value that ends in the byte of a no-break space', 'a=Pietà', { a: 'Pietà' }],
  ['no UTF-16 in a value', 'a=%FF%FEx', { a: 'ÿþx' }],
  ['names of PHP lists', 'a[]=1&a%5B0%5D=2', { 'a[]': '1', 'a[0]': '2' }],
  ['JSON as one value of several is text', 'data={"b":1}&a=2', { data: '{"b":1}', a: '2' }],
  ['nothing between separators, an empty name', '&&a=1&&&=2&', { a: '1', '': '2' }],
])('in a form: %s', (_, form, fields) => {
  expect(read(form, FORM)).toEqual(Object.entries(fields))
})

describe('multipart/form-data', () => {
  const zip: Part = { name: 'PickupZip', content: '10314' }
  const short = multipart([zip]).toString()

  test.each<[string, Buffer | string, string?]>([
    ['as curl writes it', multipart([zip], '------------------------1c2b3a4d5e6f')],
    ['with another boundary in its label', short, labeled('other')],
    ['with single line feeds', multipart([zip], 'b', '\n'), labeled('b')],
    ['with a boundary of equals signs', multipart([zip], '===============123==')],
    ['with a boundary of pattern characters', multipart([zip], '.*(+)?[\\')],
    ['with a quoted boundary', multipart([zip], 'a b'), 'multipart/form-data; boundary="a b"'],
    ['after a preamble', `for old mail readers${short}`, labeled('b')],
    ['before an epilogue', `${short}--b\r\nmore`, labeled('b')],
    ['with blanks behind its boundaries', short.replace('--b\r', '--b \t\r'), labeled('b')],
    ['with headers of other cases', short.replace('Content-D', 'CONTENT-d')],
    ['with a name without quotes', short.replace('"PickupZip"', 'PickupZip')],
    ['with a folded header', short.replace('; name', ';\r\n\tname')],
    ['with a byte order mark', `\ufeff${short}`],
    [
      'with more headers',
      multipart([{ ...zip, headers: ['Content-Type: text/plain', 'Content-Transfer-Encoding: 8bit'] }]),
    ],
  ])('%s', (_what, body, contentType) => {
    expect(read(body, contentType)).toEqual([['PickupZip', '10314']])
  })

  test.each([
    ['it ends before its last boundary', short.replace('--b--', '')],
    ['one of its parts has no name', short.replace('; name="PickupZip"', '')],
    ['one of its parts has no name', short.replace(/Content-Disposition.*\r\n/, '')],
  ])('is refused because %s', (fault, body) => {
    const message = `The body is not valid multipart/form-data: ${fault}. Send a JSON object or name=value pairs.`
    expect(read(body, labeled('b'))).toMatchObject({ message })
  })

  test.each(['x--b\r\n', 'x\r\n--bx\r\n', 'x --b\r\n'])('has no part that begins with the line %j', (line) => {
    expect(read(short.replace('--b\r\n', line), labeled('b'))).toEqual([])
    expect(read(multipart([{ ...zip, content: line }]), labeled('b'))).toEqual([['PickupZip', line.trim()]])
  })

  test('a part with a file is a problem of its field, unless the part is empty or the field unknown', async () => {
    const gateway = await startGateway()
    const parts = Object.entries(bookingExample).map(([name, content]) => ({ name, content }))
    const file = { content: Buffer.from([0xff, 0xd8, 0, 1]), filename: 'a.jpg' }
    const send = async (...more: readonly Part[]) => {
      const sent = parts.filter(({ name }) => !more.some((part) => part.name === name))
      const body = new Uint8Array(multipart([...sent, ...more]))
      return await post(gateway, '/createShipment.php', body, { 'content-type': labeled('b') })
    }
    const refused = await send({ ...file, name: 'VinNo' })
    expect(refused).toMatchObject({ status: 422, json: { Message: 'VinNo must be text, not a file.' } })
    expect(gateway.sandbox.requests).toEqual([])
    const booked = await send({ ...file, name: 'Photo' }, { name: 'LoadReference', content: '', filename: '' })
    expect(booked).toMatchObject({ status: 200, json: { TransportationBooked: 'Yes' } })
  })
})

test('a refusal never quotes the body, and neither does its cause', () => {
  for (const body of ['{"a":secret}', '{"a":"x"secret', '{secret', 'secret', '{"a": at position 77', '[secret]']) {
    expect(read(body)).toMatchObject({ message: expect.not.stringMatching(/secret|77/) })
    expect(read(body)).not.toHaveProperty('cause')
  }
})

const SIZE = 256 * 1024
const HEAD = '--b\r\nContent-Disposition: form-data'
// With quadratic time, one of them would exceed the timeout of the test.
test.each<[name: string, isRead: boolean, body: string]>([
  ['backslashes', true, `{"a":"${'\\\\'.repeat(SIZE / 2)}"}`],
  ['blanks inside', true, `a=${' '.repeat(SIZE)}x`],
  ['separators', true, `a=1${'&'.repeat(SIZE)}`],
  ['escapes', true, `a=${'%41'.repeat(SIZE / 3)}`],
  ['a name without an end', false, 'a'.repeat(SIZE)],
  ['brackets and strings', true, `{"a":[${'"",'.repeat(SIZE / 3)}""]}`],
  ['dashes', false, '-'.repeat(SIZE)],
  ['deep lists', true, `{"a":${'['.repeat(SIZE / 2)}${']'.repeat(SIZE / 2)}}`],
  ['deep lists that are never closed', false, `{"a":${'['.repeat(SIZE)}`],
  ['boundaries', false, '--b\r\n'.repeat(SIZE / 5)],
  ['separators in a header', false, `${HEAD}${';'.repeat(SIZE)}`],
  ['parameters in a header', false, `${HEAD}${'; a="'.repeat(SIZE / 5)}`],
  ['headers', false, `--b\r\n${'Content-Type: x\r\n'.repeat(SIZE / 17)}`],
  ['blanks in a header', false, `--b\r\nContent-${' '.repeat(SIZE)}`],
  ['boundaries without an end', false, `${HEAD}; name="a"\r\n\r\n${'\r\n--b'.repeat(SIZE / 5)}x`],
])('no body is slow: %s', (_, isRead, body) => {
  expect(read(body, labeled('b')) instanceof GatewayError).toBe(!isRead)
})
