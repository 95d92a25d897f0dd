/** Promise: the body decides how it is read, not its label (contract, section 2). */

import { describe, expect, test } from 'vitest'
import { readBody, readQuery } from '../../src/edge/body/read.ts'
import { type ErrorCode, GatewayError } from '../../src/language/errors.ts'
import type { FlatBody } from '../../src/language/mapping/fields.ts'

const FORM = 'application/x-www-form-urlencoded'
const UTF8_BOM = [0xef, 0xbb, 0xbf]

/** Text as it is in ASCII, numbers as single bytes. */
function bytes(...parts: (string | readonly number[])[]): Buffer {
  return Buffer.concat(parts.map((part) => Buffer.from(typeof part === 'string' ? part : Uint8Array.from(part))))
}

const utf16be = (text: string) => Buffer.from(text, 'utf16le').swap16()

/** Writes the fields of a body on one line, in their order: `a="x" b=null c=Symbol(not flat)`. */
const fieldsOf = ({ entries }: FlatBody) =>
  entries
    .map(([name, value]) => `${name}=${typeof value === 'symbol' ? String(value) : JSON.stringify(value)}`)
    .join(' ')

function refusalOf(read: () => unknown): GatewayError {
  try {
    read()
  } catch (error) {
    if (error instanceof GatewayError) return error
    throw error
  }
  throw new Error('it was read')
}

test('the text is decoded, without BOM and surrounding blanks, before its format is decided', () => {
  const json = readBody(bytes(UTF8_BOM, ' {"a":"', [0xe9], '"}\r\n'), FORM)
  expect(json).toEqual({ format: 'json', entries: [['a', 'é']], text: '{"a":"é"}' })
  const form = readBody(bytes(UTF8_BOM, ' \r\na=', [0xe9], '\r\n'), 'application/json')
  expect(form).toEqual({ format: 'form', entries: [['a', 'é']], text: 'a=é' })
})

describe('encodings', () => {
  const utf8 = Buffer.from('{"a":"é🚚"}')
  const latin1 = bytes('{"a":"', [0xe9], '"}')
  const jis = [0x1b]
  test.each<[name: string, body: Buffer, contentType: string | undefined, a: string]>([
    ['UTF-8', utf8, undefined, 'é🚚'],
    ['Windows-1252 after a UTF-8 BOM', bytes(UTF8_BOM, [...latin1]), undefined, 'é'],
    ['the euro and quotes of Windows-1252', bytes('{"a":"', [0x80, 0x91, 0x92], '"}'), undefined, '€‘’'],
    ['a named charset is obeyed', Buffer.from('{"a":"é"}'), 'application/json; charset=windows-1252', 'Ã©'],
    ['a named charset in a form', bytes('a=%A4'), `${FORM}; charset="ISO-8859-15"`, '€'],
    ['Shift_JIS in a form', bytes('a=%83%6f', [0x83], 'A%83B'), `${FORM}; charset=shift_jis`, 'バアィ'],
    ['ISO-2022-JP in a form', bytes('a=', jis, '$B=&', jis, '(B'), 'a/b;charset=iso-2022-jp', '拾'],
    ['bytes that the named charset cannot have made', latin1, 'text/plain; charset=euc-kr', 'é'],
    ['an unknown charset is ignored', utf8, 'application/json; charset=klingon', 'é🚚'],
    ['a garbage charset is ignored', utf8, 'application/json; charset=\u0000\u0001{', 'é🚚'],
    ['an empty charset is ignored', utf8, 'application/json; charset=', 'é🚚'],
    ['an ASCII label on UTF-8 is ignored', utf8, 'application/json; charset=US-ASCII', 'é🚚'],
    ['UTF-16 with a BOM', Buffer.from('\ufeff{"a":"é"}', 'utf16le'), undefined, 'é'],
    ['UTF-16, big end first, with a BOM', utf16be('\ufeff{"a":"é"}'), undefined, 'é'],
    ['UTF-16 without a BOM', Buffer.from('{"a":"é"}', 'utf16le'), 'text/plain; charset=utf-16', 'é'],
    ['a form in UTF-16', utf16be('a=é'), FORM, 'é'],
    ['UTF-8 labeled UTF-16', utf8, 'text/xml; charset=utf-16', 'é🚚'],
  ])('%s', (_, body, contentType, a) => {
    expect(readBody(body, contentType).entries).toEqual([['a', a]])
  })

  test.each([
    ['ÿ first', [0xff, 0x20]],
    ['þ first', [0xfe, 0x20]],
    ['þ second', [0x20, 0xfe]],
    ['ÿ second', [0x20, 0xff]],
  ])('one byte of a mark is no mark: %s in the preamble of a multipart body', (_, mark) => {
    const part = 'Content-Disposition: form-data; name="a"\r\n\r\n1\r\n'
    const body = bytes(mark, `preamble.\r\n--x\r\n${part}--x--`)
    // Else it could not be UTF-16.
    expect(body.length % 2).toBe(0)
    expect(readBody(body, 'multipart/form-data; boundary=x').entries).toEqual([['a', '1']])
  })

  test('a charset reads the same the second time, also after bytes that it cannot have made', () => {
    const read = (...body: number[]) => fieldsOf(readBody(bytes('{"a":"', body, '"}'), 'a/b; charset=EUC-JP'))
    expect([read(0xa4, 0xa2), read(0xe9), read(0xa4, 0xa2)]).toEqual(['a="あ"', 'a="é"', 'a="あ"'])
  })
})

