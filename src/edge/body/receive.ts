import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { type GatewayError, gatewayError } from '../../language/errors.ts'
import { inflaters } from '../../language/text/decode.ts'
import type { Call, Share } from '../../runtime/call.ts'

/** How a route receives the bodies of its calls. */
export interface BodyDemand<Body> {
  readonly receive: (incoming: IncomingMessage, share: Share) => ArrivedBody<Body> | Promise<ArrivedBody<Body>>
  /** True for explanations, which take memory and time of their own. */
  readonly isExplained: boolean
}

/** A body that has arrived, or that streams. */
interface ArrivedBody<Body> {
  /** How many bytes there are to read; 0 for a body that is only passed on. */
  readonly lengthBytes: number
  /** Reads what the body says, once there is room for the call. */
  readonly read: (call: Call) => Body
}

/** Reads what the bytes of a body say; a query has no bytes. */
export type ReadBody<Body> = (bytes: Buffer, incoming: IncomingMessage, call: Call) => Body

const EMPTY: Buffer = Buffer.alloc(0)
const nothing: ArrivedBody<undefined> = { lengthBytes: 0, read: () => undefined }

/** A body that nobody reads. */
export const untouched: BodyDemand<undefined> = { receive: () => nothing, isExplained: false }

/** A whole body of at most `mostBytes`. */
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

