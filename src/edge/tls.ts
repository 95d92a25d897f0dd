import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { SecureContextOptions } from 'node:tls'
import { OLD_CIPHERS } from '../language/config/certificates.ts'
import type { Config } from '../language/config/config.ts'
import { watchFiles } from '../language/config/watch-files.ts'
import type { Logger } from '../runtime/log.ts'
import type { Reloads } from '../runtime/reloads.ts'

/** The public listener's certificate, which is read again when its files change. */
export type Certificate = NonNullable<ReturnType<typeof openCertificate>>

const isOld = ({ TLS_MIN_VERSION: version }: Config) => version === '1.0' || version === '1.1'

/** A certificate is renewed at least so long before its end. */
const RENEWAL_MS = 14 * 86_400_000

/** Returns the warnings about an old TLS version, and about a certificate that has expired or soon will. */
export function tlsWarnings(config: Config): readonly string[] {
  const { TLS_CERT_FILE: file, TLS_MIN_VERSION: version } = config
  if (file === undefined) return []
  const { validToDate: end } = new X509Certificate(readFileSync(file))
  const left = end.getTime() - Date.now()
  return [
    ...(isOld(config)
      ? [`TLS ${version} is accepted, which protects nothing; set TLS_MIN_VERSION=1.2 if no caller needs it`]
      : []),
    ...(left < RENEWAL_MS
      ? [`the certificate in TLS_CERT_FILE ${left < 0 ? 'expired' : 'expires'} at ${end.toISOString()}; renew it`]
      : []),
  ]
}

/** Opens the configured certificate; undefined if callers use plain HTTP. */
export function openCertificate(config: Config, log: Logger, reloads: Reloads) {
  const { TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile, TLS_MIN_VERSION: version } = config
  if (certFile === undefined || keyFile === undefined) return undefined
  for (const warning of tlsWarnings(config)) log.warn(warning)
  reloads.taken('certificate')
  const read = (): SecureContextOptions => ({
    cert: readFileSync(certFile),
    key: readFileSync(keyFile),
    minVersion: version === '1.0' ? 'TLSv1' : `TLSv${version}`,
    ...(isOld(config) && { ciphers: OLD_CIPHERS }),
  })
  const renew = (apply: (tls: SecureContextOptions) => void) => {
    try {
      apply(read())
      reloads.taken('certificate')
      log.info('the certificate was reloaded')
    } catch (err) {
      reloads.refused('certificate', [err instanceof Error ? err.message : String(err)])
      log.error({ err }, 'the new certificate is refused; the old one stays in use')
    }
  }
  return {
    /** Reads what a server needs for TLS from the current files. */
    read,
    /** Applies each new certificate that matches its key. Returns a function that stops this. */
    watch: (everyMs: number, apply: (tls: SecureContextOptions) => void) =>
      watchFiles(
        () => [certFile, keyFile],
        everyMs,
        () => renew(apply),
      ),
  }
}
