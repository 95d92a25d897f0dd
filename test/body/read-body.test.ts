/** Promise: the body decides how it is read, not its label (contract, section 2). */

import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { readBytes } from '../../src/body/bytes.ts'
import { readBody, readQuery } from '../../src/body/read.ts'
import { createShares } from '../../src/callers/limits.ts'
import { type ErrorCode, GatewayError } from '../../src/errors.ts'
import { type FieldValue, NOT_FLAT } from '../../src/mapping/fields.ts'
import { unlimitedShare } from '../../src/observe/call.ts'

type Entries = readonly (readonly [string, FieldValue])[]

const FORM = 'application/x-www-form-urlencoded'
const ROOM = { MAX_CONNECTIONS: 10, SOURCE_CONNECTIONS: 10, MAX_IN_FLIGHT: 10 }
const UTF8_BOM = [0xef, 0xbb, 0xbf]

/** Text as it is in ASCII, numbers as single bytes. */
function bytes(...parts: (string | readonly number[])[]): Buffer {
  return Buffer.concat(parts.map((part) => Buffer.from(typeof part === 'string' ? part : Uint8Array.from(part))))
}

function utf16be(text: string): Buffer {
  return Buffer.from(text, 'utf16le').swap16()
}

function refusalOf(read: () => unknown): GatewayError {
  try {
    read()
  } catch (error) {
    if (error instanceof GatewayError) return error
    throw error
  }
  throw new Error('it was read')
}

const zip: Entries = [['PickupZip', '10314']]
const jose: Entries = [['PickupName', 'José']]

describe('the body decides, not its label', () => {
  const json = '{"PickupZip":"10314"}'
  const cases: [name: string, body: Buffer, contentType: string | undefined, format: string, entries: Entries][] = [
    ['JSON labeled JSON', bytes(json), 'application/json', 'json', zip],
    ['JSON labeled as a form, the way PHP with curl does it', bytes(json), FORM, 'json', zip],
    ['JSON labeled text', bytes(json), 'text/plain; charset=utf-8', 'json', zip],
    ['JSON labeled multipart', bytes(json), 'multipart/form-data; boundary=x', 'json', zip],
    ['JSON labeled with nonsense', bytes(json), ';;;', 'json', zip],
    ['JSON without a label', bytes(json), undefined, 'json', zip],
    ['JSON after a BOM', bytes(UTF8_BOM, json), undefined, 'json', zip],
    ['JSON after blanks', bytes(' \t\r\n', json), undefined, 'json', zip],
    ['JSON after a BOM and blanks', bytes(UTF8_BOM, '\r\n ', json), undefined, 'json', zip],
    ['JSON after two BOMs', bytes(UTF8_BOM, UTF8_BOM, json), undefined, 'json', zip],
    ['JSON before CRLF and blanks', bytes(json, '\r\n  \r\n'), undefined, 'json', zip],
    ['pairs labeled as a form', bytes('PickupZip=10314'), FORM, 'form', zip],
    ['pairs labeled JSON', bytes('PickupZip=10314'), 'application/json', 'form', zip],
    ['pairs without a label', bytes('PickupZip=10314'), undefined, 'form', zip],
    ['pairs after a BOM and blanks', bytes(UTF8_BOM, ' \r\n', 'PickupZip=10314'), FORM, 'form', zip],
    ['pairs before CRLF', bytes('PickupZip=10314\r\n'), FORM, 'form', zip],
    ['pairs after separators', bytes('&&PickupZip=10314&'), FORM, 'form', zip],
  ]
  test.each(cases)('%s', (_, body, contentType, format, entries) => {
    expect(readBody(body, contentType)).toMatchObject({ format, entries })
  })

  test('the text is decoded, without BOM and surrounding blanks', () => {
    expect(readBody(bytes(UTF8_BOM, ' {"a":"', [0xe9], '"}\r\n'), undefined).text).toBe('{"a":"é"}')
    expect(readBody(bytes(UTF8_BOM, 'a=', [0xe9], '\r\n'), undefined).text).toBe('a=é')
  })
})