test.each([
  ['no fields', '{ }', ''],
  ['blanks everywhere', ' {\r\n\t"a" : 1 ,\n" b "\t:\r"  x y\\t\\r\\n" } ', 'a="1" b="x y"'],
  [
    'numbers digit for digit',
    '{"a":12345678901234567890,"b":1.50,"c":-2E-7}',
    'a="12345678901234567890" b="1.50" c="-2E-7"',
  ],
  ['booleans', '{"a":true,"b":false}', 'a="true" b="false"'],
  ['null, empty and blank are sent but blank', '{"a":null,"b":"","c":" \\n "}', 'a=null b=null c=null'],
  ['what nests does not disturb what follows', '{"a":[{"}":"]\\""},"{["],"b":1}', 'a=Symbol(not flat) b="1"'],
  ['deep lists', `{"a":${'['.repeat(130_000)}${']'.repeat(130_000)},"b":1}`, 'a=Symbol(not flat) b="1"'],
  ['escapes', '{"a":"\\/\\u00e9\\ud83d\\ude9a","\\u0062":"x"}', 'a="/é🚚" b="x"'],
  ['a string that ends in backslashes', '{"a":"\\\\","b":"\\\\\\\\","c":1}', 'a="\\\\" b="\\\\\\\\" c="1"'],
  ['separators inside strings', '{"a":"},{:[]","b:":"x"}', 'a="},{:[]" b:="x"'],
  ['a name sent twice, and names that are numbers', '{"b":1,"2":2,"b":"3","":4}', 'b="1" 2="2" b="3" ="4"'],
  [
    'names that objects have anyway',
    '{"__proto__":"x","constructor":{}}',
    '__proto__="x" constructor=Symbol(not flat)',
  ],
])('JSON: %s', (_, json, fields) => {
  expect(fieldsOf(readBody(bytes(json), undefined))).toBe(fields)
})

