import { connect, type Socket } from 'node:net'
import { dial, parse, type Wire } from './wire.ts'

/** A whole reply as it was received. */
export interface Reply {
  readonly status: number
  /** Names are in lower case; a repeated one keeps the last value. */
  readonly headers: ReadonlyMap<string, string>
  readonly body: string
}

/** A connection to which a test writes bytes, and from which it reads whole replies, also after it has ended its side. */
export interface Line extends Omit<Wire, 'closed'> {
  /** Resolves with all replies once there are `count`, or the other end has closed. */
  readonly replies: (count: number) => Promise<readonly Reply[]>
  /** Resolves with all replies once the other end has closed. */
  readonly closed: () => Promise<readonly Reply[]>
}

/** Opens such a connection, or uses a given one. */
export async function openLine(gateway: { readonly url: string }, given?: Socket): Promise<Line> {
  const { hostname, port } = new URL(gateway.url)
  // Only a URL has brackets around an IPv6 address.
  const host = hostname.replace(/^\[|\]$/g, '')
  const open = () => connect({ port: Number(port), host, noDelay: true, allowHalfOpen: true })
  const wire = await dial(gateway, given ?? open())
  return {
    ...wire,
    replies: async (count) => wholeReplies(await wire.received(count)),
    closed: async () => wholeReplies(await wire.closed()),
  }
}

/** Returns the whole replies in a text; an incomplete last one is left out. */
export function wholeReplies(text: string): readonly Reply[] {
  return parse(text)
    .replies.filter(({ isWhole }) => isWhole)
    .map(({ status, headers, body }) => ({
      status,
      headers: new Map([...headers].map(([name, values]) => [name, values.at(-1) ?? ''])),
      body,
    }))
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
