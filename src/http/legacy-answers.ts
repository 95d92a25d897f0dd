import type { Answer } from '../answer.ts'
import type { Config } from '../config/config.ts'
import { type GatewayError, oneLine } from '../errors.ts'
import type { Endpoint } from '../mapping/catalog.ts'

/** When the version-1 interface was retired: 1 January 2026, in seconds since 1970 (RFC 9745). */
const DEPRECATED_AT = '@1767225600'

/** Returns the headers of every reply on a legacy path. */
export function legacyHeaders(config: Pick<Config, 'SUNSET' | 'MIGRATION_GUIDE_URL'>): Answer['headers'] {
  const guide = config.MIGRATION_GUIDE_URL?.href
  return {
    Deprecation: DEPRECATED_AT,
    // RFC 8594
    ...(config.SUNSET && { Sunset: config.SUNSET.toUTCString() }),
    ...(guide && { Link: `<${guide}>; rel="deprecation"; type="text/html"` }),
  }
}

/** Returns an error in the shape that version-1 callers of a path read; `own` is the caller's own number. */
export function legacyError(error: GatewayError, family: Endpoint['family'], own: string): Answer {
  const message = oneLine(error.message)
  const body =
    family === 'quote'
      ? { Cost: '', ShipmentNumber: own, Message: message }
      : { Message: message, TransportationBooked: error.code === 'outcome-unknown' ? 'Unknown' : 'No' }
  return { status: error.status, headers: error.headers, body: JSON.stringify(body) }
}
