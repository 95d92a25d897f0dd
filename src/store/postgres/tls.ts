import { readFileSync } from 'node:fs'
import type { ConnectionOptions } from 'node:tls'
import { AddressError } from './errors.ts'

/** The encryption of a connection. */
export interface Tls {
  /** Undefined if the address does not say; the driver then reads `PGSSLMODE`, and else uses none. */
  readonly ssl: boolean | ConnectionOptions | undefined
  readonly notices: readonly string[]
}

const PARAMETERS = ['sslmode', 'sslrootcert', 'sslcert', 'sslkey']
/** The certificate authorities that come with Node, as libpq takes those of the system. */
const SYSTEM = 'system'

/**
 * Takes the parameters of TLS out of an address, with the meaning that they have in libpq. The driver's own reading differs by
 * version: its `require` verifies the server, and that of its next release does not.
 */
export function tlsOf(parameters: URLSearchParams): Tls {
  const [mode, root, cert, key] = PARAMETERS.map((name) => parameters.get(name) ?? undefined)
  for (const name of PARAMETERS) parameters.delete(name)
  if (mode === 'disable') return { ssl: false, notices: [] }
  if (mode === undefined && root === undefined && cert === undefined) return { ssl: undefined, notices: [] }

  const own = {
    ...(root !== undefined && root !== SYSTEM && { ca: read('sslrootcert', root) }),
    ...(cert !== undefined && { cert: read('sslcert', cert) }),
    ...(key !== undefined && { key: read('sslkey', key) }),
  }
  switch (mode) {
    case 'require':
      if (root !== undefined) return { ssl: { ...own, ...ANY_NAME }, notices: [] }
      return {
        ssl: { ...own, rejectUnauthorized: false },
        notices: [
          'STORE_URL has sslmode=require without sslrootcert: the connection is encrypted, and the server is not verified; write sslmode=verify-full',
        ],
      }
    case 'verify-ca':
      // With a public authority, anybody could get a certificate that passes.
      if (root === undefined || root === SYSTEM) {
        throw new AddressError('has sslmode=verify-ca without the file of an authority; add sslrootcert=FILE')
      }
      return { ssl: { ...own, ...ANY_NAME }, notices: [] }
    case 'verify-full':
    case undefined:
      return { ssl: own, notices: [] }
    default:
      throw new AddressError(
        `has sslmode=${mode}, which the gateway does not know or which may send data unencrypted; write disable, require, verify-ca or verify-full`,
      )
  }
}

/** The certificate must be of the authority, for any name. */
const ANY_NAME: ConnectionOptions = { checkServerIdentity: () => undefined }

function read(name: string, path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new AddressError(`has ${name}=${path}, which cannot be read: ${why}`)
  }
}
