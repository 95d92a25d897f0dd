import type { ClientConfig } from 'pg'
import { parse, toClientConfig } from 'pg-connection-string'
import { AddressError, messageOf } from './store-address.ts'

/** The server that `STORE_URL` leads to. */
export interface Server {
  /** Its host and port, for messages. */
  readonly place: string
  readonly connection: ClientConfig
}

/** The address of a store on PostgreSQL. */
interface PostgresAddress {
  readonly server: Server
  /** Remarks on the address for the operator. */
  readonly notices: readonly string[]
}

const DEFAULT_PORT = 5432
/** Groups: everything before the parameters, the host and port in that, and the parameters. */
const FORM = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?([^/?#]*)[^?#]*)(?:\?([^#]*))?$/i

/** Reads an address like libpq, but with only one host. */
export function readAddress(url: string): PostgresAddress {
  const [, start, authority = '', query = ''] = FORM.exec(url) ?? []
  if (start === undefined)
    throw new AddressError('is not a PostgreSQL address; write postgres://user:password@host/name')
  const parameters = new URLSearchParams(query)
  // A choice among servers would have to distinguish an old primary from its successor.
  if (`${authority}${parameters.get('host') ?? ''}`.includes(',')) {
    throw new AddressError('names several hosts; write one address that always leads to the server that accepts writes')
  }
  const notices = checkTls(parameters)
  parameters.delete('uselibpqcompat')
  const connection = connectionOf(parameters.size > 0 ? `${start}?${parameters}` : start)
  const { host = '', port = DEFAULT_PORT } = connection
  return { server: { place: host.startsWith('/') ? host : `${host}:${port}`, connection }, notices }
}

/* Encryption */

const MODES: ReadonlySet<string | null> = new Set([null, 'disable', 'require', 'verify-ca', 'verify-full'])
/** Stands for the certificate authorities that come with Node, as in libpq for the system's. */
const SYSTEM = 'system'

/** Checks the parameters of TLS; returns remarks. */
function checkTls(parameters: URLSearchParams): readonly string[] {
  const mode = parameters.get('sslmode')
  if (!MODES.has(mode)) {
    throw new AddressError(
      `has sslmode=${mode}, which the gateway does not know or which may send data unencrypted; write disable, require, verify-ca or verify-full`,
    )
  }
  const root = parameters.get('sslrootcert')
  if (root === SYSTEM) parameters.delete('sslrootcert')
  // Anyone could get a certificate from a public authority, and it would pass.
  if (mode === 'verify-ca' && !parameters.has('sslrootcert')) {
    throw new AddressError('has sslmode=verify-ca without a certificate authority; add sslrootcert=FILE')
  }
  if (root === SYSTEM) parameters.set('sslmode', 'verify-full')
  if (mode !== 'require' || root !== null) return []
  return [
    'STORE_URL has sslmode=require without sslrootcert: the connection is encrypted, but the server is not verified; write sslmode=verify-full',
  ]
}

/** Returns what the driver makes of an address. Its `sslmode` has libpq's meaning only on request. */
function connectionOf(connectionString: string): ClientConfig {
  try {
    return toClientConfig(parse(connectionString, { useLibpqCompat: true }))
  } catch (error) {
    throw new AddressError(`cannot be used: ${messageOf(error)}`)
  }
}
