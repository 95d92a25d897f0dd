import type { IncomingMessage } from 'node:http'
import { type GatewayError, gatewayError } from '../../language/errors.ts'
import { inflaters } from '../../language/text/decode.ts'
import type { BodyMemory } from '../../runtime/call.ts'

/** Names of no compression; some senders put a charset there, or an encoding of mail. The old host ignored them. */
const NO_COMPRESSION = /^(?:|identity|none|plain|binary|[78]bit|us-ascii|(?:utf|iso|windows)-?[\d-]+)$/

/**
 * Reads the whole body of a request and inflates it, up to `limitBytes`. It leaves the socket to the server, and the
 * memory stays reserved until the call is over.
 */
export async function readBytes(incoming: IncomingMessage, limitBytes: number, memory: BodyMemory): Promise<Buffer> {
  const encoding = incoming.headers['content-encoding']?.trim().toLowerCase() ?? ''
  const inflate = inflaters.get(encoding)
  if (!inflate && !NO_COMPRESSION.test(encoding)) throw gatewayError('body-unreadable/encoding', {})
  const declaredBytes = Number(incoming.headers['content-length'] ?? 0)
  try {
    if (declaredBytes > limitBytes) throw tooLarge(limitBytes)
    memory.expectBody(declaredBytes)
  } catch (error) {
    // Otherwise the beginning of each refused body stays in memory until the next collection.
    incoming.on('data', freePart)
    throw error
  }

  const bytes = await received(incoming, declaredBytes, limitBytes, memory)
  if (!inflate || bytes.length === 0) return bytes

  // A few compressed bytes may inflate to the limit.
  memory.takeBody(limitBytes - bytes.length)
  try {
    const inflated = await inflate(bytes, { maxOutputLength: limitBytes })
    memory.returnBody(limitBytes - inflated.length)
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
  memory: BodyMemory,
): Promise<Buffer> {
  /** Most bodies come in one part. */
  let first: Buffer | undefined
  let all: GrowingBuffer | undefined
  let receivedBytes = 0
  let isSettled = false
  // It does not resolve with the bytes, because the listeners stay on the request and would keep them for the whole call.
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  // After an error comes a close, which changes nothing.
  const onGone = (cause?: unknown) => {
    if (!isSettled) reject(gatewayError('body-unreadable/incomplete', {}, { cause }))
  }
  // The listeners stay: removing each would cost as much as adding it.
  incoming.on('data', (part: Buffer) => {
    if (isSettled) return freePart(part)
    try {
      receivedBytes += part.length
      if (receivedBytes > limitBytes) throw tooLarge(limitBytes)
      if (all) all.append(part)
      else if (first) {
        const mostBytes = declaredBytes || limitBytes
        all = createGrowingBuffer({ first, mostBytes, reserve: (size) => memory.takeBody(size) })
        first = undefined
        all.append(part)
      } else {
        memory.takeBody(part.length)
        first = part
      }
    } catch (error) {
      isSettled = true
      first = undefined
      all = undefined
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
  // A stream that was paused before does not resume on its own when a listener is added.
  else if (incoming.isPaused()) incoming.resume()
  await promise
  const bytes = all?.take() ?? first ?? EMPTY
  first = undefined
  all = undefined
  return bytes
}

const EMPTY = Buffer.alloc(0)

function tooLarge(limitBytes: number): GatewayError {
  return gatewayError('body-too-large', { bytes: limitBytes })
}

/** A buffer for bytes that arrive in parts. */
interface GrowingBuffer {
  readonly append: (part: Buffer) => void
  readonly lengthBytes: () => number
  /** Returns all bytes and resets the buffer. */
  readonly take: () => Buffer
}

interface GrowingBufferOptions {
  /** The bytes that it begins with, for which memory is reserved already. @default none */
  readonly first?: Buffer
  /**
   * The largest size that the buffer will need.
   * @default not known
   */
  readonly mostBytes?: number
  /**
   * Called before the buffer allocates more memory; may throw.
   * @default no limit
   */
  readonly reserve?: (bytes: number) => void
}

/** A replaced buffer stays in memory until the next collection; larger steps leave less garbage. */
const GROWTH = 4

/**
 * Makes a buffer that grows with its content. It copies the parts: a part of one byte costs about 600 bytes of objects,
 * and a caller can send a whole body in such parts.
 */
export function createGrowingBuffer({
  first = EMPTY,
  mostBytes = Number.POSITIVE_INFINITY,
  reserve = () => {},
}: GrowingBufferOptions = {}): GrowingBuffer {
  let held = first
  let filledBytes = first.length
  return {
    append: (part) => {
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
 * Frees the memory of a part of a body that nothing reads any more. Without this, parts stay until the next garbage
 * collection, which counts small objects and not their bytes: dozens of megabytes under many large bodies.
 */
export function freePart(part: Buffer): void {
  const { buffer } = part
  // A part that shares its memory with others has to stay.
  if (part.length >= LEAST_BYTES && buffer instanceof ArrayBuffer && buffer.byteLength === part.length) {
    buffer.transfer(0)
  }
}
