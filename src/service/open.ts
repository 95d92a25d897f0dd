import { readFileSync } from 'node:fs'
import { rootCertificates } from 'node:tls'
import type { Config } from '../config/config.ts'
import type { Meters } from '../observe/meters.ts'
import { createUpstream, type Upstream, type UpstreamTls } from './upstream.ts'

/** The part of the configuration that connections to the service depend on. */
export type UpstreamConfig = Pick<
  Config,
  'UPSTREAM_CONNECTIONS' | 'UPSTREAM_TIMEOUT_MS' | 'V2_CA_FILE' | 'V2_CERT_FILE' | 'V2_KEY_FILE'
>

/** Opens the client of the service as configured; the first call makes the first connection. */
export function openUpstream(config: UpstreamConfig, meters?: Meters): Upstream {
  return createUpstream({
    connections: config.UPSTREAM_CONNECTIONS,
    timeoutMs: config.UPSTREAM_TIMEOUT_MS,
    tls: tlsOf(config),
    ...(meters && { meters }),
  })
}

function tlsOf({ V2_CA_FILE: ca, V2_CERT_FILE: cert, V2_KEY_FILE: key }: UpstreamConfig): UpstreamTls {
  return {
    ...(ca !== undefined && { ca: [...rootCertificates, readFileSync(ca, 'utf8')] }),
    ...(cert !== undefined && { cert: readFileSync(cert) }),
    ...(key !== undefined && { key: readFileSync(key) }),
  }
}
