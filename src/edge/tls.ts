import { readFileSync } from 'node:fs'
import type { SecureContextOptions } from 'node:tls'
import { OLD_CIPHERS } from '../language/config/certificates.ts'
import type { Config } from '../language/config/config.ts'
import { watchFiles } from '../language/config/watch-files.ts'
import type { Logger } from '../runtime/log.ts'
import type { Reloads } from '../runtime/reloads.ts'

/** The public listener's certificate, which is read again when its files change. */
export type Certificate = NonNullable<ReturnType<typeof openCertificate>>

/** Returns the warning about an old TLS version; undefined if none is accepted. */
export function oldTlsWarning({ TLS_CERT_FILE, TLS_MIN_VERSION: version }: Config): string | undefined {
  if (TLS_CERT_FILE === undefined || (version !== '1.0' && version !== '1.1')) return undefined
  return `TLS ${version} is accepted, which protects nothing; set TLS_MIN_VERSION=1.2 if no caller needs it`
}

/** Opens the configured certificate; undefined if callers use plain HTTP. */
export function openCertificate(config: Config, log: Logger, reloads: Reloads) {
  const { TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile, TLS_MIN_VERSION: version } = config
  if (certFile === undefined || keyFile === undefined) return undefined
  const warning = oldTlsWarning(config)
  if (warning !== undefined) log.warn(warning)
  reloads.taken('certificate')
  const read = (): SecureContextOptions => ({
    cert: readFileSync(certFile),
    key: readFileSync(keyFile),
    minVersion: version === '1.0' ? 'TLSv1' : `TLSv${version}`,
    ...(warning !== undefined && { ciphers: OLD_CIPHERS }),
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
