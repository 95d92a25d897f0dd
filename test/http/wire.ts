import { connect, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** A reply exactly as it was received. */
export interface WireReply {
  readonly status: number
  /** By names in lower case; a repeated name keeps every value. */
  readonly headers: ReadonlyMap<string, readonly string[]>
  readonly body: string
  /** The fields of the body; none if it is not JSON. */
  readonly json: Readonly<Record<string, unknown>>
}

/** A connection to which a test writes bytes. */
export interface Wire {
  readonly write: (bytes: string | Uint8Array) => void
  /** Resolves with everything received once it matches. */
  readonly until: (pattern: RegExp) => Promise<string>
  /** Resolves with everything received when there are this many whole replies, or the other end has closed. */
  readonly received: (count: number) => Promise<string>
  /** Resolves with everything received when the other end has closed. */
  readonly closed: () => Promise<string>
  readonly isClosed: () => boolean
  /** Ends the sending side. */
  readonly end: () => void
  readonly hangUp: () => void
  /** Resets the connection. */
  readonly reset: () => void
}

/** Opens a connection, or uses a given one, for example after a TLS handshake; each character of a text is one byte. */
export async function dial({ url }: { readonly url: string }, given?: Socket): Promise<Wire> {
  const { hostname, port } = new URL(url)
  const socket = given ?? connect(Number(port), hostname)
  let text = ''
  let over = false
  const watchers = new Set<() => void>()
  const wake = () => {
    for (const watcher of watchers) watcher()
  }
  const close = () => {
    over = true
    wake()
  }
  socket.setEncoding('latin1').on('data', (chunk) => {
    text += chunk
    wake()
  })
  socket.on('error', close).on('end', close).on('close', close)
  onTestFinished(() => void socket.destroy())
  const watch = (isThere: () => boolean) =>
    new Promise<string>((resolve, reject) => {
      const look = () => {
        if (!isThere() && !over) return
        watchers.delete(look)
        if (isThere()) resolve(text)
        else reject(new Error(`the connection ended after: ${text}`))
      }
      watchers.add(look)
      look()
    })
  if (socket.connecting) await new Promise((resolve) => socket.once('connect', resolve).once('close', resolve))
  return {
    write: (bytes) => void (over || socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes)),
    until: (pattern) => watch(() => pattern.test(text)),
    received: (count) => watch(() => over || parse(text).replies.filter(({ isWhole }) => isWhole).length >= count),
    closed: () => watch(() => over),
    isClosed: () => over,
    end: () => void socket.end(),
    hangUp: () => void socket.destroy(),
    reset: () => void socket.resetAndDestroy(),
  }
}

/** Writes bytes and reads until the other end closes. */
export async function send(
  gateway: { readonly url: string },
  ...bytes: readonly (string | Uint8Array)[]
): Promise<WireReply> {
  const wire = await dial(gateway)
  for (const part of bytes) wire.write(part)
  const replies = repliesIn(await wire.closed())
  const [reply] = replies
  if (reply === undefined || replies.length > 1) throw new Error(`${replies.length} replies came instead of one`)
  return reply
}

/** Returns every reply in the text of a connection, including interim ones. */
export function repliesIn(text: string): readonly WireReply[] {
  const { replies, rest } = parse(text)
  if (rest !== '') throw new Error(`no reply of HTTP: ${rest}`)
  return replies
}

/** Returns the replies in the text of a connection so far, and the beginning of another one. */
export function parse(text: string) {
  const replies: (WireReply & { readonly isWhole: boolean })[] = []
  for (let rest = text; ; ) {
    const blank = rest.indexOf('\r\n\r\n')
    if (blank === -1) return { replies, rest }
    const [first = '', ...lines] = rest.slice(0, blank).split('\r\n')
    const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(first)?.[1])
    if (!(status > 0)) throw new Error(`no reply of HTTP: ${rest}`)
    const headers = new Map<string, string[]>()
    for (const line of lines) {
      const colon = line.indexOf(':')
      const name = line.slice(0, colon).toLowerCase()
      headers.set(name, [...(headers.get(name) ?? []), line.slice(colon + 1).trim()])
    }
    const { body, end, isWhole } = bodyIn(rest.slice(blank + 4), status, headers)
    rest = rest.slice(blank + 4 + end)
    const isJson = headers.get('content-type')?.[0]?.includes('json') && isWhole && body !== ''
    const json = isJson ? JSON.parse(Buffer.from(body, 'latin1').toString('utf8')) : {}
    replies.push({ status, headers, body, json, isWhole })
  }
}

/** Returns the body at the beginning of a text, and where it ends; one without a length ends with the connection. */
function bodyIn(text: string, status: number, headers: WireReply['headers']) {
  if (headers.get('transfer-encoding')?.[0] === 'chunked') {
    let body = ''
    for (let at = 0; ; ) {
      const line = text.indexOf('\r\n', at)
      const size = Number.parseInt(text.slice(at, line), 16)
      const end = line + 4 + size
      if (line === -1 || text.length < end) return { body, end: text.length, isWhole: false }
      body += text.slice(line + 2, line + 2 + size)
      if (size === 0) return { body, end, isWhole: true }
      at = end
    }
  }
  const hasNone = status < 200 || status === 204 || status === 304
  const length = Number(hasNone ? 0 : (headers.get('content-length')?.[0] ?? Number.NaN))
  const body = Number.isNaN(length) ? text : text.slice(0, length)
  return { body, end: body.length, isWhole: body.length === length }
}