describe('encodings', () => {
  const latin1 = bytes('{"PickupName":"Jos', [0xe9], '"}')
  const utf8 = Buffer.from('{"PickupName":"José"}')
  const euro: Entries = [['a', '€']]
  const cases: [name: string, body: Buffer, contentType: string | undefined, entries: Entries][] = [
    ['UTF-8', utf8, undefined, jose],
    ['UTF-8 that is labeled so', utf8, 'application/json; charset=UTF-8', jose],
    ['UTF-8 beyond the first plane', Buffer.from('{"a":"🚚"}'), undefined, [['a', '🚚']]],
    ['Windows-1252 without a label', latin1, undefined, jose],
    ['Windows-1252 labeled UTF-8', latin1, 'application/json; charset=utf-8', jose],
    ['Windows-1252 labeled ISO-8859-1', latin1, 'application/json;charset="ISO-8859-1"', jose],
    ['Windows-1252 after a UTF-8 BOM', bytes(UTF8_BOM, [...latin1]), undefined, jose],
    ['the euro and quotes of Windows-1252', bytes('{"a":"', [0x80, 0x91, 0x92], '"}'), undefined, [['a', '€‘’']]],
    ['a named charset is obeyed', utf8, 'application/json; charset=windows-1252', [['PickupName', 'JosÃ©']]],
    ['a named charset that is neither', bytes('{"a":"', [0xa4], '"}'), 'text/plain; charset=iso-8859-15', euro],
    ['a named charset in a form', bytes('a=%A4'), `${FORM}; charset=ISO-8859-15`, euro],
    ['Shift_JIS in a form', bytes('a=%83%6f', [0x83], 'A%83B'), `${FORM}; charset=shift_jis`, [['a', 'バアィ']]],
    ['ISO-2022-JP in a form', bytes('a=', [0x1b], '$B=&', [0x1b], '(B'), 'a/b;charset=iso-2022-jp', [['a', '拾']]],
    ['bytes that the named charset cannot have made', latin1, 'text/plain; charset=euc-kr', jose],
    ['an unknown charset is ignored', utf8, 'application/json; charset=klingon', jose],
    ['a garbage charset is ignored', utf8, 'application/json; charset=\u0000\u0001{', jose],
    ['an empty charset is ignored', utf8, 'application/json; charset=', jose],
    ['an ASCII label on UTF-8 is ignored', utf8, 'application/json; charset=US-ASCII', jose],
    ['UTF-16 with a BOM', Buffer.from('\ufeff{"PickupName":"José"}', 'utf16le'), undefined, jose],
    ['UTF-16, big end first, with a BOM', utf16be('\ufeff{"PickupName":"José"}'), undefined, jose],
    ['UTF-16 without a BOM', Buffer.from('{"PickupName":"José"}', 'utf16le'), 'text/plain; charset=utf-16', jose],
    ['a form in UTF-16', utf16be('PickupName=José'), FORM, jose],
    ['UTF-8 labeled UTF-16', utf8, 'text/xml; charset=utf-16', jose],
  ]
  test.each(cases)('%s', (_, body, contentType, entries) => {
    expect(readBody(body, contentType).entries).toEqual(entries)
  })

  test.each(['%3:', '%:3', '%3/', '%3@', '%3G', '%3`', '%3g'])('%s is no escape of a form, and stays', (text) => {
    expect(readBody(bytes(`a=${text}`), FORM).entries).toEqual([['a', text]])
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
    const read = (...body: number[]) => readBody(bytes('{"a":"', body, '"}'), 'a/b; charset=EUC-JP').entries
    expect([read(0xa4, 0xa2), read(0xe9), read(0xa4, 0xa2)]).toEqual([[['a', 'あ']], [['a', 'é']], [['a', 'あ']]])
  })
})

