import { Agent } from 'undici'

export interface Call {
  readonly method?: 'GET' | 'POST'
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: object | string
  /** @default one without an address of its own */
  readonly agent?: Agent
}

/** The answer to a call. */
export interface Answer {
  /** 0 if the connection broke. */
  readonly status: number
  readonly text: string
  readonly ms: number
}

/** Keeps connections from a loopback address; Linux answers on all of 127.0.0.0/8. */
export const agentOf = (localAddress: string): Agent => new Agent({ localAddress })

const ANY = new Agent()

/** Calls with exactly this path, and these headers. */
export async function callFrom(
  url: string,
  { method = 'POST', path, headers = {}, body = '', agent = ANY }: Call,
): Promise<Answer> {
  const startedAt = performance.now()
  const sent = typeof body === 'string' ? body : JSON.stringify(body)
  const told = agent
    .request({ origin: url, method, path, headers, body: sent })
    .then(async ({ statusCode, body: reply }) => ({ status: statusCode, text: await reply.text() }))
  const { status, text } = await told.catch(() => ({ status: 0, text: '' }))
  return { status, text, ms: performance.now() - startedAt }
}
