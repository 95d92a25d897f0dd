import type { Answer } from '../answer.ts'
import type { BrownoutWindow } from './brownouts.ts'

/** When version 1 was deprecated: 1 January 2026. */
export const DEPRECATED_AT = Date.UTC(2026, 0, 1)

/** The notice of the end of version 1 that a caller gets. */
export interface Deprecation {
  /** The headers of every reply on a legacy path. */
  readonly headers: Answer['headers']
  /** When version 1 ends. */
  readonly sunset: Date | undefined
  /** The address of the migration guide. */
  readonly guide: string | undefined
  /** The brownouts, in order and without overlap. */
  readonly windows: readonly BrownoutWindow[]
  /** True if new bookings are refused in a brownout, too. */
  readonly coversBookings: boolean
}

export interface DeprecationOptions {
  readonly sunset?: Date | undefined
  readonly guide?: URL | undefined
  readonly windows?: readonly BrownoutWindow[] | undefined
  readonly coversBookings?: boolean | undefined
}

/** Makes the deprecation of a caller, with its headers: RFC 9745 (Deprecation), RFC 8594 (Sunset) and their links. */
export function deprecationOf({
  sunset,
  guide,
  windows = [],
  coversBookings = false,
}: DeprecationOptions): Deprecation {
  const relations = ['deprecation', ...(sunset ? ['sunset'] : [])]
  return {
    headers: {
      Deprecation: `@${DEPRECATED_AT / 1000}`,
      ...(sunset && { Sunset: sunset.toUTCString() }),
      ...(guide && { Link: relations.map((rel) => `<${guide.href}>; rel="${rel}"; type="text/html"`).join(', ') }),
    },
    sunset,
    guide: guide?.href,
    windows,
    coversBookings,
  }
}