describe('JSON', () => {
  const deep = 130_000
  const cases: [name: string, json: string, entries: Entries][] = [
    ['no fields', '{ }', []],
    ['strings are trimmed', '{"a":"  x y\\t\\r\\n"}', [['a', 'x y']]],
    ['names are trimmed', '{" a ":"x"}', [['a', 'x']]],
    ['integers digit for digit', '{"a":12345678901234567890}', [['a', '12345678901234567890']]],
    ['trailing zeros', '{"a":1.50}', [['a', '1.50']]],
    [
      'exponents',
      '{"a":1e400,"b":-2E-7}',
      [
        ['a', '1e400'],
        ['b', '-2E-7'],
      ],
    ],
    ['minus zero', '{"a":-0}', [['a', '-0']]],
    [
      'numbers before blanks',
      '{"a":1 ,"b":2\n}',
      [
        ['a', '1'],
        ['b', '2'],
      ],
    ],
    [
      'booleans',
      '{"a":true,"b":false}',
      [
        ['a', 'true'],
        ['b', 'false'],
      ],
    ],
    [
      'null, empty and blank are sent but blank',
      '{"a":null,"b":"","c":" \\n "}',
      [
        ['a', null],
        ['b', null],
        ['c', null],
      ],
    ],
    [
      'objects and arrays are not flat',
      '{"a":{},"b":[],"c":{"d":[1]}}',
      [
        ['a', NOT_FLAT],
        ['b', NOT_FLAT],
        ['c', NOT_FLAT],
      ],
    ],
    [
      'what nests does not disturb what follows',
      '{"a":[{"}":"]\\""},"{["],"b":1}',
      [
        ['a', NOT_FLAT],
        ['b', '1'],
      ],
    ],
    [
      'deep arrays',
      `{"a":${'['.repeat(deep)}${']'.repeat(deep)},"b":1}`,
      [
        ['a', NOT_FLAT],
        ['b', '1'],
      ],
    ],
    [
      'deep objects',
      `{"a":${'{"a":'.repeat(deep / 5)}1${'}'.repeat(deep / 5)},"b":1}`,
      [
        ['a', NOT_FLAT],
        ['b', '1'],
      ],
    ],
    [
      'escapes',
      '{"a":"\\"\\\\\\/\\u00e9\\ud83d\\ude9a","\\u0062":"x"}',
      [
        ['a', '"\\/é🚚'],
        ['b', 'x'],
      ],
    ],
    [
      'a string that ends in backslashes',
      '{"a":"\\\\","b":"\\\\\\\\\\"","c":1}',
      [
        ['a', '\\'],
        ['b', '\\\\"'],
        ['c', '1'],
      ],
    ],
    [
      'separators inside strings',
      '{"a":"},{:[]","b:":"x"}',
      [
        ['a', '},{:[]'],
        ['b:', 'x'],
      ],
    ],
    [
      'a name sent twice',
      '{"a":1,"a":"2"}',
      [
        ['a', '1'],
        ['a', '2'],
      ],
    ],
    ['an empty name', '{"":"x"}', [['', 'x']]],
    [
      'names that objects have anyway',
      '{"__proto__":"x","constructor":{},"prototype":1}',
      [
        ['__proto__', 'x'],
        ['constructor', NOT_FLAT],
        ['prototype', '1'],
      ],
    ],
    [
      'names that are numbers stay in order',
      '{"b":1,"2":2,"1":3}',
      [
        ['b', '1'],
        ['2', '2'],
        ['1', '3'],
      ],
    ],
    [
      'blanks everywhere',
      ' {\r\n\t"a" : 1 ,\n"b"\t:\r"x" } ',
      [
        ['a', '1'],
        ['b', 'x'],
      ],
    ],
  ]
  test.each(cases)('%s', (_, json, entries) => {
    expect(readBody(Buffer.from(json), undefined).entries).toEqual(entries)
  })
})

