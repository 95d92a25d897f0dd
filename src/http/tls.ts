import { readFileSync, unwatchFile, watchFile } from 'node:fs'
import type { SecureContextOptions, SecureVersion } from 'node:tls'
import { OLD_CIPHERS } from '../config/certificates.ts'
import type { Logger } from '../observe/log.ts'

/** Where the certificate and its key are, and how old a TLS is still spoken. */
export interface TlsFiles {
  readonly certFile: string
  readonly keyFile: string
  readonly minVersion: SecureVersion
}

/** What a server needs to speak TLS, from the files as they are now. */
export function readTls({ certFile, keyFile, minVersion }: TlsFiles): SecureContextOptions {
  const old = minVersion === 'TLSv1' || minVersion === 'TLSv1.1'
  return {
    cert: readFileSync(certFile),
    key: readFileSync(keyFile),
    minVersion,
    ...(old && { ciphers: OLD_CIPHERS }),
  }
}

/**
 * Takes a new certificate as soon as its files have changed; a pair that does not fit is refused. Returns the end of it.
 * It polls, because files on mounted volumes change without an event.
 */
export function watchTls(
  files: TlsFiles,
  take: (tls: SecureContextOptions) => void,
  log: Logger,
  interval: number,
): () => void {
  const again = () => {
    try {
      take(readTls(files))
      log.info('the certificate was read again')
    } catch (err) {
      log.error({ err }, 'the new certificate is refused; the old one goes on')
    }
  }
  const paths = [files.certFile, files.keyFile]
  for (const path of paths) watchFile(path, { interval, persistent: false }, again)
  return () => {
    for (const path of paths) unwatchFile(path, again)
  }
}
