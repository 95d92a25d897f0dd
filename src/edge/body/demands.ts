import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import type { Call, Share } from '../../runtime/call.ts'
import { readBytes } from './bytes.ts'
import { streamedBody } from './streamed-body.ts'

/** How the body of a route's calls is taken. */
export interface BodyDemand<Body> {
  readonly receive: (incoming: IncomingMessage, share: Share) => ArrivedBody<Body> | Promise<ArrivedBody<Body>>
  /** True for explanations, which take memory and time of their own. */
  readonly isExplained: boolean
}

/** A body that has arrived, or that streams. */
interface ArrivedBody<Body> {
  readonly lengthBytes: number
  /** Reads what the body says, once there is room for the call. */
  readonly read: (call: Call) => Body
}

/** Reads what the bytes of a body say. The bytes of a query are none. */
export type ReadBody<Body> = (bytes: Buffer, incoming: IncomingMessage, call: Call) => Body

const NO_BODY = Buffer.alloc(0)
const nothing: ArrivedBody<undefined> = { lengthBytes: 0, read: () => undefined }

/** A body that nobody reads. */
export const untouched: BodyDemand<undefined> = { receive: () => nothing, isExplained: false }

/** A whole body of at most so many bytes. */
export const whole = <Body>(mostBytes: number, read: ReadBody<Body>): BodyDemand<Body> => ({
  receive: async (incoming, share) => {
    const bytes = isQuery(incoming) ? leaveBody(incoming) : await readBytes(incoming, mostBytes, share)
    return { lengthBytes: bytes.length, read: (call) => read(bytes, incoming, call) }
  },
  isExplained: false,
})

/** A whole body that is explained to anybody who sends it. */
export const explained = <Body>(mostBytes: number, read: ReadBody<Body>): BodyDemand<Body> => ({
  ...whole(mostBytes, read),
  isExplained: true,
})

/** A body of any size: a small one is read, because that costs less than a stream and can be sent again, another one streams. */
export const streamed: BodyDemand<Buffer | Readable | null> = {
  receive: async (incoming, share) => {
    const { 'content-length': length, 'content-encoding': coding } = incoming.headers
    const isSmall = coding === undefined && Number(length) > 0 && Number(length) <= SMALL_BYTES
    const body = isSmall ? await readBytes(incoming, SMALL_BYTES, share) : streamOf(incoming, share)
    return { lengthBytes: isSmall ? Number(length) : 0, read: () => body }
  },
  isExplained: false,
}

const SMALL_BYTES = 64 * 1024

/** Returns a body that is not small as a stream; null if there is none. */
function streamOf(incoming: IncomingMessage, share: Share): Readable | null {
  const { 'transfer-encoding': coding, 'content-length': length } = incoming.headers
  if (coding === undefined && Number(length ?? 0) === 0) return null
  share.streamBody(length === undefined ? Number.POSITIVE_INFINITY : Number(length))
  const body = streamedBody(incoming)
  // A body without a reader must not go on buffering.
  share.hold(() => body.destroy())
  return body
}

export const isQuery = ({ method }: IncomingMessage) => method === 'GET' || method === 'HEAD'

/** The body of a `GET` has no meaning and is discarded as it arrives, because Node would keep it for the call. */
function leaveBody(incoming: IncomingMessage): Buffer {
  if (!incoming.complete) incoming.resume()
  return NO_BODY
}

/** The memory of an explanation, as a multiple of what it explains. */
const EXPLANATION_FACTOR = 8

/** Returns the largest body that a source can have explained, of those that it can send. */
export const mostExplainedBytes = (largestBodyBytes: number): number =>
  Math.floor(largestBodyBytes / EXPLANATION_FACTOR)

let lastExplanation = Promise.resolve()

/** Reserves the memory of an explanation, and waits: one in a turn of the event loop, so that calls go on between them. */
export async function makeRoomToExplain(share: Share, lengthBytes: number): Promise<void> {
  share.takeBody((EXPLANATION_FACTOR - 1) * lengthBytes)
  lastExplanation = lastExplanation.then(() => new Promise(setImmediate))
  await lastExplanation
}