describe('forms', () => {
  const cases: [name: string, form: string, entries: Entries][] = [
    ['blanks as + and as %20', 'a=x+y%20z', [['a', 'x y z']]],
    ['an escaped plus', 'a=%2B1', [['a', '+1']]],
    [
      'values are trimmed',
      'a=++x%0D%0A&b=y',
      [
        ['a', 'x'],
        ['b', 'y'],
      ],
    ],
    [
      'names are decoded and trimmed',
      'Pickup%50hNo%2E=1&+b%20=2',
      [
        ['PickupPhNo.', '1'],
        ['b', '2'],
      ],
    ],
    [
      'blank values',
      'a=&b=+&c',
      [
        ['a', null],
        ['b', null],
        ['c', null],
      ],
    ],
    [
      'a first name with letters beyond ASCII, unescaped',
      'Größe=1&a=2',
      [
        ['Größe', '1'],
        ['a', '2'],
      ],
    ],
    ['a second = belongs to the value', 'a=b=c', [['a', 'b=c']]],
    ['; is no separator', 'a=1;b=2', [['a', '1;b=2']]],
    ['escaped separators', 'a=1%262%3D3', [['a', '1&2=3']]],
    [
      'malformed escapes stay',
      'a=%zz%4&b=100%&c=%%41%4g',
      [
        ['a', '%zz%4'],
        ['b', '100%'],
        ['c', '%A%4g'],
      ],
    ],
    [
      'UTF-8',
      'a=Jos%C3%A9&b=José',
      [
        ['a', 'José'],
        ['b', 'José'],
      ],
    ],
    ['a value that ends in the byte of a no-break space', 'a=Pietà', [['a', 'Pietà']]],
    [
      'Windows-1252',
      'a=Jos%E9&b=%80',
      [
        ['a', 'José'],
        ['b', '€'],
      ],
    ],
    [
      'each value in an encoding of its own',
      'a=%C3%A9&b=%E9',
      [
        ['a', 'é'],
        ['b', 'é'],
      ],
    ],
    ['no UTF-16 in a value', 'a=%FF%FEx', [['a', 'ÿþx']]],
    [
      'a name sent twice',
      'a=1&a=2',
      [
        ['a', '1'],
        ['a', '2'],
      ],
    ],
    [
      'names of PHP lists',
      'a[]=1&a%5B0%5D=2',
      [
        ['a[]', '1'],
        ['a[0]', '2'],
      ],
    ],
    [
      'names that objects have anyway',
      '__proto__=x&constructor=y',
      [
        ['__proto__', 'x'],
        ['constructor', 'y'],
      ],
    ],
    ['JSON as a value is text', 'a={"b":1}', [['a', '{"b":1}']]],
    [
      'nothing between separators',
      'a=1&&&b=2&',
      [
        ['a', '1'],
        ['b', '2'],
      ],
    ],
    [
      'an empty name',
      'a=1&=2',
      [
        ['a', '1'],
        ['', '2'],
      ],
    ],
  ]
  test.each(cases)('%s', (_, form, entries) => {
    expect(readBody(Buffer.from(form), FORM).entries).toEqual(entries)
  })

  test.each<[name: string, query: string, entries: Entries]>([
    [
      'a query',
      'ShipmentNumber=A%2F1&VinNo=',
      [
        ['ShipmentNumber', 'A/1'],
        ['VinNo', null],
      ],
    ],
    ['a query with its question mark', '?ShipmentNumber=A', [['ShipmentNumber', 'A']]],
    ['an empty query', '', []],
    ['a bare question mark', '?', []],
    ['a query of one word', 'flag', [['flag', null]]],
    ['raw UTF-8 bytes, as Node hands them over', 'a=JosÃ©', [['a', 'José']]],
    ['wide characters', 'a=バ', [['a', 'バ']]],
  ])('%s', (_, query, entries) => {
    expect(readQuery(query)).toMatchObject({ format: 'form', entries })
  })
})

