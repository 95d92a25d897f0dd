import { connect } from 'node:net'
import { onTestFinished } from 'vitest'

/** A reply exactly as it was received. */
export interface WireReply {
  readonly status: number
  readonly version: string
  /** Names are in lower case; a repeated one keeps every value. */
  readonly headers: ReadonlyMap<string, readonly string[]>
  readonly body: string
  /** The fields of the body; none if it is no JSON. */
  readonly json: Readonly<Record<string, unknown>>
}

/** A connection to which a test writes bytes. */
export interface Wire {
  readonly write: (bytes: string | Uint8Array) => void
  /** Resolves with everything received once it matches. */
  readonly until: (pattern: RegExp) => Promise<string>
  /** Resolves with everything received when the other end has closed. */
  readonly closed: () => Promise<string>
  readonly hangUp: () => void
  /** Resets the connection. */
  readonly reset: () => void
}

/** Opens a connection; each character of a text is one byte. */
export async function dial({ url }: { readonly url: string }): Promise<Wire> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  let text = ''
  let over = false
  const watchers = new Set<() => void>()
  const wake = () => {
    for (const watcher of watchers) watcher()
  }
  const end = () => {
    over = true
    wake()
  }
  socket.setEncoding('latin1')
  socket.on('data', (chunk) => {
    text += chunk
    wake()
  })
  socket.on('error', end).on('close', end)
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
  await new Promise((resolve) => socket.once('connect', resolve).once('close', resolve))
  return {
    write: (bytes) => void socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes),
    until: (pattern) => watch(() => pattern.test(text)),
    closed: () => watch(() => over),
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

/** Returns every reply in the text of a connection, interim ones too. */
export function repliesIn(text: string): readonly WireReply[] {
  const replies: WireReply[] = []
  for (let rest = text; rest !== ''; ) {
    const blank = rest.indexOf('\r\n\r\n')
    const [first = '', ...lines] = rest.slice(0, blank).split('\r\n')
    const [, version = '', status = ''] = /^HTTP\/(\d\.\d) (\d{3})/.exec(first) ?? []
    if (blank === -1 || status === '') throw new Error(`no reply of HTTP: ${rest}`)
    const headers = new Map<string, string[]>()
    for (const line of lines) {
      const colon = line.indexOf(':')
      const name = line.slice(0, colon).toLowerCase()
      headers.set(name, [...(headers.get(name) ?? []), line.slice(colon + 1).trim()])
    }
    rest = rest.slice(blank + 4)
    const length = headers.get('content-length')?.[0]
    let body = ''
    if (headers.get('transfer-encoding')?.[0] === 'chunked') {
      for (;;) {
        const line = rest.indexOf('\r\n')
        const size = Number.parseInt(rest.slice(0, line), 16)
        body += rest.slice(line + 2, line + 2 + size)
        rest = rest.slice(line + 4 + size)
        if (!(size > 0)) break
      }
    } else if (length !== undefined) {
      body = rest.slice(0, Number(length))
      rest = rest.slice(Number(length))
    } else if (status >= '200' && status !== '204') {
      body = rest
      rest = ''
    }
    const isJson = headers.get('content-type')?.[0]?.includes('json') && body !== ''
    const json = isJson ? JSON.parse(Buffer.from(body, 'latin1').toString('utf8')) : {}
    replies.push({ status: Number(status), version, headers, body, json })
  }
  return replies
}
