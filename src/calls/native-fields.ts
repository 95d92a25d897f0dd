import { type GatewayError, gatewayError } from '../errors.ts'
import type { UpstreamReply } from '../service/exchange.ts'
import { readJson } from '../service/service.ts'
import { scalarText } from '../text/json.ts'
import { FIELD_LIMIT, MESSAGE_LIMIT, shownText } from '../text/service-text.ts'
import { successIn } from './verify.ts'

/** The fields of the service's own version-1 answer. */
export type NativeFields = Readonly<Record<string, string>>

export const NUMBER = 'ShipmentNumber'
export const REFERENCE = 'ReferenceNumber'
export const VIN = 'VinNo'
export const BOOKED = 'TransportationBooked'
export const MESSAGE = 'Message'
/** The most fields of an answer; no documented one has as many. */
const MOST_FIELDS = 100

/** Returns the fields of a successful answer, safe to show; throws if it is none. */
export function fieldsIn(reply: UpstreamReply, of?: 'change'): NativeFields {
  const entries = Object.entries(successIn(readJson(reply, of === 'change'), of)).flatMap(([name, value]) => {
    const text = value === null ? '' : scalarText(value)
    return text === undefined ? [] : [[name, shownText(text, name === MESSAGE ? MESSAGE_LIMIT : FIELD_LIMIT)] as const]
  })
  return Object.fromEntries(entries.slice(0, MOST_FIELDS))
}

/** The error of an answer that is not the one to the request. */
export function doubtful(fault: string): GatewayError {
  return gatewayError('reply-doubtful', { fault })
}
