/** Promise: the body decides how it is read, not its label (contract, section 2). */

import { describe, expect, test } from 'vitest'
import { readBody } from '../../src/edge/body/read.ts'
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

describe('encodings', () => {
  const utf8 = Buffer.from('{"a":"é🚚"}')
  const latin1 = bytes('{"a":"', [0xe9], '"}')
  const jis = [0x1b]
  test.each<[name: string, body: Buffer, contentType: string | undefined, a: string]>([
    ['Windows-1252 after a UTF-8 BOM', bytes(UTF8_BOM, [...latin1]), undefined, 'é'],
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
})

describe('forms', () => {
  test.each([
    ['names are decoded and trimmed', 'Pickup%50hNo%2E=1&+b%20=2', 'PickupPhNo.="1" b="2"'],
    ['a first name with letters beyond ASCII, unescaped', 'Größe=1&a=2', 'Größe="1" a="2"'],
    ['a second = belongs to the value, and ; is no separator', 'a=b=c;d=2', 'a="b=c;d=2"'],
    [
      'malformed escapes stay',
      'a=%zz%4&b=100%&c=%%41%4g%3:%:3%3/%3@%3G%3`',
      'a="%zz%4" b="100%" c="%A%4g%3:%:3%3/%3@%3G%3`"',
    ],
    ['UTF-8 and Windows-1252, each value by itself', 'a=Jos%C3%A9&b=José&c=Jos%E9%80', 'a="José" b="José" c="José€"'],
    ['a value that ends in the byte of a no-break space', 'a=Pietà', 'a="Pietà"'],
    ['no UTF-16 in a value', 'a=%FF%FEx', 'a="ÿþx"'],
    ['names of PHP lists, one of them twice', 'a[]=1&a%5B0%5D=2&a[]=3', 'a[]="1" a[0]="2" a[]="3"'],
    ['JSON as a value is text', 'a={"b":1}', 'a="{\\"b\\":1}"'],
    ['nothing between separators, an empty name', '&&a=1&&&=2&', 'a="1" ="2"'],
  ])('%s', (_, form, fields) => {
    expect(fieldsOf(readBody(Buffer.from(form), FORM))).toBe(fields)
  })
})

describe('refusals', () => {
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
    ['deep lists', 'read', `{"a":${'['.repeat(size / 2)}${']'.repeat(size / 2)}}`],
    ['deep lists that are never closed', 'body-unreadable', `{"a":${'['.repeat(size)}`],
  ])('%s', (_, outcome, body) => {
    const read = () => readBody(bytes(body), undefined)
    if (outcome === 'read') expect(read().entries.length).toBeGreaterThan(0)
    else expect(refusalOf(read).code).toBe(outcome)
  })
})
