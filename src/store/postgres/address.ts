import { readFileSync } from 'node:fs'
import type { ConnectionOptions } from 'node:tls'
import type { ClientConfig } from 'pg'
import { AddressError } from './errors.ts'

/** A server that `STORE_URL` names. */
export interface Server {
  /** Its host and port, for messages. */
  readonly place: string
  readonly connection: ClientConfig
}

/** The address of a store on PostgreSQL. */
export interface PostgresAddress {
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
  const { ssl, notices } = tlsOf(parameters)
  for (const name of ['target_session_attrs', 'host', 'port']) parameters.delete(name)

  const [first, ...others] = hosts.map((host) => {
    const rest = new URLSearchParams(parameters)
    // A path of a socket cannot stand in the authority.
    const isSocket = host.startsWith('/')
    if (isSocket) rest.set('host', host)
    const connectionString = `${scheme}${user}${isSocket ? 'localhost' : host}${path}${rest.size > 0 ? `?${rest}` : ''}`
    if (!URL.canParse(connectionString) || (host === '' && hosts.length > 1)) {
      throw new AddressError('is not a PostgreSQL address; write postgres://user:password@host:5432,other:5432/name')
    }
    return { place: placeOf(host), connection: { connectionString, ...(ssl !== undefined && { ssl }) } }
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

/** The encryption of a connection. */
interface Tls {
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
function tlsOf(parameters: URLSearchParams): Tls {
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
