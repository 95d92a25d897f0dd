import type { Config } from '../config/config.ts'
import { CommandFailed, isSystemError } from './failures.ts'

/** The addresses that the gateway listens on. */
type Listeners = Pick<Config, 'HOST' | 'PORT' | 'ADMIN_HOST' | 'ADMIN_PORT'>

/** Returns an error that names the setting of an address that cannot be used; any other error unchanged. */
export function listenFailure(error: unknown, config: Listeners): unknown {
  if (!isSystemError(error) || !/^(listen|bind|getaddrinfo)$/.test(error.syscall ?? '')) return error
  const { host, port, names } = listenerOf(error, config)
  switch (error.code) {
    case 'EADDRINUSE':
      return new CommandFailed(`port ${port} on ${host} is in use; stop what listens there or change ${names.port}`)
    case 'EACCES':
      return new CommandFailed(`no permission to listen on port ${port}; change ${names.port} to one above 1023`)
    case 'EADDRNOTAVAIL':
      return new CommandFailed(`${names.host} is ${host}, which is not an address of this machine`)
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return new CommandFailed(`${names.host} is ${host}, a name without an address (${error.code})`)
    default:
      return new CommandFailed(
        `cannot listen on port ${port} of ${host} (${error.code}); see ${names.host} and ${names.port}`,
      )
  }
}

/** Node reports the address or the name; a worker may report only the port. */
function listenerOf(error: NodeJS.ErrnoException, { HOST, PORT, ADMIN_HOST, ADMIN_PORT }: Listeners) {
  const tried = { address: undefined, hostname: undefined, port: undefined, ...error }
  const host = tried.hostname ?? tried.address
  const isAdmin =
    tried.port === undefined || PORT === ADMIN_PORT ? host === ADMIN_HOST && host !== HOST : tried.port === ADMIN_PORT
  return isAdmin
    ? { host: ADMIN_HOST, port: ADMIN_PORT, names: { host: 'ADMIN_HOST', port: 'ADMIN_PORT' } }
    : { host: HOST, port: PORT, names: { host: 'HOST', port: 'PORT' } }
}
