import { createHash, randomBytes } from 'node:crypto'
import { closeSync, constants, createWriteStream, fstatSync, openSync, renameSync, statSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { dirname } from 'node:path'
import type { Writable } from 'node:stream'
import { tables } from '../../mappings/index.ts'
import type { Config } from '../language/config/config.ts'
import type { Catalog } from '../language/mapping/catalog.ts'
import { type FlatBody, looseName, VALUE_LIMIT_BYTES } from '../language/mapping/fields.ts'
import { fieldsOf } from '../language/mapping/row-parts.ts'
import { parseJson } from '../language/text/json.ts'
import { isNotKnown, isShortened, isUuid } from '../language/text/service-text.ts'
import type { Call } from './call.ts'
import type { Logger } from './log.ts'
import { makeFolder } from './make-folder.ts'

/** The record of a call that is under way. */
export interface Recording {
  body: FlatBody | undefined
  reply: string | Buffer | undefined
}

/** Records a share of the version-1 calls as lines that `transload rehearse` reads. */
export type CallRecorder = NonNullable<ReturnType<typeof openRecorder>>

/** A full file becomes FILE.1 and replaces the previous one. */
const FILE_LIMIT_BYTES = 128 * 1024 * 1024
/** The most bytes that may wait for the disk; beyond it, calls are not recorded. */
const WAITING_LIMIT_BYTES = 8 * 1024 * 1024
/** How long after an error, such as that of a full disk, the file is opened again. */
const RETRY_MS = 10_000
/** How long a pipe may take for the last lines. */
const CLOSE_LIMIT_MS = 1_000
/** Even masked values tell something about callers. */
const OWNER_ONLY = 0o600

/** The sources of the values that a mask leaves unchanged. */
interface KeptBy {
  readonly catalog: Catalog
  readonly LOOKUPS_FILE?: Config['LOOKUPS_FILE']
}

interface RecorderOptions extends KeptBy {
  readonly RECORD_FILE?: Config['RECORD_FILE']
  readonly RECORD_VALUES: Config['RECORD_VALUES']
  readonly log: { readonly warn: Logger['warn'] }
  /** @default FILE_LIMIT_BYTES */
  readonly limitBytes?: number
}

/** Opens the recorder; undefined if nothing is recorded. */
export function openRecorder({ RECORD_FILE, RECORD_VALUES, ...options }: RecorderOptions) {
  if (RECORD_FILE === undefined) return undefined
  const path = RECORD_FILE
  const { log, limitBytes = FILE_LIMIT_BYTES } = options
  const shown = keptFields(options)
  let mask: Mask
  let file: Writable | undefined
  let bytes = 0
  let openedAt = 0
  open()

  /** Begins a file with its own key; an existing file keeps its lines under another name. */
  function open(): void {
    file = undefined
    bytes = 0
    mask = RECORD_VALUES === 'plain' ? String : createMask(shown)
    append(() => {
      makeFolder(dirname(path))
      // A device stays where it is.
      if (statSync(path, { throwIfNoEntry: false })?.isFile()) renameSync(path, `${path}.1`)
    })
  }

  function append(prepare = () => {}): void {
    openedAt = performance.now()
    try {
      prepare()
      // Opened at once, because the next rotation has to find it.
      file = openToAppend(path)
      file.on('error', (err) => log.warn({ err }, 'RECORD_FILE cannot be written'))
    } catch (err) {
      log.warn({ err }, 'RECORD_FILE cannot be opened')
    }
  }

  function openAgain(): void {
    if (file) {
      append()
      // The error may have cut off a line.
      file.write('\n')
      // An earlier file that could not be put aside is not continued.
    } else open()
  }

  return {
    /** Returns a record for the call to fill in; undefined if the disk does not keep up. */
    begin(): Recording | undefined {
      if ((!file || file.destroyed) && performance.now() - openedAt > RETRY_MS) openAgain()
      const isWritable = file && !file.destroyed && file.writableLength < WAITING_LIMIT_BYTES
      return isWritable ? { body: undefined, reply: undefined } : undefined
    },
    end({ body, reply }: Recording, call: Call, incoming: IncomingMessage, status: number): void {
      // Calls of strangers are not recorded.
      if (!body || !call.caller.acceptance?.isProven()) return
      const line = `${JSON.stringify(lineOf(body, reply, call, incoming, status, mask))}\n`
      bytes += Buffer.byteLength(line)
      file?.write(line)
      // A pipe has no other file. Two streams would cut each other's lines.
      if (bytes < limitBytes || file instanceof Socket) return
      file?.end()
      open()
    },
    async close(): Promise<void> {
      const last = file
      if (!last || last.destroyed) return
      const { promise, resolve } = Promise.withResolvers<void>()
      last.end(() => resolve())
      const giveUp = () => last.destroy(new Error('the reader of the pipe reads no more'))
      const limit = last instanceof Socket ? setTimeout(giveUp, CLOSE_LIMIT_MS) : undefined
      last.once('close', resolve)
      await promise
      clearTimeout(limit)
    },
  }
}

/**
 * Opens a file. It fails for a pipe that nobody has open to read, where Node would wait for a reader. A pipe is written to without waiting in
 * a thread: no signal could end a gateway with a thread that waits for a reader who reads no more.
 */
function openToAppend(path: string): Writable {
  const { O_WRONLY, O_APPEND, O_CREAT, O_NONBLOCK } = constants
  const fd = openSync(path, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK, OWNER_ONLY)
  if (fstatSync(fd).isFIFO()) return new Socket({ fd, readable: false, writable: true })
  try {
    return createWriteStream(path, { fd: openSync(path, 'a') })
  } finally {
    closeSync(fd)
  }
}

/** Replaces the value of a field by one of the same shape. */
export type Mask = (value: string, field: string) => string

/** Fields of answers that say nothing about a person. */
const PLAIN_ANSWERS = ['Cost', 'TransportationBooked', 'Status']
/** Codecs of fields whose values are words from a list, or a year. */
const LISTED = new Set(['equipmentType', 'state', 'year'])

/** Decides what a mask leaves unchanged: fields with values from a list, and, in texts that are searched, the words of lookup tables. */
export function keptFields({ catalog, LOOKUPS_FILE }: KeptBy) {
  const rows = [...catalog.actions.values()].flatMap(({ action }) => action.request)
  const sources = rows.flatMap((row) => (row.kind === 'lookup' ? row.sources : []))
  const whole = sources.flatMap(({ v1, by }) => (by === 'wholeValue' ? [v1] : []))
  const listed = rows.flatMap((row) => (row.kind === 'move' && LISTED.has(row.codec.name) ? fieldsOf(row) : []))
  const guessed = rows.flatMap((row) =>
    row.kind === 'lookup' ? row.fallbacks.flatMap((one) => (one.kind === 'guess' ? one.v1 : [])) : [],
  )
  const phrases = [...Object.values(tables), LOOKUPS_FILE?.vehicle_types ?? {}].flatMap(Object.keys)
  return {
    whole: new Set(['ActionName', ...PLAIN_ANSWERS, ...whole, ...listed].map(looseName)),
    searched: new Set([...sources.flatMap(({ v1, by }) => (by === 'phraseIn' ? v1 : [])), ...guessed].map(looseName)),
    words: new Set(phrases.flatMap((phrase) => phrase.toUpperCase().split(/[^\p{L}\p{Nd}]+/u))),
  }
}

/** As in VINs, which have no I, O and Q. */
const LETTERS = 'ABCDEFGHJKLMNPRSTUVWXYZ'
const NOT_IN_VINS = 'IOQ'
const VIN_CHARACTERS = 17
/** The first of the letters, and of the digits, that replace those of two, three and four bytes: a length is measured in bytes. */
const WIDE_LETTERS = [0, 0, 0xe0, 0x4e00, 0x20000]
const WIDE_DIGITS = [0, 0, 0x660, 0xff10, 0x1d7ce]
const HEX = '0123456789abcdef'
/** UUIDs have their version here; none has 15, so a masked one is known. */
const VERSION_AT = 14
const MASKED_VERSION = 'f'
export const isMaskedId = (id: string): boolean => isUuid(id) && id.charAt(VERSION_AT).toLowerCase() === MASKED_VERSION
/** A phone number may have an extension, whose letters mean something. */
const PHONE = /^(?=(?:\D*\d){7})(?:[^a-z]*[a-z]){0,4}[^a-z]*$/i

/** A value cut to this length is still too long for any field, like the whole one. */
const MOST_CHARACTERS = VALUE_LIMIT_BYTES + 1

/** Makes a mask with its own key. Equal values have equal masks, whatever the case of their letters, so joins still work. */
export function createMask({ whole, searched, words }: ReturnType<typeof keptFields>): Mask {
  const key = randomBytes(32)
  const masked = (value: string): string => {
    if (isNotKnown(value)) return value
    const stream = createHash('shake256', { outputLength: value.length })
      .update(key)
      .update(value.toLowerCase())
      .digest()
    const isId = isUuid(value)
    const keepsLetters = PHONE.test(value) || isShortened(value)
    const areVins = (value.match(/[\p{L}\p{Nd}]/gu)?.length ?? 1) % VIN_CHARACTERS === 0
    // A ZIP of zeros stands for no ZIP.
    return value.replace(/(?<!\p{Nd})00+(?!\p{Nd})|\p{L}|\p{Nd}/gu, (character, at: number) => {
      if (character.startsWith('00')) return character
      const byte = stream[at] ?? 0
      if (isId) return at === VERSION_AT ? MASKED_VERSION : (HEX[byte % HEX.length] ?? '')
      const bytes = Buffer.byteLength(character)
      const isDigit = /\p{Nd}/u.test(character)
      if (bytes > 1)
        return String.fromCodePoint(
          isDigit ? (WIDE_DIGITS[bytes] ?? 0) + (byte % 10) : (WIDE_LETTERS[bytes] ?? 0) + (byte % LETTERS.length),
        )
      if (isDigit) {
        // A leading 0 or 1 of a number has a meaning, so no other digit may become one.
        const isFirst = at === 0 || !/\p{Nd}/u.test(value[at - 1] ?? '')
        return isFirst ? (/[01]/.test(character) ? character : String(2 + (byte % 8))) : String(byte % 10)
      }
      if (keepsLetters) return character
      const letters = areVins && /[ioq]/i.test(character) ? NOT_IN_VINS : LETTERS
      const letter = letters[byte % letters.length] ?? ''
      return character === character.toUpperCase() ? letter : letter.toLowerCase()
    })
  }
  return (text, field) => {
    const name = looseName(field)
    if (whole.has(name)) return text
    const value = text.slice(0, MOST_CHARACTERS)
    if (!searched.has(name)) return masked(value)
    return value.replace(/[\p{L}\p{Nd}]+/gu, (word) => (words.has(word.toUpperCase()) ? word : masked(word)))
  }
}

/** Writes a body's fields again, with masked values. */
export function maskedBody({ entries, format }: FlatBody, mask: Mask): string {
  const values = entries.map(([name, value]) => [name, typeof value === 'string' ? mask(value, name) : value] as const)
  // A form cannot say that a value is no text.
  if (format === 'form' && values.every(([, value]) => typeof value !== 'symbol'))
    return String(
      new URLSearchParams(
        values.map(([name, value]): [string, string] => [name, typeof value === 'string' ? value : '']),
      ),
    )
  // Written member by member, so that a name that was sent twice appears twice.
  return `{${values.map(([name, value]) => `${JSON.stringify(name)}:${typeof value === 'symbol' ? '{}' : JSON.stringify(value)}`).join(',')}}`
}

/** Makes a call's line; its schema is in `docs/writing-a-mapping.md`. */
function lineOf(
  body: FlatBody,
  reply: Recording['reply'],
  call: Call,
  incoming: IncomingMessage,
  status: number,
  mask: Mask,
): object {
  const { method, headers, httpVersion } = incoming
  const [path = ''] = (incoming.url ?? '').split('?', 1)
  // The escapes of a form may be in any charset.
  const sent = mask === String && body.format === 'json' ? body.text : maskedBody(body, mask)
  const type = headers['content-type']
  const key = headers['idempotency-key']
  const answer = reply === undefined ? undefined : maskedAnswer(String(reply), mask)
  return {
    at: new Date().toISOString(),
    method,
    path: method === 'GET' && sent !== '' ? `${path}?${sent}` : path,
    version: `HTTP/${httpVersion}`,
    client: call.caller.tenant,
    headers: {
      // A recorded form does not have the boundary and the charset of the original.
      ...(type !== undefined && { 'content-type': type.split(';', 1)[0] ?? '' }),
      ...(typeof key === 'string' && { 'idempotency-key': mask(key, '') }),
    },
    ...(method !== 'GET' && { request: sent }),
    status,
    ...(answer !== undefined && { replies: answer }),
  }
}

/** Masks an answer's fields; an answer that is not an object is left out. */
function maskedAnswer(text: string, mask: Mask): unknown {
  try {
    const answer = parseJson(text)
    if (mask === String) return answer
    return Object.fromEntries(Object.entries(Object(answer)).map(([name, value]) => [name, mask(String(value), name)]))
  } catch {
    return undefined
  }
}
