import { readConfig } from '../../language/config/config.ts'
import { CommandFailed } from './failures.ts'

/** `import` would load all of a module's exports, with a `fetch`, every few seconds. */
const builtIn = process.getBuiltinModule

/** Container engines wait three seconds; this leaves time to print the error. */
const TIMEOUT_MS = 2_000

/** Checks that the gateway of this environment answers; prints nothing if it does. */
export async function healthcheck(): Promise<number> {
  const { HOST, PORT, ADMIN_HOST, ADMIN_PORT, TLS_CERT_FILE } = readConfig(process.env, { certificates: false })
  // The admin listener, if there is one, answers even when the public listener is full.
  const [host, port, overTls] =
    ADMIN_PORT > 0 ? [ADMIN_HOST, ADMIN_PORT, false] : [HOST, PORT, TLS_CERT_FILE !== undefined]
  const failure = await failureOf(reachable(host), port, overTls)
  if (failure !== undefined) throw new CommandFailed(`the gateway on port ${port} ${failure}`)
  return 0
}

function failureOf(host: string, port: number, overTls: boolean): Promise<string | undefined> {
  return new Promise((resolve) => {
    const options = { host, port, path: '/healthz', signal: AbortSignal.timeout(TIMEOUT_MS), agent: false }
    // The certificate has the public name, not the address that is used here.
    const request = overTls
      ? builtIn('node:https').get({ ...options, rejectUnauthorized: false })
      : builtIn('node:http').get(options)
    request.once('response', (reply) => {
      reply.resume()
      resolve(reply.statusCode === 200 ? undefined : `answers with status ${reply.statusCode}`)
    })
    request.once('error', ({ name, message }) =>
      resolve(
        name === 'AbortError' ? `does not answer within ${TIMEOUT_MS / 1000} s` : `cannot be reached: ${message}`,
      ),
    )
  })
}

/** Returns an address to connect to, for a gateway that listens on all addresses. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  return host === '::' ? '::1' : host
}
