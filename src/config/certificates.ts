import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { SecureContextOptions } from 'node:tls'

type Named = Readonly<Record<string, string | undefined>>

/** OpenSSL 3 speaks the old versions, and takes the short keys of their day, only at its lowest level of security. */
export const OLD_CIPHERS = 'DEFAULT@SECLEVEL=0'

/** Certificates and the keys that go with them. */
const SHOWN = [
  ['V2_CERT_FILE', 'V2_KEY_FILE'],
  ['TLS_CERT_FILE', 'TLS_KEY_FILE'],
] as const

/** What is wrong in the files of certificates and keys; one that cannot be read is told of elsewhere. */
export function unfitCertificates(set: Named): string[] {
  return [...nobodyVouches(contentOf(set['V2_CA_FILE'])), ...SHOWN.flatMap((names) => unfitPair(names, set))]
}

/** Node takes authorities as far as it can read them, and says nothing of the rest. */
function nobodyVouches(authorities: Buffer | undefined): string[] {
  if (authorities === undefined) return []
  const found = authorities.toString('latin1').match(CERTIFICATE) ?? []
  return found.length > 0 && found.every(isCertificate)
    ? []
    : ['V2_CA_FILE names a file that does not hold certificates in PEM, each of them whole']
}

const CERTIFICATE = /-----BEGIN ((?:TRUSTED |X509 )?CERTIFICATE)-----[\s\S]*?(?:-----END \1-----|$)/g

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).subject !== undefined
  } catch {
    return false
  }
}

function unfitPair([certName, keyName]: readonly [string, string], set: Named): string[] {
  const cert = contentOf(set[certName])
  const key = contentOf(set[keyName])
  const old = certName === 'TLS_CERT_FILE' && /^1\.[01]$/.test(set['TLS_MIN_VERSION'] ?? '')
  const refusal = (files: { readonly [kind in 'cert' | 'key']?: Buffer | undefined }) =>
    Object.values(files).includes(undefined) ? [] : refusalOf({ ...files, ...(old && { ciphers: OLD_CIPHERS }) })
  const wrong = [
    ...refusal({ cert }).map((why) => `${certName} names a file that cannot be used as a certificate in PEM: ${why}`),
    ...refusal({ key }).map(
      (why) => `${keyName} names a file that cannot be used as a key in PEM without a passphrase: ${why}`,
    ),
  ]
  if (wrong.length > 0 || refusal({ cert, key }).length === 0) return wrong
  return [`${keyName} names a file whose key does not fit the certificate of ${certName}`]
}

/** Why TLS could not be spoken with this; it never quotes the files. */
function refusalOf(options: SecureContextOptions): string[] {
  try {
    // Loaded here, for it takes 20 ms, and most gateways have no certificate of their own.
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
