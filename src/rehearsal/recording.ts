import { createReadStream, readdirSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { PassThrough, pipeline, type Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { createGunzip, createZstdDecompress, unzipSync } from 'node:zlib'
import { createGrowingBuffer, freePart } from '../body/bytes.ts'
import type { Catalog } from '../mapping/catalog.ts'
import { isStructure } from '../text/json.ts'

/*
 * Reads recordings of every format as blocks of whole lines, whatever their size: memory stays flat. Entries of a HAR and raw
 * requests become lines of JSON on the way.
 */

/** Whole lines of one file. */
export interface Block {
  /** Counts the blocks of a run. */
  readonly no: number
  readonly file: number
  readonly bytes: Uint8Array<ArrayBuffer>
}

/** A file of a recording, as far as it was read. */
export interface RecordedFile {
  readonly name: string
  /** Undefined until it is known. */
  format?: string
  /** Why the rest of the file, or all of it, was not read. */
  fault?: string
}

/** A recorded call, from any format. */
export interface Recorded {
  /** In milliseconds since 1970. */
  readonly at: number | undefined
  readonly method: string
  /** The path with its query. */
  readonly target: string
  /** Such as `HTTP/1.0`; empty if it was not recorded. */
  readonly version: string
  readonly contentType: string | undefined
  /** Undefined if it was not recorded. */
  readonly body: Buffer | undefined
  /** True if the body was recorded as text, whose charset is past. */
  readonly isText: boolean
  /** The size of the body, or of the request, where only that was recorded. */
  readonly bytes: number | undefined
  /** The Basic credential, or whatever else names the caller. */
  readonly authorization: string | undefined
  readonly client: string | undefined
  readonly source: string | undefined
  readonly idempotencyKey: string | undefined
  readonly replyBytes: number | undefined
  /** The version-1 reply; undefined if it was not recorded. */
  readonly reply: string | undefined
  /** The id of a shipment in the headers of the reply. */
  readonly shipmentId: string | undefined
  /** The version-2 reply of the service. */
  readonly service: unknown
}

const LINE_FEED = 0x0a
const BLOCK_BYTES = 256 * 1024
/** A longer line is counted, and left out. */
const LINE_LIMIT_BYTES = 16 * 1024 * 1024
/** Stands for a line that was left out. */
const LEFT_OUT = Buffer.from('\u0001\n')
const HEAD_BYTES = 64 * 1024

/** A file that is no recording; the message says why, and what to do. */
class NotARecording extends Error {}

/** Lists the files of operands; a folder stands for all files below it. */
export function listFiles(operands: readonly string[]): readonly string[] {
  return operands.flatMap((operand) => {
    if (operand === '-' || !statSync(operand).isDirectory()) return [operand]
    return readdirSync(operand, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .sort()
  })
}

/** Tells how much was read, and stops. */
export interface Reading {
  readonly files: RecordedFile[]
  /** The bytes read from files and from standard input, compressed where they are. */
  bytesRead: number
  isStopped: boolean
}

/** Reads files one after the other. A file that cannot be read has a fault, and the next one follows. */
export async function* readBlocks(
  names: readonly string[],
  input: Readable,
  catalog: Catalog,
  reading: Reading,
): AsyncGenerator<Block> {
  let no = 0
  for (const name of names) {
    const file: RecordedFile = { name }
    reading.files.push(file)
    const source = name === '-' ? input : createReadStream(name, { highWaterMark: BLOCK_BYTES })
    const counted = counting(source, reading)
    try {
      for await (const bytes of blocksOf(linesOf(counted, file, catalog))) {
        if (reading.isStopped) break
        yield { no: no++, file: reading.files.length - 1, bytes }
      }
    } catch (error) {
      const fault = faultOf(error)
      if (!reading.isStopped) file.fault = fault
    } finally {
      if (name !== '-') source.destroy()
    }
    if (reading.isStopped) return
  }
}

/** Says what is wrong with a file; other errors are those of the program. */
function faultOf(error: unknown): string {
  if (error instanceof NotARecording) return error.message
  if (!(error instanceof Error && 'code' in error)) throw error
  const code = String(error.code)
  if (code === 'Z_BUF_ERROR' || code === 'ERR_STREAM_PREMATURE_CLOSE') return 'is cut off: the rest is missing'
  if (/^(Z_|ZSTD_|ERR_ZSTD)/.test(code)) return 'is damaged: the rest cannot be decompressed'
  return `cannot be read (${code})`
}

async function* counting(source: Readable, reading: Reading): AsyncGenerator<Buffer> {
  for await (const chunk of source as AsyncIterable<Buffer>) {
    if (reading.isStopped) return
    reading.bytesRead += chunk.length
    yield chunk
  }
}

/** Gives the bytes of a file as lines of one kind, by what its beginning is. */
async function* linesOf(source: AsyncGenerator<Buffer>, file: RecordedFile, catalog: Catalog): AsyncGenerator<Buffer> {
  let [head, whole] = await opened(source)
  const compression = compressionOf(head)
  if (compression) {
    ;[head, whole] = await opened(compression === 'gzip' ? pipeline(whole, createGunzip(), () => {}) : unzstd(whole))
    if (compressionOf(head)) throw new NotARecording('is compressed twice; decompress it once')
  }
  const format = formatOf(head, file.name)
  file.format = compression ? `${format}, ${compression}` : format
  if (format === 'HAR') yield* entriesOf(whole)
  else if (format === 'raw request' || format === 'body') {
    const bytes = createGrowingBuffer()
    for await (const chunk of whole) {
      bytes.append(chunk)
      if (bytes.lengthBytes() > LINE_LIMIT_BYTES) throw new NotARecording('is one request of more than 16 MiB')
    }
    yield Buffer.from(`${JSON.stringify(rawRecord(bytes.take(), format, file.name, catalog))}\n`)
  } else yield* whole
}

/** Reads the beginning of a stream; the whole follows without a byte order mark. */
async function opened(source: AsyncIterable<Buffer>): Promise<[head: Buffer, whole: AsyncGenerator<Buffer>]> {
  const rest = source[Symbol.asyncIterator]()
  let head = Buffer.alloc(0)
  while (head.length < HEAD_BYTES) {
    const { done, value } = await rest.next()
    if (done) break
    head = Buffer.concat([head, value])
  }
  async function* whole(): AsyncGenerator<Buffer> {
    yield head[0] === 0xef && head[1] === 0xbb ? head.subarray(3) : head
    for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value
  }
  return [head, whole()]
}

/** Decompresses zstd frame by frame: Node's stream loses what follows the end of a frame in the same chunk. */
function unzstd(source: AsyncGenerator<Buffer>): AsyncIterable<Buffer> {
  const out = new PassThrough()
  const pump = async () => {
    let unpack: ReturnType<typeof createZstdDecompress> | undefined
    let given = 0
    for await (const chunk of source) {
      for (let left = chunk; left.length > 0; ) {
        if (!unpack) {
          given = 0
          unpack = createZstdDecompress().on('error', (error) => out.destroy(error))
          unpack.pipe(out, { end: false })
        }
        const frame = unpack
        await new Promise<void>((resolve, reject) => frame.write(left, (error) => (error ? reject(error) : resolve())))
        given += left.length
        const over = given - frame.bytesWritten
        left = left.subarray(left.length - over)
        if (over === 0) continue
        await finished(frame.end(), { writable: false })
        unpack = undefined
      }
    }
    if (unpack) await finished(unpack.end(), { writable: false })
    out.end()
  }
  pump().catch((error: unknown) => out.destroy(error instanceof Error ? error : undefined))
  return out
}

function compressionOf(head: Buffer): 'gzip' | 'zstd' | undefined {
  if (head[0] === 0x1f && head[1] === 0x8b) return 'gzip'
  return head.length >= 4 && head.readUInt32LE() === 0xfd2fb528 ? 'zstd' : undefined
}

const CAPTURES = new Set([0xa1b2c3d4, 0xd4c3b2a1, 0xa1b23c4d, 0x4d3cb2a1, 0x0a0d0d0a])
const REQUEST_LINE = /^[A-Z]{3,8} \S+ HTTP\/\d\.\d\r?\n/
/** The common and the combined format of nginx and Apache, also with a virtual host before it. */
const LOG_LINE =
  /^(?:\S+:\d+ )?(\S+) \S+ (\S+) \[([^\]]{1,40})\] "((?:[^"\\]|\\.)*)" (\d{3}) (\d+|-)(?: "(?:[^"\\]|\\.)*" "(?:[^"\\]|\\.)*")?/