/** A body of any size. A small one is read whole, which costs less than a stream and lets it be sent again; any other one streams. */
export const streamed: BodyDemand<Buffer | Readable | null> = {
  receive: async (incoming, share) => {
    const { 'content-length': length, 'content-encoding': coding } = incoming.headers
    const isSmall = coding === undefined && Number(length) > 0 && Number(length) <= SMALL_BYTES
    const body = isSmall ? await readBytes(incoming, SMALL_BYTES, share) : streamOf(incoming, share)
    return { lengthBytes: 0, read: () => body }
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
  // A body that has lost its reader must stop buffering.
  share.hold(() => body.destroy())
  return body
}

export const isQuery = ({ method }: IncomingMessage) => method === 'GET' || method === 'HEAD'

/** The body of a `GET` has no meaning. It is discarded on arrival, because Node would keep it for the whole call. */
function leaveBody(incoming: IncomingMessage): Buffer {
  if (!incoming.complete) incoming.resume()
  return EMPTY
}

/** The memory of an explanation, as a multiple of what it explains. */
const EXPLANATION_FACTOR = 8

/** Returns the largest body that one source can have explained, given the largest one that it can send. */
export const mostExplainedBytes = (largestBodyBytes: number): number =>
  Math.floor(largestBodyBytes / EXPLANATION_FACTOR)

/** A shorter body is read in well under a millisecond. */
const QUICKLY_READ_BYTES = 4_096

/** Two queues, so that no call waits for other callers' explanations. */
const lastTurns = { explanations: Promise.resolve(), 'long bodies': Promise.resolve() }

/**
 * Reserves the memory of an explanation. Explanations and long bodies wait: one per turn of the event loop, so that calls proceed between
 * them.
 */
export function makeRoomToRead(share: Share, lengthBytes: number, isExplained: boolean): Promise<void> | undefined {
  if (isExplained) share.takeBody((EXPLANATION_FACTOR - 1) * lengthBytes)
  else if (lengthBytes <= QUICKLY_READ_BYTES) return undefined
  const line = isExplained ? 'explanations' : 'long bodies'
  lastTurns[line] = lastTurns[line].then(() => new Promise(setImmediate))
  return lastTurns[line]
}

/* A whole body */

/** Encodings without compression. Some senders put a charset or an encoding of mail there, and the old host ignored it. */
const NO_COMPRESSION = /^(?:|identity|none|plain|binary|[78]bit|us-ascii|(?:utf|iso|windows)-?[\d-]+)$/

/**
 * Reads a request's whole body and inflates it, up to `limitBytes`. The socket is left to the server, and the memory stays reserved until
 * the call is over.
 */
export async function readBytes(incoming: IncomingMessage, limitBytes: number, share: Share): Promise<Buffer> {
  const encoding = incoming.headers['content-encoding']?.trim().toLowerCase() ?? ''
  const inflate = inflaters.get(encoding)
  if (!inflate && !NO_COMPRESSION.test(encoding)) throw gatewayError('body-unreadable/encoding', {})
  const declaredBytes = Number(incoming.headers['content-length'] ?? 0)
  try {
    if (declaredBytes > limitBytes) throw tooLarge(limitBytes)
    share.expectBody(declaredBytes)
  } catch (error) {
    // Otherwise the beginning of each refused body stays in memory until the next garbage collection.
    incoming.on('data', freePart)
    throw error
  }

  const bytes = await received(incoming, declaredBytes, limitBytes, share)
  if (!inflate || bytes.length === 0) return bytes

  // A few compressed bytes may inflate to the limit.
  share.takeBody(limitBytes - bytes.length)
  try {
    const inflated = await inflate(bytes, { maxOutputLength: limitBytes })
    share.returnBody(limitBytes - inflated.length)
    return inflated
  } catch (cause) {
    if (cause instanceof RangeError) throw tooLarge(limitBytes)
    throw gatewayError('body-unreadable/compression', {}, { cause })
  }
}

/** Returns a body as it arrives, up to a limit. */
async function received(
  incoming: IncomingMessage,
  declaredBytes: number,
  limitBytes: number,
  share: Share,
): Promise<Buffer> {
  const all = createGrowingBuffer((bytes) => share.takeBody(bytes), declaredBytes || limitBytes)
  let isSettled = false
  // It does not resolve with the bytes, because the listeners stay on the request and would keep them for the whole call.
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  // An error is followed by a close, which changes nothing.
  const onGone = (cause?: unknown) => {
    if (!isSettled) reject(gatewayError('body-unreadable/incomplete', {}, { cause }))
  }
  // The listeners stay: removing each would cost as much as adding it.
  incoming.on('data', (part: Buffer) => {
    if (isSettled) return freePart(part)
    try {
      if (all.lengthBytes() + part.length > limitBytes) throw tooLarge(limitBytes)
      all.append(part)
    } catch (error) {
      isSettled = true
      all.take()
      // Paused, not destroyed: the reply still needs this socket, and the server then drains the rest.
      incoming.pause()
      reject(error)
    }
  })
  incoming.on('end', () => {
    isSettled = true
    resolve()
  })
  incoming.on('error', onGone).on('close', onGone)
  // A stream that has ended emits no more events, and the promise would never settle.
  if (incoming.destroyed || incoming.readableEnded) onGone(incoming.errored)
  // A stream that is paused already does not resume when a listener is added.
  else if (incoming.isPaused()) incoming.resume()
  await promise
  return all.take()
}

function tooLarge(limitBytes: number): GatewayError {
  return gatewayError('body-too-large', { bytes: limitBytes })
}

/** A replaced buffer stays in memory until the next garbage collection; larger steps leave less garbage. */
const GROWTH = 4

/**
 * Makes a buffer that grows with its content. It copies parts, because each part costs about 600 bytes of objects, and a caller can send a
 * whole body in parts of one byte. `reserve` is called before memory is taken, and may throw.
 */
export function createGrowingBuffer(reserve: (bytes: number) => void = () => {}, mostBytes = Number.POSITIVE_INFINITY) {
  let held = EMPTY
  let filledBytes = 0
  return {
    append: (part: Buffer): void => {
      const wantedBytes = filledBytes + part.length
      if (filledBytes === 0) {
        // Most bodies come in one part.
        reserve(part.length)
        held = part
      } else {
        if (wantedBytes > held.length) {
          const sizeBytes = Math.max(wantedBytes, Math.min(mostBytes, GROWTH * held.length))
          reserve(sizeBytes - held.length)
          const larger = Buffer.allocUnsafeSlow(sizeBytes)
          held.copy(larger, 0, 0, filledBytes)
          freePart(held)
          held = larger
        }
        part.copy(held, filledBytes)
        freePart(part)
      }
      filledBytes = wantedBytes
    },
    lengthBytes: () => filledBytes,
    /** Returns all bytes and resets the buffer. */
    take: () => {
      const bytes = held.length === filledBytes ? held : held.subarray(0, filledBytes)
      held = EMPTY
      filledBytes = 0
      return bytes
    },
  }
}

/** Smaller parts are not worth the call. */
const LEAST_BYTES = 4_096

/**
 * Frees the memory of a part of a body that nothing reads any more. Otherwise it stays until the next garbage collection, which counts
 * small objects and not their bytes: dozens of megabytes under many large bodies.
 */
export function freePart(part: Buffer): void {
  const { buffer } = part
  // A part that shares its memory with others has to stay.
  if (part.length >= LEAST_BYTES && buffer instanceof ArrayBuffer && buffer.byteLength === part.length) {
    buffer.transfer(0)
  }
}

/* A streamed body */

const PART_BYTES = 64 * 1024
/** With smaller parts, Node would hold hundreds of objects while the body waits for its reader. */
const SMALLEST_PART_BYTES = 512

/**
 * Returns a request's body as a stream of larger parts. Node limits its own buffer in bytes, not in parts, and each part costs 600 bytes of
 * objects. Destroying the stream leaves the request intact, because it may still need an answer.
 */
export function streamedBody(incoming: IncomingMessage): Readable {
  const pending = createGrowingBuffer()
  let parts = 0
  let receivedBytes = 0
  let isWanted = false
  let scheduled: NodeJS.Immediate | undefined
  let isOver = false

  const handOn = () => {
    scheduled = undefined
    if (isWanted && pending.lengthBytes() > 0) isWanted = body.push(pending.take())
    if (isOver && pending.lengthBytes() === 0) body.push(null)
  }
  const schedule = () => {
    if (!scheduled) scheduled = setImmediate(handOn)
  }
  const body = new Readable({
    highWaterMark: PART_BYTES,
    read: () => {
      isWanted = true
      if (pending.lengthBytes() > 0 || isOver) schedule()
      if (incoming.isPaused()) incoming.resume()
    },
    destroy: (error, done) => {
      incoming.off('data', onData).pause()
      pending.take()
      done(error)
    },
  })
  const onData = (part: Buffer) => {
    parts += 1
    receivedBytes += part.length
    pending.append(part)
    if (pending.lengthBytes() < PART_BYTES) {
      if (isWanted) schedule()
    } else if (isWanted) {
      handOn()
    } else {
      incoming.pause()
      if (receivedBytes / parts < SMALLEST_PART_BYTES) body.destroy(gatewayError('body-unreadable/chunks', {}))
    }
  }
  // The reader handles errors. Until there is a reader, errors must not end the process.
  body.on('error', () => {})
  incoming.on('data', onData)
  incoming.on('end', () => {
    isOver = true
    schedule()
  })
  incoming.on('error', (error) => body.destroy(error))
  incoming.on('close', () => {
    if (!isOver) body.destroy(new Error('The connection closed before the whole body arrived.'))
  })
  return body
}
