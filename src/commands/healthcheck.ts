import { get } from 'node:http'
import { get as getOverTls } from 'node:https'
import { readConfig } from '../config/config.ts'

/** A container that does not answer within three seconds is ill; this leaves time to say so. */
const PATIENCE_MS = 2_000

/** Asks the gateway that the environment configures whether it lives; says nothing if it does. */
export async function healthcheck(): Promise<number> {
  const { HOST, PORT, ADMIN_HOST, ADMIN_PORT, TLS_CERT_FILE } = readConfig(process.env, { certificates: false })
  // At its own door where there is one: however many callers stand at the other, it lives.
  const [host, port, overTls] =
    ADMIN_PORT > 0 ? [ADMIN_HOST, ADMIN_PORT, false] : [HOST, PORT, TLS_CERT_FILE !== undefined]
  const wrong = await trouble(reachable(host), port, overTls)
  if (wrong === undefined) return 0
  process.stderr.write(`transload: the gateway at port ${port} ${wrong}\n`)
  return 1
}

function trouble(host: string, port: number, overTls: boolean): Promise<string | undefined> {
  return new Promise((resolve) => {
    const options = { host, port, path: '/healthz', signal: AbortSignal.timeout(PATIENCE_MS), agent: false }
    // Which name its certificate has is for its callers to look at.
    const asked = overTls ? getOverTls({ ...options, rejectUnauthorized: false }) : get(options)
    asked.once('response', (answer) => {
      answer.resume()
      resolve(answer.statusCode === 200 ? undefined : `answers with status ${answer.statusCode}`)
    })
    asked.once('error', ({ name, message }) =>
      resolve(name === 'AbortError' ? 'does not answer in time' : `cannot be asked: ${message}`),
    )
  })
}

/** Who listens on all addresses can be asked at the loopback one. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  return host === '::' ? '::1' : host
}
