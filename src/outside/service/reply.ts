import type { IncomingHttpHeaders } from 'node:http'
import { promisify } from 'node:util'
import { brotliDecompress } from 'node:zlib'
import { gatewayError } from '../../language/errors.ts'
import { type Inflate, inflaters, replyText } from '../../language/text/decode.ts'
import { parseJson } from '../../language/text/json.ts'

/** A whole reply from the service. */
export interface UpstreamReply extends ReplyContent {
  readonly headers: IncomingHttpHeaders
}

/** A reply without its headers. */
export interface ReplyContent {
  readonly status: number
  readonly body: Buffer
  /** The body's value, if it has been parsed already. */
  readonly json?: unknown
  /** True if the reply is a page with 404 of something in front of the service, whose own 404 is none. */
  readonly isForeign?: boolean
  /** True if it may be the service's own page all the same, for a name that is no UUID. */
  readonly mayLackPath?: boolean
}

/**
 * Parses the body of a successful reply, keeping all digits; undefined if it is empty, as some are. For a reply to a change, the error says
 * that the change may have been made.
 */
export function readJson({ body, json }: ReplyContent, isOfChange = false): unknown {
  if (json !== undefined) return json
  if (body.length === 0) return undefined
  try {
    return parseJson(replyText(body))
  } catch (cause) {
    throw gatewayError(isOfChange ? 'service-unreadable/json-change' : 'service-unreadable/json', {}, { cause })
  }
}

/** Returns a reply's parsed body; undefined if it is not JSON. */
export function parsedOrNothing(reply: ReplyContent): unknown {
  try {
    return readJson(reply)
  } catch {
    return undefined
  }
}

/** Reports whether a status is 2xx. */
export const isSuccess = (status: number) => status >= 200 && status < 300

/** Reports whether a reply is a page in HTML or XML. */
export const isPage = ({ body }: UpstreamReply): boolean =>
  replyText(body.subarray(0, MOST_BLANK)).trimStart().startsWith('<')

/** A page begins in less. */
const MOST_BLANK = 256

/** Reports whether the service says that it does not find what a request names by its id. */
export const isNotFound = ({ status, isForeign }: ReplyContent): boolean => LOOKED_FOR.has(status) && !isForeign

/** Returns true if a reply shows that the service accepts the credential. */
export function accepts(method: string, path: string, status: number): boolean {
  return isSuccess(status) || (LOOKED_FOR.has(status) && method === 'GET' && READ_OF_SHIPMENT.test(path))
}

/** Statuses of a read of a shipment after which the service has looked for it, so it accepted the credential. */
const LOOKED_FOR = new Set([404, 410])
const READ_OF_SHIPMENT = /^\/v2\/shipments?\/[^/]+$/

const INFLATERS = new Map<string, Inflate>([...inflaters, ['br', promisify(brotliDecompress)]])

/** Inflates a body by its `Content-Encoding`; undefined if it is not compressed that way. Rejects with a `RangeError` above the limit. */
export async function inflate(bytes: Buffer, coding: string, limitBytes: number): Promise<Buffer | undefined> {
  const inflater = INFLATERS.get(coding.trim().toLowerCase())
  try {
    return await inflater?.(bytes, { maxOutputLength: limitBytes })
  } catch (error) {
    if (error instanceof RangeError) throw error
    return undefined
  }
}
