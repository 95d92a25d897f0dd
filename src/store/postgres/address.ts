import type { ClientConfig } from 'pg'
import { parse, toClientConfig } from 'pg-connection-string'
import { AddressError, messageOf } from './errors.ts'

/** A server that `STORE_URL` names. */
export interface Server {
  /** Its host and port, for messages. */
  readonly place: string
  readonly connection: ClientConfig
}

/** The address of a store on PostgreSQL. */
interface PostgresAddress {
  /** One or more. */
  readonly servers: readonly [Server, ...Server[]]
  /** Remarks on the address for the operator. */
  readonly notices: readonly string[]
}

const DEFAULT_PORT = '5432'
/** The scheme, the user with a password, the hosts, the database, and the parameters. */
const FORM = /^(postgres(?:ql)?:\/\/)([^/?#]*@)?([^/?#@]*)([^?#]*)(?:\?([^#]*))?$/i
/** The gateway writes, and so it always looks for a server that takes writes. */
const WRITABLE = new Set(['read-write', 'primary'])

/** Reads an address as libpq does: several hosts are separated by commas, in the authority or in the parameter `host`. */
export function readAddress(url: string): PostgresAddress {
  const [, scheme = '', user = '', authority = '', path = '', query = ''] = FORM.exec(url) ?? []
  if (scheme === '') throw new AddressError('is not a PostgreSQL address; write postgres://user:password@host/name')
  const parameters = new URLSearchParams(query)
  const session = parameters.get('target_session_attrs')
  if (session !== null && !WRITABLE.has(session)) {
    throw new AddressError(
      `has target_session_attrs=${session}, and the gateway writes; write read-write, or leave it out`,
    )
  }
  const hosts = parameters.has('host') ? hostsOfParameters(parameters) : authority.split(',')
  const notices = checkTls(parameters)
  for (const name of ['target_session_attrs', 'host', 'port', 'uselibpqcompat']) parameters.delete(name)

  const [first, ...others] = hosts.map((host) => {
    const rest = new URLSearchParams(parameters)
    // A path of a socket cannot stand in the authority.
    const isSocket = host.startsWith('/')
    if (isSocket) rest.set('host', host)
    const connectionString = `${scheme}${user}${isSocket ? 'localhost' : host}${path}${rest.size > 0 ? `?${rest}` : ''}`
    if (!URL.canParse(connectionString) || (host === '' && hosts.length > 1)) {
      throw new AddressError('is not a PostgreSQL address; write postgres://user:password@host:5432,other:5432/name')
    }
    return { place: placeOf(host), connection: connectionOf(connectionString) }
  })
  // `split` returns at least one part.
  if (!first) throw new AddressError('names no host')
  return { servers: [first, ...others], notices }
}

/** Pairs the parameters `host` and `port`; one port stands for all hosts. */
function hostsOfParameters(parameters: URLSearchParams): readonly string[] {
  const hosts = (parameters.get('host') ?? '').split(',')
  const ports = (parameters.get('port') ?? DEFAULT_PORT).split(',')
  if (ports.length > 1 && ports.length !== hosts.length) {
    throw new AddressError(`has ${hosts.length} hosts and ${ports.length} ports; give one port, or one for each host`)
  }
  return hosts.map((host, index) => (host.startsWith('/') ? host : `${host}:${ports[index] ?? ports[0]}`))
}

const placeOf = (host: string): string => {
  const name = decodeURIComponent(host)
  return name.startsWith('/') || /:\d+$/.test(name) ? name : `${name}:${DEFAULT_PORT}`
}

/* Encryption */

const MODES: ReadonlySet<string | null> = new Set([null, 'disable', 'require', 'verify-ca', 'verify-full'])
/** The certificate authorities that come with Node, as libpq takes those of the system. */
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
  // With a public authority, anybody could get a certificate that passes.
  if (mode === 'verify-ca' && !parameters.has('sslrootcert')) {
    throw new AddressError('has sslmode=verify-ca without the file of an authority; add sslrootcert=FILE')
  }
  if (root === SYSTEM) parameters.set('sslmode', 'verify-full')
  if (mode !== 'require' || root !== null) return []
  return [
    'STORE_URL has sslmode=require without sslrootcert: the connection is encrypted, and the server is not verified; write sslmode=verify-full',
  ]
}

/** Returns what the driver makes of an address. Its `sslmode` has the meaning of libpq only if it is asked to. */
function connectionOf(connectionString: string): ClientConfig {
  try {
    return toClientConfig(parse(connectionString, { useLibpqCompat: true }))
  } catch (error) {
    throw new AddressError(`cannot be used: ${messageOf(error)}`)
  }
}
