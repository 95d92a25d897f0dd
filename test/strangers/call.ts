import { type Agent, request } from 'node:http'

export interface Call {
  readonly method?: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: object | string
  /** The address that it comes from. */
  readonly from?: string
  readonly agent?: Agent
}

/** The answer to a call. */
export interface Answer {
  /** 0 where the connection broke. */
  readonly status: number
  readonly text: string
  readonly headers: Readonly<Record<string, unknown>>
  readonly ms: number
}

/** Calls from a loopback address, with exactly these headers; Linux answers on all of 127.0.0.0/8. */
export function callFrom(
  url: string,
  { method = 'POST', path, headers = {}, body = '', ...options }: Call,
): Promise<Answer> {
  const startedAt = performance.now()
  const sent = typeof body === 'string' ? body : JSON.stringify(body)
  const { hostname, port } = new URL(url)
  return new Promise((resolve) => {
    const answer = (status: number, text = '', received: Answer['headers'] = {}) =>
      resolve({ status, text, headers: received, ms: performance.now() - startedAt })
    const call = request(
      {
        host: hostname,
        port,
        method,
        path,
        headers: { 'content-length': Buffer.byteLength(sent), ...headers },
        ...(options.agent && { agent: options.agent }),
        ...(options.from !== undefined && { localAddress: options.from }),
      },
      (reply) => {
        let text = ''
        reply
          .setEncoding('utf8')
          .on('data', (chunk: string) => {
            text += chunk
          })
          .once('end', () => answer(reply.statusCode ?? 0, text, reply.headers))
          .once('error', () => answer(0))
      },
    )
    call.once('error', () => answer(0)).end(sent)
  })
}
