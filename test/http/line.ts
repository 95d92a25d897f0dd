import { connect, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** A whole reply as it was received. */
export interface Reply {
  readonly status: number
  /** Names are in lower case; a repeated one keeps the last value. */
  readonly headers: ReadonlyMap<string, string>
  readonly body: string
}

/** A connection to which a test writes bytes, and from which it reads whole replies. */
export interface Line {
  /** Each character of a text is one byte. */
  readonly write: (bytes: string | Uint8Array) => void
  /** Ends the sending side; replies are still read. */
  readonly end: () => void
  /** Resolves with all replies once there are `count`, or the other end has closed. */
  readonly replies: (count: number) => Promise<readonly Reply[]>
  /** Resolves with all replies once the other end has closed. */
  readonly closed: () => Promise<readonly Reply[]>
  readonly isClosed: () => boolean
  readonly hangUp: () => void
}

/** Opens such a connection, or uses a given one, such as one after a TLS handshake. */
export async function openLine({ url }: { readonly url: string }, given?: Socket): Promise<Line> {
  const { hostname, port } = new URL(url)
  // Only a URL has brackets around an IPv6 address.
  const host = hostname.replace(/^\[|\]$/g, '')
  const socket = given ?? connect({ port: Number(port), host, noDelay: true, allowHalfOpen: true })
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
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    text += chunk
    wake()
  })
  socket.on('error', close).on('end', close).on('close', close)
  onTestFinished(() => void socket.destroy())
  if (!given) await new Promise((resolve) => socket.once('connect', resolve).once('close', resolve))
  const watch = (isThere: () => boolean) =>
    new Promise<readonly Reply[]>((resolve) => {
      const look = () => {
        if (!isThere()) return
        watchers.delete(look)
        resolve(wholeReplies(text))
      }
      watchers.add(look)
      look()
    })
  return {
    write: (bytes) => void (over || socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes)),
    end: () => void socket.end(),
    replies: (count) => watch(() => over || wholeReplies(text).length >= count),
    closed: () => watch(() => over),
    isClosed: () => over,
    hangUp: () => void socket.destroy(),
  }
}

/** Returns the whole replies in a text; an incomplete last one is left out. */
export function wholeReplies(text: string): readonly Reply[] {
  const replies: Reply[] = []
  for (let rest = text; ; ) {
    const blank = rest.indexOf('\r\n\r\n')
    if (blank === -1) return replies
    const [first = '', ...lines] = rest.slice(0, blank).split('\r\n')
    const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(first)?.[1])
    if (!(status > 0)) throw new Error(`no reply of HTTP: ${rest}`)
    const headers = new Map(
      lines.map((line) => {
        const colon = line.indexOf(':')
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const
      }),
    )
    rest = rest.slice(blank + 4)
    const length = status < 200 ? 0 : Number(headers.get('content-length') ?? Number.NaN)
    const end = Number.isNaN(length) ? chunksEnd(rest) : length
    if (end === -1 || rest.length < end) return replies
    replies.push({ status, headers, body: rest.slice(0, end) })
    rest = rest.slice(end)
  }
}

/** Returns where a chunked body ends; -1 if it is incomplete. */
function chunksEnd(text: string): number {
  const last = /(?:^|\r\n)0\r\n\r\n/.exec(text)
  return last ? last.index + last[0].length : -1
}

/** Returns the error replies whose body is not the JSON object that it must be. */
export function notJson(replies: readonly Reply[]): readonly Reply[] {
  return replies.filter(({ status, headers, body }) => {
    if (status < 400) return false
    if (!/^application\/(problem\+)?json/.test(headers.get('content-type') ?? '')) return true
    try {
      const parsed: unknown = JSON.parse(Buffer.from(body, 'latin1').toString('utf8'))
      return typeof parsed !== 'object' || parsed === null || !('Message' in parsed || 'detail' in parsed)
    } catch {
      return true
    }
  })
}
