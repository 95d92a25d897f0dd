import type { IncomingHttpHeaders } from 'node:http'
import { decodeUnlabelled } from './body-text.ts'
import type { Config } from './config.ts'
import { GatewayError } from './errors.ts'

/** Who calls, and what the service is told about it. */
export interface Caller {
  /** Separates cross-references, limits and connections. */
  readonly tenant: string
  /** What goes to the service as `Authorization`. */
  readonly authorization: string
}

/** How callers are told apart, and whose credential goes to the service. */
export interface Credentials {
  readonly mode: 'client' | 'fixed'
  /** The caller of a legacy call; throws `credential-missing`. */
  readonly identify: (headers: IncomingHttpHeaders) => Caller
  /** The caller, where the gateway itself has verified who it is; a dry run shows such a caller its own numbers. */
  readonly verified: (headers: IncomingHttpHeaders) => Caller | undefined
  /** What a passed-through call sends as `Authorization`; undefined sends none. */
  readonly passThrough: (headers: IncomingHttpHeaders) => string | undefined
}

/** Chooses the mode that the configuration asks for. */
export function createCredentials(config: Config): Credentials {
  const { V2_CLIENT_ID: id, V2_CLIENT_SECRET: secret } = config
  return id === undefined || secret === undefined ? clientCredentials : fixedCredentials(id, secret)
}

/** The caller's own credential goes to the service, which verifies it. */
const clientCredentials: Credentials = {
  mode: 'client',
  identify: ({ authorization }) => {
    const id = basicId(authorization)
    if (authorization !== undefined && id !== undefined) return { tenant: id, authorization }
    throw new GatewayError(
      'credential-missing',
      'No usable credential was sent. Send the Client ID and Client Secret of the service as HTTP Basic authentication.',
      { headers: { 'WWW-Authenticate': CHALLENGE } },
    )
  },
  verified: () => undefined,
  passThrough: ({ authorization }) => authorization,
}

/** One credential goes to the service, whatever the caller sent: the gateway stands beside one application. */
function fixedCredentials(id: string, secret: string): Credentials {
  const caller = { tenant: id, authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}` }
  return {
    mode: 'fixed',
    identify: () => caller,
    verified: () => caller,
    passThrough: ({ authorization }) => (isBearer(authorization) ? authorization : caller.authorization),
  }
}

/** The challenge of a reply with status 401. */
export const CHALLENGE = 'Basic realm="transload", charset="UTF-8"'

const BASIC = /^basic +([A-Za-z0-9+/_-]+={0,2}) *$/i

/** The id in a Basic credential (RFC 7617); undefined if it is none. */
function basicId(authorization: string | undefined): string | undefined {
  const encoded = BASIC.exec(authorization ?? '')?.[1]
  if (encoded === undefined) return undefined
  // Not UTF-8 alone: two ids that it cannot read would become one, and meet.
  const pair = decodeUnlabelled(Buffer.from(encoded, 'base64'))
  const colon = pair.indexOf(':')
  return colon > 0 ? pair.slice(0, colon) : undefined
}

function isBearer(authorization: string | undefined): boolean {
  return /^bearer /i.test(authorization ?? '')
}