/** Recognizes a format by the beginning of a file. */
function formatOf(head: Buffer, name: string): 'HAR' | 'JSON lines' | 'access log' | 'raw request' | 'body' {
  if (head.length === 0) throw new NotARecording('is empty')
  if (head.length >= 4 && CAPTURES.has(head.readUInt32BE())) {
    throw new NotARecording(`is a capture of packets; make JSON lines of it first: ${captureCommand(name)}`)
  }
  const text = head.toString('utf8').replace(/^\ufeff/, '')
  if (REQUEST_LINE.test(text)) return 'raw request'
  if (/^\s*\{\s*"log"\s*:\s*\{/.test(text)) return 'HAR'
  const lines = text.trimStart().split('\n', MOST_CUT_LINES)
  const [first = ''] = lines
  if (first.startsWith('{') ? !isRecord(first) : /^[\w.%-]+=|^--\S+\s*$/.test(first)) return 'body'
  // The first line of a log may be cut off.
  for (const line of lines) {
    if (LOG_LINE.test(line)) return 'access log'
    if (line.startsWith('{') && isRecord(line)) return 'JSON lines'
  }
  throw new NotARecording('is no recording: no HAR, JSON lines, access log or request')
}

const MOST_CUT_LINES = 20

/** Makes the lines of a capture; tshark prints bodies as hexadecimal digits. */
const captureCommand = (name: string): string =>
  `tshark -r ${name} -Y http.request -T fields -e frame.time_epoch -e http.request.method -e http.request.uri -e http.file_data | jq -Rc 'split("\\t") | {at: .[0], method: .[1], path: .[2], body_hex: .[3]}'`

function isRecord(line: string): boolean {
  try {
    return requestOf(JSON.parse(line)) !== undefined
  } catch {
    return /"(path|request|request_uri|uri|url)"\s*:/.test(line)
  }
}

/** Gives the entries of a HAR as lines: a line end between two of its tokens is a blank, and none is inside a text. */
async function* entriesOf(source: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  const ENTRIES = /"entries"\s*:\s*\[/
  let before = Buffer.alloc(0)
  let [isInside, depth, isText, isEscaped] = [false, 0, false, false]
  for await (let chunk of source) {
    if (!isInside) {
      before = Buffer.concat([before, chunk])
      const found = ENTRIES.exec(before.toString('latin1'))
      if (!found) {
        if (before.length > LINE_LIMIT_BYTES) throw new NotARecording('is a HAR without entries')
        continue
      }
      chunk = before.subarray(found.index + found[0].length)
      isInside = true
    }
    const out = Buffer.from(chunk)
    let length = 0
    for (const byte of chunk) {
      if (isText) {
        if (isEscaped) isEscaped = false
        else if (byte === 0x5c) isEscaped = true
        else if (byte === 0x22) isText = false
      } else if (byte === 0x22) isText = true
      else if (byte === 0x7b || byte === 0x5b) depth += 1
      else if (byte === 0x7d || byte === 0x5d) {
        depth -= 1
        if (depth < 0) {
          yield out.subarray(0, length)
          return
        }
      }
      if (depth === 0 && byte === 0x2c && !isText) out[length++] = LINE_FEED
      else if (byte !== LINE_FEED && byte !== 0x0d) out[length++] = byte
    }
    yield out.subarray(0, length)
  }
  throw new NotARecording(isInside ? 'is cut off: the rest is missing' : 'is a HAR without entries')
}

/** Cuts bytes into blocks at line ends. */
async function* blocksOf(source: AsyncGenerator<Buffer>): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const held = createGrowingBuffer({ mostBytes: LINE_LIMIT_BYTES + BLOCK_BYTES })
  /** The bytes that are held of whole lines. */
  let whole = 0
  let isSkipping = false
  let fault: unknown
  try {
    for await (let chunk of source) {
      if (isSkipping) {
        const end = chunk.indexOf(LINE_FEED)
        if (end === -1) {
          freePart(chunk)
          continue
        }
        isSkipping = false
        chunk = chunk.subarray(end + 1)
      }
      const end = chunk.lastIndexOf(LINE_FEED) + 1
      if (end > 0) whole = held.lengthBytes() + end
      held.append(chunk)
      if (held.lengthBytes() < BLOCK_BYTES) continue
      if (whole > 0) {
        const bytes = held.take()
        const rest = Buffer.from(bytes.subarray(whole))
        yield Uint8Array.from(bytes.subarray(0, whole))
        freePart(bytes)
        if (rest.length > 0) held.append(rest)
        whole = 0
      } else if (held.lengthBytes() > LINE_LIMIT_BYTES) {
        freePart(held.take())
        yield Uint8Array.from(LEFT_OUT)
        isSkipping = true
      }
    }
  } catch (error) {
    fault = error
  }
  // The lines before a fault count.
  if (held.lengthBytes() > 0) yield Uint8Array.from(held.take())
  if (fault !== undefined) throw fault
}

/** Makes a record of a request in a file of its own; a body alone belongs to the action that its folder or name says. */
function rawRecord(bytes: Buffer, format: 'raw request' | 'body', name: string, catalog: Catalog): object {
  if (format === 'body')
    return { method: 'POST', path: pathNamed(name, bytes, catalog), body_base64: bytes.toString('base64') }
  const text = bytes.toString('latin1')
  const [ending = ''] = /\r?\n\r?\n/.exec(text) ?? []
  const end = ending === '' ? text.length : text.indexOf(ending)
  const [request = '', ...lines] = text.slice(0, end).split(/\r?\n/)
  const headers = Object.fromEntries(
    lines.map((line) => {
      const [name = '', ...value] = line.split(':')
      return [name.trim().toLowerCase(), value.join(':').trim()]
    }),
  )
  const sent = bytes.subarray(end + ending.length)
  const body = /chunked/i.test(headers['transfer-encoding'] ?? '') ? unchunked(sent) : sent
  return { request, headers, body_base64: body.toString('base64') }
}

function unchunked(bytes: Buffer): Buffer {
  const parts: Buffer[] = []
  for (let at = 0; at < bytes.length; ) {
    const end = bytes.indexOf(LINE_FEED, at)
    const size = Number.parseInt(bytes.toString('latin1', at, end), 16)
    if (end === -1 || !(size > 0)) break
    parts.push(bytes.subarray(end + 1, end + 1 + size))
    at = bytes.indexOf(LINE_FEED, end + size) + 1
    if (at === 0) break
  }
  return Buffer.concat(parts)
}

/** Finds the path of a body: by the action that its folder or file is named after, else by its fields. */
function pathNamed(file: string, bytes: Buffer, { actions, endpoints, isVersion1 }: Catalog): string {
  const names = [basename(dirname(file)), basename(file)]
  const named = [...actions.values()].find(({ action }) =>
    names.some(
      (name) => name === action.name || name.startsWith(`${action.name}-`) || name.startsWith(`${action.name}.`),
    ),
  )
  const own = named?.action.legacy.paths[0]
  if (own !== undefined) return own
  const sent = [...bytes.toString('utf8').matchAll(/(?:^|[{,&"\s])([A-Z]\w{2,40}\.?)"?\s*[:=]/g)].flatMap(
    ([, name]) => name ?? [],
  )
  const fits = [...endpoints.values()].map((endpoint) => ({
    path: endpoint.path,
    known: sent.filter((name) => endpoint.actions[0]?.fields.slotOf(name) !== undefined).length,
  }))
  const [best] = fits.sort((one, other) => other.known - one.known)
  if (best && best.known > 0 && sent.some(isVersion1)) return best.path
  throw new NotARecording('is a body that no action knows; put it into a folder named after its action')
}

/** Reads a line of a recording; returns why it cannot. */
export function readRecord(line: string): Recorded | string {
  let value: Members
  if (line.charCodeAt(0) === OPEN_BRACE) {
    try {
      value = JSON.parse(line)
    } catch {
      return 'is not JSON'
    }
  } else {
    if (line === '\u0001') return 'is longer than 16 MiB'
    const [found, source, client, at, request, , bytes] = LOG_LINE.exec(line) ?? []
    if (found === undefined) return 'is no line of an access log, and not JSON'
    value = { at, request, source, client, bytes: bytes === '-' ? 0 : bytes }
  }
  return requestOf(value) ?? 'has no path of a request'
}

const OPEN_BRACE = 0x7b

type Members = Readonly<Record<string, unknown>>

/** Returns the members of an object; none of anything else. */
// The structure has members of any name, which are checked where they are used.
const membersOf = (value: unknown): Members => (isStructure(value) ? (value as Members) : {})

/** The names that formats of logs have for one thing. */
const ALIASES = {
  at: ['at', 'time', 'timestamp', '@timestamp', 'time_iso8601', 'time_local', 'msec', 'startedDateTime'],
  path: ['path', 'request_uri', 'uri', 'url', 'target'],
  method: ['method', 'request_method'],
  version: ['version', 'http_version', 'server_protocol', 'protocol'],
  query: ['query', 'args', 'query_string'],
  body: ['body', 'request_body'],
  contentType: ['content_type', 'http_content_type'],
  client: ['client', 'remote_user', 'user'],
  source: ['source', 'remote_addr', 'client_ip', 'remote_ip', 'ip'],
  bytes: ['request_length', 'bytes_in'],
  replyBytes: ['body_bytes_sent', 'bytes_sent', 'bytes', 'size'],
} as const

const firstOf = (record: Members, names: readonly string[]): unknown => {
  for (const name of names) if (record[name] !== undefined && record[name] !== '-') return record[name]
  return undefined
}
const textOf = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined)

/** Reads the request of a JSON line: the schema of `RECORD_FILE`, an entry of a HAR, or a log; undefined if there is none. */
function requestOf(value: Members): Recorded | undefined {
  const record = typeof membersOf(value['request'])['url'] === 'string' ? ofHar(value) : value
  const line = textOf(record['request'])?.split(' ')
  const path = textOf(firstOf(record, ALIASES.path)) ?? line?.[1] ?? ''
  const url = path.startsWith('/') ? undefined : URL.parse(path)
  const target = url ? url.pathname + url.search : path
  if (!target.startsWith('/')) return undefined
  const query = target.includes('?') ? undefined : textOf(firstOf(record, ALIASES.query))
  const headers = lowerCased(membersOf(record['headers']))
  return {
    at: timeOf(firstOf(record, ALIASES.at)),
    method: textOf(firstOf(record, ALIASES.method)) ?? line?.[0] ?? 'POST',
    target: query === undefined ? target : `${target}?${query.replace(/^\?/, '')}`,
    version: textOf(firstOf(record, ALIASES.version)) ?? line?.[2] ?? '',
    contentType: textOf(headers['content-type']) ?? textOf(firstOf(record, ALIASES.contentType)),
    body: bodyOf(record, headers),
    isText: record['body_base64'] === undefined && record['body_hex'] === undefined,
    bytes: numberOf(firstOf(record, ALIASES.bytes)),
    authorization: textOf(headers['authorization']),
    client: textOf(firstOf(record, ALIASES.client)),
    source: textOf(firstOf(record, ALIASES.source)),
    idempotencyKey: textOf(headers['idempotency-key']),
    replyBytes: numberOf(firstOf(record, ALIASES.replyBytes)),
    reply: jsonText(record['reply'] ?? record['response_body']),
    shipmentId: textOf(record['shipment_id']),
    service: record['service'],
  }
}

const numberOf = (value: unknown): number | undefined =>
  Number.isFinite(Number(value)) && value !== undefined ? Number(value) : undefined
const jsonText = (value: unknown): string | undefined =>
  value === undefined || value === null ? undefined : typeof value === 'string' ? value : JSON.stringify(value)

/** Returns headers by their names in lower case. */
function lowerCased(headers: Members): Members {
  const lower: Record<string, unknown> = {}
  for (const name in headers) lower[name.toLowerCase()] = headers[name]
  return lower
}

function bodyOf(record: Members, headers: Members): Buffer | undefined {
  const [base64, hex] = [textOf(record['body_base64']), textOf(record['body_hex'])]
  if (base64 === undefined && hex === undefined) {
    const text = jsonText(firstOf(record, ALIASES.body))
    return text === undefined ? undefined : Buffer.from(text)
  }
  const bytes = base64 === undefined ? Buffer.from(hex ?? '', 'hex') : Buffer.from(base64, 'base64')
  if (!/gzip|deflate/i.test(String(headers['content-encoding']))) return bytes
  try {
    return unzipSync(bytes, { maxOutputLength: LINE_LIMIT_BYTES })
  } catch {
    // It stays as it is, and cannot be read then.
    return bytes
  }
}

/** Makes a record of an entry of a HAR. */
function ofHar({ startedDateTime: at, request, response }: Members): Members {
  const { method = 'GET', url, httpVersion, headers, postData, bodySize } = membersOf(request)
  const { mimeType, text, params } = membersOf(postData)
  const { headers: answered, content } = membersOf(response)
  const { text: reply, encoding } = membersOf(content)
  const pairs = (list: unknown): [string, string][] =>
    Array.isArray(list) ? list.map((one) => [String(one?.name), String(one?.value ?? '')]) : []
  const form = pairs(params)
  return {
    at,
    method,
    path: url,
    version: String(httpVersion).toUpperCase(),
    headers: Object.fromEntries(pairs(headers)),
    content_type: mimeType,
    // An empty body is one, too.
    body: textOf(text) ?? (form.length > 0 ? String(new URLSearchParams(form)) : bodySize === 0 ? '' : undefined),
    reply: encoding === 'base64' ? Buffer.from(String(reply), 'base64').toString() : textOf(reply),
    shipment_id: lowerCased(Object.fromEntries(pairs(answered)))['transload-shipment-id'],
  }
}

const MONTHS = 'JanFebMarAprMayJunJulAugSepOctNovDec'
const LOG_TIME = /^(\d\d)\/(\w{3})\/(\d{4}):(\d\d:\d\d:\d\d) ([+-]\d\d)(\d\d)$/
/** Seconds since 1970 are fewer until the year 5138. */
const LEAST_MS = 1e11

/** Reads a time: ISO 8601, that of an access log, or seconds or milliseconds since 1970. */
function timeOf(value: unknown): number | undefined {
  const number = typeof value === 'string' && /^\d+(\.\d+)?$/.test(value) ? Number(value) : value
  if (typeof number === 'number') return number < LEAST_MS ? number * 1000 : number
  if (typeof value !== 'string') return undefined
  const [, day, month = '', year, clock, hours, minutes] = LOG_TIME.exec(value) ?? []
  const at = day
    ? Date.parse(`${year}-${String(MONTHS.indexOf(month) / 3 + 1).padStart(2, '0')}-${day}T${clock}${hours}:${minutes}`)
    : Date.parse(value)
  return Number.isNaN(at) ? undefined : at
}
