import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { SecureContextOptions } from 'node:tls'
import type { Environment } from './config.ts'

/** OpenSSL 3 accepts old versions of TLS, and the short keys of their time, only at its lowest security level. */
export const OLD_CIPHERS = 'DEFAULT@SECLEVEL=0'

/** The variables that name a certificate and its key. */
const PAIRS = [
  ['V2_CERT_FILE', 'V2_KEY_FILE'],
  ['TLS_CERT_FILE', 'TLS_KEY_FILE'],
] as const

/** Returns the errors in the files of certificates and keys. The schema reports the files that cannot be read. */
export function certificateErrors(set: Environment): string[] {
  return [...authorityErrors(set['V2_CA_FILE']), ...PAIRS.flatMap((names) => pairErrors(names, set))]
}

/** Node loads the certificates that it can parse and silently ignores the rest of the file. */
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

function pairErrors([certName, keyName]: readonly [string, string], set: Environment): string[] {
  const cert = contentOf(set[certName])
  const key = contentOf(set[keyName])
  const isOld = certName === 'TLS_CERT_FILE' && /^1\.[01]$/.test(set['TLS_MIN_VERSION'] ?? '')
  const refusal = (files: { readonly [kind in 'cert' | 'key']?: Buffer | undefined }) =>
    Object.values(files).includes(undefined) ? [] : refusalOf({ ...files, ...(isOld && { ciphers: OLD_CIPHERS }) })
  const errors = [
    ...refusal({ cert }).map((why) => `${certName} names ${set[certName]}, which is not a certificate in PEM: ${why}`),
    ...refusal({ key }).map(
      (why) => `${keyName} names ${set[keyName]}, which is not a key in PEM without a passphrase: ${why}`,
    ),
  ]
  if (errors.length > 0 || refusal({ cert, key }).length === 0) return errors
  return [`${keyName} names ${set[keyName]}, whose key does not match the certificate of ${certName}`]
}

/** Returns the reason why TLS rejects certificates and keys, without quoting the files. */
function refusalOf(options: SecureContextOptions): string[] {
  try {
    // Loaded when needed: it takes 20 ms, and most gateways have no certificate of their own.
    process.getBuiltinModule('node:tls').createSecureContext(options)
    return []
  } catch (error) {
    return [error instanceof Error && 'reason' in error ? String(error.reason) : 'it cannot be used']
  }
}

function contentOf(path: string | undefined): Buffer | undefined {
  try {
    return path === undefined ? undefined : readFileSync(path)
  } catch {
    return undefined
  }
}
