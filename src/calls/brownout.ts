import { type Deprecation, windowAt } from '../deprecation/deprecation.ts'
import { type GatewayError, gatewayError } from '../errors.ts'
import type { Action } from '../mapping/action.ts'
import { SUPPORT } from '../messages.ts'
import { isApproval } from './approve.ts'

/** Returns the error of a legacy call in a brownout; undefined outside of one, and for a booking that it spares. */
export function brownoutError(
  action: Action | undefined,
  { windows, coversBookings, sunset, guide }: Deprecation,
  now: () => number,
): GatewayError | undefined {
  if (windows.length === 0) return undefined
  const window = windowAt(windows, now())
  if (!window || (!coversBookings && action && books(action))) return undefined
  const seconds = Math.max(1, Math.ceil((window.end - now()) / 1000))
  return gatewayError(
    'brownout',
    {
      until: minuteOf(window.end),
      end: sunset ? ` It ends on ${dayOf(sunset)}.` : '',
      guide: guide === undefined ? `ask ${SUPPORT} how` : `read ${guide}`,
    },
    { headers: { 'Retry-After': String(seconds) } },
  )
}

/** Tells if an action may make a shipment. */
const books = (action: Action): boolean => action.service.notIdempotent === true || isApproval(action)

const DATE_CHARACTERS = 10
const MINUTE_CHARACTERS = 16

const dayOf = (date: Date) => date.toISOString().slice(0, DATE_CHARACTERS)
const minuteOf = (moment: number) =>
  `${new Date(moment).toISOString().slice(0, MINUTE_CHARACTERS).replace('T', ' ')} UTC`
