import { createReadStream } from 'node:fs'
import { basename, dirname } from 'node:path'
import { PassThrough, pipeline, type Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { createGunzip, createZstdDecompress } from 'node:zlib'
import { errorCodeOf } from '../../language/config/json-file.ts'
import { isStructure, parseJson, scalarText } from '../../language/text/json.ts'

/*
 * Reads recordings of any size as lines, with constant memory. Entries of a HAR and cases that span several lines are turned into lines.
 */

/** A file of a recording, as far as it has been read. */
export interface RecordedFile {
  readonly name: string
  /** Undefined until it is known. */
  format?: string
  /** The reason why the rest of the file was not read. */
  fault?: string
}

/** Reports the progress of reading, and stops it. */
export interface Reading {
  readonly files: RecordedFile[]
  /** The bytes read; a compressed file counts compressed. */
  bytesRead: number
  isStopped: boolean
}

const LINE_FEED = 0x0a
const CHUNK_BYTES = 256 * 1024
/** A longer line is counted, but left out. */
const LINE_LIMIT_BYTES = 16 * 1024 * 1024
/** Takes the place of a line that was left out. */
const LEFT_OUT = '\u0001'
const HEAD_BYTES = 64 * 1024
/** The longest match for the beginning of a list, including blanks. */
const MOST_OF_BEGINNING_BYTES = 1_024

/** A file that is not a recording; the message says why, and how to make one from it. */
export class NotARecording extends Error {
  override readonly name = 'NotARecording'
}

/**
 * Reads files one after the other, as lines with the number of lines before them. If a file is damaged, the lines before the damage count,
 * and the next file follows.
 */
export async function* readLines(names: readonly string[], input: Readable, reading: Reading) {
  for (const name of names) {
    const file: RecordedFile = { name }
    reading.files.push(file)
    const source = name === '-' ? input : createReadStream(name, { highWaterMark: CHUNK_BYTES })
    let before = 0
    try {
      for await (const bytes of wholeLines(plainLines(counted(source, reading), file))) {
        if (reading.isStopped) break
        const lines = bytes.toString().split('\n')
        if (lines.at(-1) === '') lines.pop()
        yield { before, lines }
        before += lines.length
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

/** Explains what is wrong with the rest of a file; throws errors that do not concern the file. */
function faultOf(error: unknown): string {
  const code = errorCodeOf(error)
  if (code === 'Z_BUF_ERROR' || code === 'ERR_STREAM_PREMATURE_CLOSE' || code === CUT_OFF)
    return 'is cut off: the rest is missing'
  if (/^(Z_|ZSTD_|ERR_ZSTD)/.test(code)) return 'is damaged: the rest cannot be decompressed'
  throw error
}

const CUT_OFF = 'CUT_OFF'

async function* counted(source: Readable, reading: Reading): AsyncGenerator<Buffer> {
  for await (const chunk of source as AsyncIterable<Buffer>) {
    if (reading.isStopped) return
    reading.bytesRead += chunk.length
    yield chunk
  }
}

/** Yields the bytes of a file as lines, in the format that its beginning shows. */
async function* plainLines(source: AsyncGenerator<Buffer>, file: RecordedFile): AsyncGenerator<Buffer> {
  let [head, whole] = await opened(source)
  const compression = compressionOf(head)
  if (compression) {
    ;[head, whole] = await opened(compression === 'gzip' ? pipeline(whole, createGunzip(), () => {}) : unzstd(whole))
    if (compressionOf(head)) throw new NotARecording('is compressed twice; decompress it once')
  }
  const format = formatOf(head, file.name)
  file.format = compression ? `${format}, ${compression}` : format
  if (format === 'HAR') yield* documents(whole, /"entries"\s*:\s*\[/)
  else if (format === 'JSON') yield* documents(whole)
  else yield* whole
}

/** Reads the beginning of a stream; `whole` yields all of it, without a byte order mark. */
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

/** Decompresses zstd frame by frame, because Node's stream loses what follows the end of a frame in the same chunk. */
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

/** Other inputs: their beginning, their kind, and the program that converts a file to JSON lines. */
const OTHERS: readonly (readonly [begins: RegExp, kind: string, program: (file: string) => string])[] = [
  [
    /^(\xa1\xb2\xc3\xd4|\xd4\xc3\xb2\xa1|\xa1\xb2\x3c\x4d|\x4d\x3c\xb2\xa1|\n\r\r\n)/,
    'a packet capture',
    (file) =>
      `tshark -r ${file} -Y http.request -T fields -e frame.time_epoch -e http.request.method -e http.request.uri -e http.file_data | jq -Rc 'split("\\t") | {at: .[0], method: .[1], path: .[2], request_hex: .[3]}'`,
  ],
  [/^\s*\[\s*\{/, 'a JSON list', (file) => `jq -c '.[]' ${file}`],
  [
    /^[A-Z]{3,8} \S+ HTTP\/\d\.\d\r?\n/,
    'a raw HTTP request',
    (file) =>
      `jq -Rsc 'gsub("\\r"; "") | split("\\n\\n") | (.[0] | split(" ")) as $line | {method: $line[0], path: $line[1], request: (.[1:] | join("\\n\\n"))}' ${file}`,
  ],
  [
    /^\S+ .*\[[^\]]{1,40}\] "[A-Z]+ \S+ HTTP/,
    'an access log',
    (file) =>
      `jq -Rc 'split("\\"") | (.[1] | split(" ")) as $line | {source: (.[0] | split(" ")[0]), method: $line[0], path: $line[1]}' ${file}`,
  ],
  [
    /^\s*\{.*"(request_uri|request_method|uri|url)"\s*:/,
    'a JSON log without paths',
    (file) =>
      `jq -c '{at: .time_iso8601, source: .remote_addr, method: .request_method, path: .request_uri, request: .request_body}' ${file}`,
  ],
]

/** The beginning of a HAR with other members before its `log`, such as a comment. A line of another log may have a `log`, too. */
const HAR_WITH_MORE =
  /^\s*\{(?:\s*"(?:[^"\\]|\\.)*"\s*:\s*(?:"(?:[^"\\]|\\.)*"|[-+.\w]+|\{[^{}]*\}|\[[^[\]]*\])\s*,)+\s*"log"\s*:\s*\{\s*"(?:version|creator|browser|pages|entries)"/

/** Recognizes a recording by its beginning. */
function formatOf(head: Buffer, name: string): 'HAR' | 'JSON lines' | 'JSON' {
  if (head.length === 0) throw new NotARecording('is empty')
  const text = head.toString('latin1').replace(/^\xef\xbb\xbf/, '')
  if (/^\s*\{\s*"log"\s*:\s*\{/.test(text) || HAR_WITH_MORE.test(text)) return 'HAR'
  const [first = ''] = text.trimStart().split('\n', 1)
  if (first.startsWith('{') && /"(path|action|request)"\s*:/.test(first)) return 'JSON lines'
  const other = OTHERS.find(([begins]) => begins.test(text))
  if (other) {
    const [, kind, program] = other
    throw new NotARecording(
      `is ${kind}; this command converts it to JSON lines: ${program(/^[\w./-]+$/.test(name) ? name : 'FILE')}`,
    )
  }
  if (first.trim() === '{') return 'JSON'
  // The first lines of a truncated file are counted as damaged, like any other.
  if (/^[ \t]*\{.*"(path|action|request)"\s*:/m.test(text)) return 'JSON lines'
  throw new NotARecording('is not a recording: it is neither JSON lines nor HAR')
}

/**
 * Yields the documents of a JSON text as lines, only those of one list if `list` matches its beginning. A line end between two tokens is a
 * blank, and a text contains none.
 */
async function* documents(source: AsyncGenerator<Buffer>, list?: RegExp): AsyncGenerator<Buffer> {
  let before = Buffer.alloc(0)
  let [isInside, depth, isText, isEscaped] = [list === undefined, 0, false, false]
  for await (let chunk of source) {
    if (!isInside && list) {
      // A match can only begin near the end of the previous bytes; keeping all of them would take quadratic time.
      before = Buffer.concat([before.subarray(-MOST_OF_BEGINNING_BYTES), chunk])
      const found = list.exec(before.toString('latin1'))
      if (!found) continue
      chunk = before.subarray(found.index + found[0].length)
      isInside = true
    }
    const out = Buffer.allocUnsafe(chunk.length * 2)
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
        out[length++] = byte
        if (depth === 0) out[length++] = LINE_FEED
        continue
      }
      if (depth > 0 && byte !== LINE_FEED && byte !== 0x0d) out[length++] = byte
    }
    yield out.subarray(0, length)
  }
  if (!isInside) throw new NotARecording('is a HAR file without entries')
  if (list || depth > 0) throw Object.assign(new Error('the JSON ends too early'), { code: CUT_OFF })
}

/** Splits bytes at line ends. */
async function* wholeLines(source: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  let held: Buffer[] = []
  let heldBytes = 0
  let isTooLong = false
  let fault: unknown
  try {
    for await (const chunk of source) {
      const end = chunk.lastIndexOf(LINE_FEED) + 1
      if (end === 0) {
        heldBytes += chunk.length
        isTooLong ||= heldBytes > LINE_LIMIT_BYTES
        if (isTooLong) held = []
        else held.push(chunk)
        continue
      }
      if (isTooLong) held = [Buffer.from(LEFT_OUT)]
      yield Buffer.concat([...held, chunk.subarray(isTooLong ? chunk.indexOf(LINE_FEED) : 0, end)])
      isTooLong = false
      held = [chunk.subarray(end)]
      heldBytes = chunk.length - end
    }
  } catch (error) {
    fault = error
  }
  // The lines before a fault count.
  if (heldBytes > 0) yield isTooLong ? Buffer.from(LEFT_OUT) : Buffer.concat(held)
  if (fault !== undefined) throw fault
}

/** A recorded call. */
export type RecordedCall = NonNullable<ReturnType<typeof recordOf>>

/** A number that `JSON.parse` would change, such as `2.14555E+09`. */
const ODD_NUMBER = /[:[,]\s*-?[\d.]*(?:\d[eE]|\d{16})/

/** Reads a line of a recording, or a case; returns the reason if that fails. */
export function readRecord(line: string, file = ''): RecordedCall | string {
  if (line === LEFT_OUT) return 'is longer than 16 MiB'
  try {
    // Prices and long numbers keep their digits; other lines take half the time.
    const value = line.includes('"service"') || ODD_NUMBER.test(line) ? parseJson(line) : JSON.parse(line)
    return recordOf(value, file) ?? 'has neither a path nor an action'
  } catch {
    return 'is not JSON'
  }
}

type Members = Readonly<Record<string, unknown>>

/** Returns the members of an object; none for anything else. */
// The structure has members of any name, which are checked where they are used.
const membersOf = (value: unknown): Members => (isStructure(value) ? (value as Members) : {})
const textOf = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined)
const jsonText = (value: unknown): string | undefined =>
  value === undefined || value === null ? undefined : typeof value === 'string' ? value : JSON.stringify(value)

/** Reads a call as `docs/writing-a-mapping.md` describes it, or an entry of a HAR; undefined if it is neither. */
export function recordOf(value: unknown, file: string) {
  const given = membersOf(value)
  const isOwn = given['path'] !== undefined || given['action'] !== undefined
  const record = !isOwn && typeof membersOf(given['request'])['url'] === 'string' ? ofHar(given) : given
  const path = textOf(record['path'])
  const url = path?.startsWith('/') === false ? URL.parse(path) : undefined
  const target = url ? url.pathname + url.search : path
  const isCase = record['request'] !== undefined || record['service'] !== undefined
  const action = textOf(record['action']) ?? (isCase ? basename(dirname(file)) : undefined)
  if (target === undefined ? action === undefined : !target.startsWith('/')) return undefined
  const headers = lowerCased(membersOf(record['headers']))
  const hex = textOf(record['request_hex'])
  const text = jsonText(record['request'])
  return {
    /** In milliseconds since 1970. */
    at: timeOf(record['at']),
    /** The method of the path by default. */
    method: textOf(record['method']),
    /** The path with its query; that of the action by default. */
    target,
    action,
    contentType: textOf(headers['content-type']),
    /** The body, or the fields of a query; undefined if not recorded. */
    request: hex !== undefined ? Buffer.from(hex, 'hex') : text === undefined ? undefined : Buffer.from(text),
    /** The Basic credential, or something else that names the caller. */
    authorization: textOf(headers['authorization']),
    client: textOf(record['client']),
    source: textOf(record['source']),
    /** The version-1 reply; undefined if not recorded. */
    replies: jsonText(record['replies']),
    /** The id of a shipment in the reply's headers. */
    shipmentId: textOf(record['shipment_id']),
    /** The service's version-2 reply. */
    service: record['service'],
  }
}

/** Returns headers with lower-case names. */
const lowerCased = (headers: Members): Members =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))

/** Converts an entry of a HAR to a record. */
function ofHar({ startedDateTime: at, request, response }: Members): Members {
  const { method = 'GET', url, headers, postData, bodySize } = membersOf(request)
  const { mimeType, text, params, encoding: bodyEncoding } = membersOf(postData)
  const { headers: answered, content } = membersOf(response)
  const { text: reply, encoding } = membersOf(content)
  const pairs = (list: unknown): [string, string][] =>
    Array.isArray(list) ? list.map((one) => [String(one?.name), String(one?.value ?? '')]) : []
  const form = pairs(params)
  return {
    at,
    method,
    path: url,
    headers: { ...lowerCased(Object.fromEntries(pairs(headers))), ...(mimeType ? { 'content-type': mimeType } : {}) },
    // Some programs write any body so.
    ...(bodyEncoding === 'base64' && { request_hex: Buffer.from(String(text), 'base64').toString('hex') }),
    // An empty body is a body, too.
    request: textOf(text) ?? (form.length > 0 ? String(new URLSearchParams(form)) : bodySize === 0 ? '' : undefined),
    replies: encoding === 'base64' ? Buffer.from(String(reply), 'base64').toString() : textOf(reply),
    shipment_id: lowerCased(Object.fromEntries(pairs(answered)))['transload-shipment-id'],
  }
}

/** Seconds since 1970 stay below this until the year 5138. */
const MOST_SECONDS = 1e11

/** Reads a time: ISO 8601, or seconds, milliseconds, microseconds or nanoseconds since 1970. */
function timeOf(value: unknown): number | undefined {
  const text = scalarText(value) ?? ''
  let seconds = /^\d{1,19}(\.\d+)?$/.test(text) ? Number(text) : Date.parse(text) / 1000
  while (seconds >= MOST_SECONDS) seconds /= 1000
  return Number.isNaN(seconds) ? undefined : Math.round(seconds * 1000)
}