describe('refusals', () => {
  const multipart = '--b0undary\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n'
  const cases: [name: string, body: Buffer, message: RegExp][] = [
    ['nothing', bytes(''), /^The body is empty\. /],
    ['a BOM and blanks', bytes(UTF8_BOM, ' \r\n'), /^The body is empty\. /],
    ['an array', bytes('[{"a":"b=c"}]'), /neither a JSON object/],
    ['a string', bytes('"a=b"'), /neither a JSON object/],
    ['a number', bytes('12'), /neither a JSON object/],
    ['null', bytes('null'), /neither a JSON object/],
    ['true', bytes('true'), /neither a JSON object/],
    ['a word', bytes('hello'), /neither a JSON object/],
    ['XML', bytes('<?xml version="1.0"?><a b="c"/>'), /neither a JSON object/],
    ['prose with = in it', bytes('Fatal error: x=1'), /neither a JSON object/],
    ['a value without a name', bytes('=x'), /neither a JSON object/],
    ['random bytes', bytes([0x1f, 0x8b, 0x08, 0, 0xff]), /neither a JSON object/],
    ['multipart without its end', bytes(multipart), /multipart.*Send a JSON object or name=value pairs\.$/],
    ['JSON that ends too early', bytes('{'), /^The body is not JSON: .* Send a JSON object or name=value pairs\.$/],
    ['JSON with a trailing comma', bytes('{"a":1,}'), /breaks at character 8\./],
    ['JSON with a raw line break in a string', bytes('{"a":"\n"}'), /breaks at character 7\./],
    ['JSON with something after it', bytes('{"a":1} x'), /breaks at character 9\./],
    ['JSON with single quotes', bytes("{'a':1}"), /breaks at character 2\./],
    ['JSON with a leading zero', bytes('{"a":01}'), /breaks at character 7\./],
    ['JSON with NaN', bytes('{"a":NaN}'), /not JSON/],
    ['JSON with a comment', bytes('{/**/}'), /not JSON/],
    ['two objects', bytes('{}{}'), /breaks at character 3\./],
    ['deep nesting that is never closed', bytes(`{"a":${'['.repeat(130_000)}`), /not JSON/],
  ]
  test.each(cases)('%s', (_, body, message) => {
    const refusal = refusalOf(() => readBody(body, FORM))
    expect(refusal.code).toBe('body-unreadable')
    expect(refusal.message).toMatch(message)
  })

  test('a message never quotes the body, and neither does a cause', () => {
    for (const body of ['{"a":secret}', '{"a":"x"secret', '{secret', 'secret', '{"a": at position 77', '[secret]']) {
      const { message, cause } = refusalOf(() => readBody(bytes(body), undefined))
      expect(message).not.toMatch(/secret|77/)
      expect(cause).toBeUndefined()
    }
  })

  test.each(['json', 'form', 'query'])('more than 200 fields in a %s', (format) => {
    const read = (count: number) => {
      const names = Array.from({ length: count }, (_, index) => `f${index}`)
      if (format === 'query') return readQuery(names.map((name) => `${name}=1`).join('&'))
      if (format === 'form') return readBody(bytes(names.map((name) => `${name}=1`).join('&')), undefined)
      return readBody(bytes(`{${names.map((name) => `"${name}":1`).join(',')}}`), undefined)
    }
    expect(read(200).entries).toHaveLength(200)
    expect(refusalOf(() => read(201)).code).toBe('too-many-fields')
  })
})

describe('no body is slow', () => {
  const size = 256 * 1024
  const cases: [name: string, outcome: 'read' | ErrorCode, body: string][] = [
    ['backslashes', 'read', `{"a":"${'\\\\'.repeat(size / 2)}"}`],
    ['escaped quotes', 'read', `{"a":"${'\\"'.repeat(size / 2)}"}`],
    ['blanks inside', 'read', `a=${' '.repeat(size)}x`],
    ['separators', 'read', `a=1${'&'.repeat(size)}`],
    ['escapes', 'read', `a=${'%41'.repeat(size / 3)}`],
    ['a name without an end', 'body-unreadable', 'a'.repeat(size)],
    ['brackets and strings', 'read', `{"a":[${'"",'.repeat(size / 3)}""]}`],
    ['dashes', 'body-unreadable', '-'.repeat(size)],
  ]
  // In quadratic time, one of them would exceed the time-out of the test.
  test.each(cases)('%s', (_, outcome, body) => {
    const read = () => readBody(bytes(body), undefined)
    if (outcome === 'read') expect(read().entries.length).toBeGreaterThan(0)
    else expect(refusalOf(read).code).toBe(outcome)
  })
})

