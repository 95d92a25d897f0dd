import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { hostname } from 'node:os'
import type { Config } from '../../language/config/config.ts'
import { gatewayError } from '../../language/errors.ts'

/**
 * Checks requests that need no credential: a browser sends them for any page that its user opens, even to loopback. Other programs send no
 * `Origin` and no `Sec-Fetch-Site`, and pass.
 */
export type BrowserChecks = ReturnType<typeof createBrowserChecks>

/** Makes the checks of a gateway that may be reached by these names, besides those that it recognizes itself. */
export function createBrowserChecks(
  { names, origins }: NonNullable<Config['ALLOWED_HOSTS']> = { names: [], origins: [] },
) {
  const allowedOrigins = new Set(origins)
  const allowedNames = new Set(
    ['localhost', hostname(), ...names, ...origins.map((origin) => new URL(origin).hostname)].map(nameOf),
  )
  let lastAllowed: string | undefined
  return {
    /** Throws if a page of another site sent the request. */
    demandOwnOrigin: ({ headers, socket }: IncomingMessage): void => {
      const site = headers['sec-fetch-site']
      if (site !== undefined && site !== 'none' && site !== 'same-origin') throw gatewayError('origin-foreign', {})
      const { origin, host } = headers
      if (origin === undefined || allowedOrigins.has(origin)) return
      const scheme = 'encrypted' in socket ? 'https' : 'http'
      if (host === undefined || !ORIGIN.test(origin) || originOf(origin) !== originOf(`${scheme}://${host}`)) {
        throw gatewayError('origin-foreign', {})
      }
    },
    /**
     * Throws if the `Host` is not one of the gateway's names. The owner of any name can point it at the gateway, and a browser then treats
     * the owner's pages as the gateway's own (DNS rebinding). An IP address is safe.
     */
    demandOwnHost: ({ headers: { host } }: IncomingMessage): void => {
      // An HTTP/1.0 caller may send no `Host`; a browser always sends one.
      if (host === undefined || host === lastAllowed) return
      const name = nameOf(host)
      if (isIP(name) === 0 && !allowedNames.has(name))
        throw gatewayError('host-unknown', { name: name.slice(0, LONGEST_NAME_CHARACTERS) })
      lastAllowed = host
    },
  }
}

const ORIGIN = /^https?:\/\/[^/@?#]+$/i
const PORT = /:\d*$/

/** Returns an origin without its default port; undefined if it is not an origin. */
function originOf(text: string): string | undefined {
  return URL.canParse(text) ? new URL(text).origin : undefined
}

/** Returns the name or address in a `Host`. */
function nameOf(host: string): string {
  const name = host.startsWith('[') ? host.slice(1, host.lastIndexOf(']')) : host.replace(PORT, '')
  return name.toLowerCase().replace(/\.$/, '')
}

const LONGEST_NAME_CHARACTERS = 253