describe('forms', () => {
  test.each([
    ['blanks as + and as %20, an escaped plus', 'a=+x+y%20z%0D%0A&b=%2B1', 'a="x y z" b="+1"'],
    ['names are decoded and trimmed', 'Pickup%50hNo%2E=1&+b%20=2', 'PickupPhNo.="1" b="2"'],
    ['blank values', 'a=&b=+&c', 'a=null b=null c=null'],
    ['a first name with letters beyond ASCII, unescaped', 'Größe=1&a=2', 'Größe="1" a="2"'],
    ['a second = belongs to the value, and ; is no separator', 'a=b=c;d=2', 'a="b=c;d=2"'],
    ['escaped separators', 'a=1%262%3D3', 'a="1&2=3"'],
    [
      'malformed escapes stay',
      'a=%zz%4&b=100%&c=%%41%4g%3:%:3%3/%3@%3G%3`',
      'a="%zz%4" b="100%" c="%A%4g%3:%:3%3/%3@%3G%3`"',
    ],
    ['UTF-8 and Windows-1252, each value by itself', 'a=Jos%C3%A9&b=José&c=Jos%E9%80', 'a="José" b="José" c="José€"'],
    ['a value that ends in the byte of a no-break space', 'a=Pietà', 'a="Pietà"'],
    ['no UTF-16 in a value', 'a=%FF%FEx', 'a="ÿþx"'],
    ['names of PHP lists, one of them twice', 'a[]=1&a%5B0%5D=2&a[]=3', 'a[]="1" a[0]="2" a[]="3"'],
    ['names that objects have anyway', '__proto__=x&constructor=y', '__proto__="x" constructor="y"'],
    ['JSON as a value is text', 'a={"b":1}', 'a="{\\"b\\":1}"'],
    ['nothing between separators, an empty name', '&&a=1&&&=2&', 'a="1" ="2"'],
  ])('%s', (_, form, fields) => {
    expect(fieldsOf(readBody(Buffer.from(form), FORM))).toBe(fields)
  })

  test.each([
    ['a query', 'ShipmentNumber=A%2F1&VinNo=', 'ShipmentNumber="A/1" VinNo=null'],
    ['a query with its question mark', '?ShipmentNumber=A', 'ShipmentNumber="A"'],
    ['a bare question mark', '?', ''],
    ['a query of one word', 'flag', 'flag=null'],
    ['raw UTF-8 bytes, as Node hands them over', 'a=JosÃ©', 'a="José"'],
    ['wide characters', 'a=バ', 'a="バ"'],
  ])('%s', (_, query, fields) => {
    expect(fieldsOf(readQuery(query))).toBe(fields)
  })
})

describe('refusals', () => {
  test.each<[name: string, body: Buffer, message: RegExp]>([
    ['a BOM and blanks', bytes(UTF8_BOM, ' \r\n'), /^The body is empty\. /],
    ['an array', bytes('[{"a":"b=c"}]'), /neither a JSON object/],
    ['prose with = in it', bytes('Fatal error: x=1'), /neither a JSON object/],
    ['a value without a name', bytes('=x'), /neither a JSON object/],
    ['random bytes', bytes([0x1f, 0x8b, 0x08, 0, 0xff]), /neither a JSON object/],
    [
      'JSON that ends too early',
      bytes('{'),
      /^The body is not valid JSON: .* Send a JSON object or name=value pairs\.$/,
    ],
    ['JSON with a trailing comma', bytes('{"a":1,}'), /breaks at character 8\./],
    ['two objects', bytes('{}{}'), /breaks at character 3\./],
    ['deep nesting that is never closed', bytes(`{"a":${'['.repeat(130_000)}`), /not valid JSON/],
  ])('%s', (_, body, message) => {
    expect(refusalOf(() => readBody(body, FORM))).toMatchObject({
      code: 'body-unreadable',
      message: expect.stringMatching(message),
    })
  })

  test('a message never quotes the body, and neither does a cause', () => {
    for (const body of ['{"a":secret}', '{"a":"x"secret', '{secret', 'secret', '{"a": at position 77', '[secret]']) {
      const { message, cause } = refusalOf(() => readBody(bytes(body), undefined))
      expect(message).not.toMatch(/secret|77/)
      expect(cause).toBeUndefined()
    }
  })
})

describe('no body is slow', () => {
  const size = 256 * 1024
  // In quadratic time, one of them would exceed the time-out of the test.
  test.each<[name: string, outcome: 'read' | ErrorCode, body: string]>([
    ['backslashes', 'read', `{"a":"${'\\\\'.repeat(size / 2)}"}`],
    ['blanks inside', 'read', `a=${' '.repeat(size)}x`],
    ['separators', 'read', `a=1${'&'.repeat(size)}`],
    ['escapes', 'read', `a=${'%41'.repeat(size / 3)}`],
    ['a name without an end', 'body-unreadable', 'a'.repeat(size)],
    ['brackets and strings', 'read', `{"a":[${'"",'.repeat(size / 3)}""]}`],
    ['dashes', 'body-unreadable', '-'.repeat(size)],
  ])('%s', (_, outcome, body) => {
    const read = () => readBody(bytes(body), undefined)
    if (outcome === 'read') expect(read().entries.length).toBeGreaterThan(0)
    else expect(refusalOf(read).code).toBe(outcome)
  })
})