describe('bytes from a connection', () => {
  const LIMIT_BYTES = 4096

  interface Outcome {
    bytes?: Buffer
    code?: ErrorCode
    incoming: IncomingMessage
    only?: Buffer
  }

  let server: Server
  let port: number
  let outcomes: Outcome[] = []
  /** The server's ends of all connections. */
  const sockets = new Set<Socket>()
  const faults: unknown[] = []
  const noteFault = (fault: unknown) => faults.push(fault)

  beforeAll(async () => {
    process.on('uncaughtException', noteFault)
    server = createServer(async (incoming, reply) => {
      const reading = readBytes(incoming, LIMIT_BYTES, unlimitedShare)
      try {
        const read = await reading
        outcomes.push({ bytes: read, incoming })
        reply.end(String(read.length))
      } catch (error) {
        if (!(error instanceof GatewayError)) throw error
        outcomes.push({ code: error.code, incoming })
        reply.writeHead(error.status, { connection: 'close' }).end(error.message)
      }
    })
    server.on('connection', (socket) => sockets.add(socket))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    // A TCP server that listens on a port has an address of this shape.
    port = (server.address() as AddressInfo).port
  })

  afterAll(() => {
    server.closeAllConnections()
    server.close()
    process.off('uncaughtException', noteFault)
    expect(faults).toEqual([])
  })

  function dial(): Socket {
    outcomes = []
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => {})
    return socket
  }

  /** Resolves when the server has read all that a socket wrote, or the socket is closed. */
  async function received(socket: Socket): Promise<void> {
    const isRead = () =>
      [...sockets].some((other) => other.remotePort === socket.localPort && other.bytesRead >= socket.bytesWritten)
    await vi.waitUntil(() => socket.destroyed || (!socket.connecting && isRead()), { interval: 1, timeout: 20_000 })
  }

  async function outcome(): Promise<Outcome> {
    return vi.waitUntil(() => outcomes[0], { timeout: 20_000, interval: 2 })
  }

  async function send(head: string, ...body: (string | Buffer)[]): Promise<{ outcome: Outcome; reply: string }> {
    const socket = dial()
    let reply = ''
    socket.setEncoding('latin1').on('data', (chunk) => {
      reply += chunk
    })
    const closed = once(socket, 'close')
    socket.write(`POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${head}\r\n\r\n`)
    for (const part of body) {
      socket.write(part)
      await received(socket)
    }
    await closed
    return { outcome: await outcome(), reply }
  }

  function sized(body: string | Buffer, encoding = 'identity'): [head: string, body: string | Buffer] {
    return [`Content-Encoding: ${encoding}\r\nContent-Length: ${Buffer.byteLength(body)}`, body]
  }

  const payload = '{"PickupName":"Pat Example"}'
  const readable: [name: string, head: string, ...body: (string | Buffer)[]][] = [
    ['a plain body', `Content-Length: ${payload.length}`, payload],
    ['a body in two writes', `Content-Length: ${payload.length}`, payload.slice(0, 5), payload.slice(5)],
    [
      'a chunked body',
      'Transfer-Encoding: chunked',
      `5\r\n${payload.slice(0, 5)}\r\n`,
      `17\r\n${payload.slice(5)}\r\n0\r\n\r\n`,
    ],
    ['identity', ...sized(payload)],
    ['gzip', ...sized(gzipSync(payload), 'gzip')],
    ['x-gzip, in capitals', ...sized(gzipSync(payload), 'X-GZIP')],
    ['deflate with its wrapper', ...sized(deflateSync(payload), 'deflate')],
    ['deflate with the least compression', ...sized(deflateSync(payload, { level: 0 }), 'deflate')],
    ['deflate without its wrapper', ...sized(deflateRawSync(payload), 'deflate')],
    ['gzip in chunks', 'Content-Encoding: gzip\r\nTransfer-Encoding: chunked', chunked(gzipSync(payload))],
  ]
  test.each(readable)('%s', async (_, head, ...body) => {
    const { outcome } = await send(head, ...body)
    expect(outcome.bytes?.toString()).toBe(payload)
  })

  test('deflate without its wrapper, whose first bytes pass the check of a wrapper', async () => {
    const raw = deflateRawSync('w=1')
    expect(raw.readUInt16BE() % 31).toBe(0)
    const { outcome } = await send(...sized(raw, 'deflate'))
    expect(outcome.bytes?.toString()).toBe('w=1')
  })

  function chunked(body: Buffer): Buffer {
    return Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from('\r\n0\r\n\r\n')])
  }

  test.each([
    ['no body at all', 'X: y'],
    ['a length of zero', 'Content-Length: 0'],
    ['an empty body that claims to be gzip', 'Content-Encoding: gzip\r\nContent-Length: 0'],
  ])('%s is empty', async (_, head) => {
    expect((await send(head)).outcome.bytes).toHaveLength(0)
  })

  const exact = Buffer.alloc(LIMIT_BYTES, 'x')
  const over = Buffer.alloc(LIMIT_BYTES + 1, 'x')
  const bomb = gzipSync(Buffer.alloc(3_000_000))
  test.each([
    ['plain', ...sized(exact)],
    ['inflated', ...sized(gzipSync(exact), 'gzip')],
  ])('a body of exactly the limit passes, %s', async (_, head, body) => {
    expect((await send(head, body)).outcome.bytes).toHaveLength(LIMIT_BYTES)
  })

  const refused: [name: string, code: ErrorCode, head: string, ...body: (string | Buffer)[]][] = [
    ['one byte more than the limit', 'body-too-large', ...sized(over)],
    ['a length over the limit, before any of it arrives', 'body-too-large', 'Content-Length: 99999999'],
    ['chunks over the limit', 'body-too-large', 'Transfer-Encoding: chunked', chunked(over)],
    ['one byte more than the limit, inflated', 'body-too-large', ...sized(gzipSync(over), 'gzip')],
    ['a gzip bomb', 'body-too-large', ...sized(bomb, 'gzip')],
    ['a deflate bomb', 'body-too-large', ...sized(deflateRawSync(Buffer.alloc(3_000_000)), 'deflate')],
    ['gzip that is cut off', 'body-unreadable', ...sized(gzipSync(payload).subarray(0, 20), 'gzip')],
    ['gzip that is none', 'body-unreadable', ...sized(payload, 'gzip')],
    ['deflate that is none', 'body-unreadable', ...sized(payload, 'deflate')],
    ['an encoding that is not known', 'body-unreadable', ...sized(payload, 'br')],
    ['two encodings', 'body-unreadable', ...sized(gzipSync(payload), 'gzip, gzip')],
    ['an encoding named like a property', 'body-unreadable', ...sized(payload, '__proto__')],
  ]
  test.each(refused)('%s is refused, and the reply arrives', async (_, code, head, ...body) => {
    const { outcome, reply } = await send(head, ...body)
    expect(outcome.code).toBe(code)
    expect(reply).toMatch(code === 'body-too-large' ? /^HTTP\/1\.1 413 / : /^HTTP\/1\.1 400 /)
  })

  test('after the limit nothing more is read, and a hang-up is harmless', async () => {
    const slow = createServer().listen(0, '127.0.0.1')
    await once(slow, 'listening')
    // As for the server of all tests.
    const socket = connect((slow.address() as AddressInfo).port, '127.0.0.1')
    socket.write('POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n')
    socket.write(chunked(over).subarray(0, -5))
    // The event's arguments, as Node documents them.
    const [incoming] = (await once(slow, 'request')) as [IncomingMessage]
    await expect(readBytes(incoming, LIMIT_BYTES, unlimitedShare)).rejects.toMatchObject({ code: 'body-too-large' })
    expect(incoming.isPaused()).toBe(true)
    expect(incoming.destroyed).toBe(false)
    for (let sent = 0; sent < 100; sent++) socket.write(`10000\r\n${'x'.repeat(0x10000)}\r\n`)
    // Other callers are read meanwhile.
    for (let others = 0; others < 10; others += 1) {
      const other = connect((slow.address() as AddressInfo).port, '127.0.0.1')
      other.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
      await once(slow, 'request')
      other.destroy()
    }
    expect(incoming.socket.bytesRead).toBeLessThan(1_000_000)
    // Not `once`, which would add a listener for errors.
    const gone = new Promise((resolve) => incoming.on('close', resolve))
    incoming.resume()
    socket.destroy()
    await gone
    slow.close()
  })

  test.each([
    ['less than the length that was announced', 'Content-Length: 50', '{"'],
    ['half a chunk', 'Transfer-Encoding: chunked', '50\r\n{"'],
    ['nothing', 'Content-Length: 50', ''],
  ])('a caller that hangs up after %s rejects', async (_, head, body) => {
    const socket = dial()
    socket.write(`POST / HTTP/1.1\r\nHost: x\r\n${head}\r\n\r\n${body}`)
    await received(socket)
    socket.destroy()
    expect(await outcome()).toMatchObject({ code: 'body-unreadable' })
  })

  test('bytes beyond the announced length are not of this body', async () => {
    const { outcome } = await send('Content-Length: 2', '{}{"a":1}')
    expect(outcome.bytes?.toString()).toBe('{}')
  })

  test('a caller that waits for 100 Continue gets it', async () => {
    const socket = dial()
    socket.write(`POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: ${payload.length}\r\n\r\n`)
    const [interim] = await once(socket, 'data')
    expect(String(interim)).toMatch(/^HTTP\/1\.1 100 Continue/)
    socket.write(payload)
    expect((await outcome()).bytes?.toString()).toBe(payload)
    socket.destroy()
  })

  test('HTTP/1.0 works', async () => {
    const socket = dial()
    socket.write(`POST / HTTP/1.0\r\nContent-Length: ${payload.length}\r\n\r\n${payload}`)
    expect((await outcome()).bytes?.toString()).toBe(payload)
    socket.destroy()
  })

  test('a connection is good for a second call, and a body of one piece is not copied', async () => {
    const seen: Buffer[] = []
    const watch = (incoming: IncomingMessage) => incoming.on('data', (chunk: Buffer) => seen.push(chunk))
    server.on('request', watch)
    const socket = dial()
    for (let call = 0; call < 2; call++) {
      outcomes = []
      socket.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${payload.length}\r\n\r\n${payload}`)
      const { bytes: read } = await outcome()
      expect(read).toBe(seen[call])
    }
    server.off('request', watch)
    socket.destroy()
  })

  test('a body for which there is no room is refused before any of it arrives', async () => {
    const shares = createShares({ ...ROOM, BODIES_LIMIT_BYTES: 4 * payload.length })
    const source = { address: '127.0.1.1', name: '127.0.1.1', isBehindProxy: false, isEverybody: false }
    const full = createServer().listen(0, '127.0.0.1')
    await once(full, 'listening')
    // As for the server of all tests.
    const socket = connect((full.address() as AddressInfo).port, '127.0.0.1')
    socket.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${payload.length + 1}\r\n\r\n`)
    // The event's arguments, as Node documents them.
    const [incoming, reply] = (await once(full, 'request')) as [IncomingMessage, ServerResponse]
    const refused = readBytes(incoming, LIMIT_BYTES, shares.open(source, reply))
    await expect(refused).rejects.toMatchObject({ code: 'too-many-calls' })
    expect(shares.total.bodyBytes).toBe(0)
    socket.destroy()
    full.close()
  })

  test('a body that was already read rejects instead of waiting for ever', async () => {
    await send(...sized(payload))
    const { incoming } = await outcome()
    await expect(readBytes(incoming, LIMIT_BYTES, unlimitedShare)).rejects.toMatchObject({ code: 'body-unreadable' })
  })
})
