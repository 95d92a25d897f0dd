import { X509Certificate } from 'node:crypto'
import type { SecureContextOptions } from 'node:tls'
import type { Environment } from './config.ts'
import { contentOf } from './watch-files.ts'

/** OpenSSL 3 accepts old TLS versions, and the short keys of their time, only at its lowest security level. */
export const OLD_CIPHERS = 'DEFAULT@SECLEVEL=0'

/** Returns the errors in certificate and key files. The schema reports files that cannot be read. */
export function certificateErrors(set: Environment): string[] {
  return [...authorityErrors(set['V2_CA_FILE']), ...pairErrors(set)]
}

/** Reports what Node would not: it loads the certificates that it can parse and silently ignores the rest of the file. */
function authorityErrors(path: string | undefined): string[] {
  const authorities = contentOf(path)
  if (authorities === undefined) return []
  const found = authorities.toString('latin1').match(CERTIFICATE) ?? []
  return found.length > 0 && found.every(isCertificate)
    ? []
    : [`V2_CA_FILE names ${path}, which must hold nothing but complete certificates in PEM`]
}

const CERTIFICATE = /-----BEGIN ((?:TRUSTED |X509 )?CERTIFICATE)-----[\s\S]*?(?:-----END \1-----|$)/g

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).subject !== undefined
  } catch {
    return false
  }
}

function pairErrors({ TLS_CERT_FILE, TLS_KEY_FILE, TLS_MIN_VERSION = '' }: Environment): string[] {
  const [cert, key] = [contentOf(TLS_CERT_FILE), contentOf(TLS_KEY_FILE)]
  const old = /^1\.[01]$/.test(TLS_MIN_VERSION) && { ciphers: OLD_CIPHERS }
  const errors = [
    ...(cert ? refusalOf({ cert, ...old }) : []).map(
      (why) => `TLS_CERT_FILE names ${TLS_CERT_FILE}, which is not a certificate in PEM: ${why}`,
    ),
    ...(key ? refusalOf({ key, ...old }) : []).map(
      (why) => `TLS_KEY_FILE names ${TLS_KEY_FILE}, which is not a key in PEM without a passphrase: ${why}`,
    ),
  ]
  if (errors.length > 0 || !cert || !key || refusalOf({ cert, key, ...old }).length === 0) return errors
  return [`TLS_KEY_FILE names ${TLS_KEY_FILE}, whose key does not match the certificate of TLS_CERT_FILE`]
}

/** Returns why TLS rejects certificates and keys, without quoting the files. */
function refusalOf(options: SecureContextOptions): string[] {
  try {
    // Loaded when needed: it takes 20 ms, and most gateways have no certificate.
    process.getBuiltinModule('node:tls').createSecureContext(options)
    return []
  } catch (error) {
    return [error instanceof Error && 'reason' in error ? String(error.reason) : 'it cannot be used']
  }
}
