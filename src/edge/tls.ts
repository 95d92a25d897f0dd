import { readFileSync } from 'node:fs'
import type { SecureContextOptions, SecureVersion } from 'node:tls'
import { OLD_CIPHERS } from '../language/config/certificates.ts'
import type { Config } from '../language/config/config.ts'
import type { Logger } from '../runtime/log.ts'
import type { Reloads } from '../runtime/reloads.ts'

/* The certificate of the public listener, which is read again when its files change. */

/** The files of the certificate and its key, and the oldest version of TLS that is accepted. */
export interface TlsFiles {
  readonly certFile: string
  readonly keyFile: string
  readonly minVersion: SecureVersion
}

/** Returns the files of the configuration; undefined where callers use plain HTTP. */
export function tlsFilesOf(config: Config, log: Logger): TlsFiles | undefined {
  const { TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile, TLS_MIN_VERSION: version } = config
  if (certFile === undefined || keyFile === undefined) return undefined
  if (version === '1.0' || version === '1.1')
    log.warn(`TLS ${version} is accepted, which protects nothing; set TLS_MIN_VERSION=1.2 if no caller needs it`)
  return { certFile, keyFile, minVersion: version === '1.0' ? 'TLSv1' : `TLSv${version}` }
}

/** Reads what a server needs for TLS from the files as they are now. */
export function readTls({ certFile, keyFile, minVersion }: TlsFiles): SecureContextOptions {
  const old = minVersion === 'TLSv1' || minVersion === 'TLSv1.1'
  return {
    cert: readFileSync(certFile),
    key: readFileSync(keyFile),
    minVersion,
    ...(old && { ciphers: OLD_CIPHERS }),
  }
}

/** Applies a new certificate, unless certificate and key do not match. */
export function renewTls(
  files: TlsFiles,
  apply: (tls: SecureContextOptions) => void,
  log: Logger,
  reloads: Reloads | undefined,
): void {
  try {
    apply(readTls(files))
    reloads?.taken('certificate')
    log.info('the certificate was read again')
  } catch (err) {
    reloads?.refused('certificate', [err instanceof Error ? err.message : String(err)])
    log.error({ err }, 'the new certificate is refused; the old one stays in use')
  }
}
