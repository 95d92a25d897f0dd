import type { IncomingMessage } from 'node:http'
import { promisify } from 'node:util'
import { gunzip, inflate, inflateRaw, type ZlibOptions } from 'node:zlib'
import { type GatewayError, gatewayError } from '../errors.ts'
import { createGrowingBuffer, type GrowingBuffer } from './growing-buffer.ts'

type Unpack = (bytes: Buffer, limits: ZlibOptions) => Promise<Buffer>

const unpackGzip: Unpack = promisify(gunzip)
const unpackZlib: Unpack = promisify(inflate)
const unpackRaw: Unpack = promisify(inflateRaw)

// RFC 9110 means zlib by "deflate", but senders that omit the wrapper are as old as the header.
const unpackDeflate: Unpack = (bytes, limits) => (hasZlibHeader(bytes) ? unpackZlib : unpackRaw)(bytes, limits)

const UNPACKERS = new Map<string, Unpack | undefined>([
  ['', undefined],
  ['identity', undefined],
  ['gzip', unpackGzip],
  ['x-gzip', unpackGzip],
  ['deflate', unpackDeflate],
])

/** The memory that the body of one request takes, out of what there is for the bodies of all. */
export interface BodyMemory {
  /** Throws if there is not room for so many bytes now. */
  readonly expectBody: (bytes: number) => void
  /** Takes room for so many bytes more; throws if there is not enough. */
  readonly takeBody: (bytes: number) => void
  readonly returnBody: (bytes: number) => void
}

/**
 * Reads the whole body of a request and inflates it, up to `limitBytes`. The socket is left to the server, and so is what
 * the body takes of the memory, until the call is over.
 */
export async function readBytes(incoming: IncomingMessage, limitBytes: number, memory: BodyMemory): Promise<Buffer> {
  const encoding = incoming.headers['content-encoding']?.trim().toLowerCase() ?? ''
  if (!UNPACKERS.has(encoding)) {
    throw gatewayError('body-unreadable/encoding', {})
  }
  const declaredBytes = Number(incoming.headers['content-length'] ?? 0)
  if (declaredBytes > limitBytes) throw tooLarge(limitBytes)
  memory.expectBody(declaredBytes)

  const received = createGrowingBuffer({
    mostBytes: declaredBytes || limitBytes,
    reserve: (size) => memory.takeBody(size),
  })
  await collect(incoming, received, limitBytes)
  const bytes = received.take()
  const unpack = UNPACKERS.get(encoding)
  if (unpack === undefined || bytes.length === 0) return bytes

  // A few bytes may become as many as are allowed.
  memory.takeBody(limitBytes - bytes.length)
  try {
    const unpacked = await unpack(bytes, { maxOutputLength: limitBytes })
    memory.returnBody(limitBytes - unpacked.length)
    return unpacked
  } catch (cause) {
    if (cause instanceof RangeError) throw tooLarge(limitBytes)
    throw gatewayError('body-unreadable/compression', {}, { cause })
  }
}

/**
 * Fills a buffer with a body, up to a limit. It does not resolve with the bytes: the listeners stay on the request, and
 * would keep them in memory as long as the call takes.
 */
function collect(incoming: IncomingMessage, received: GrowingBuffer, limitBytes: number): Promise<void> {
  return new Promise((resolve, reject) => {
    let isSettled = false
    const onGone = (cause?: unknown) => {
      if (isSettled) return
      isSettled = true
      reject(gatewayError('body-unreadable/incomplete', {}, { cause }))
    }

    // A stream that is already over emits nothing more, and would never settle this promise.
    if (incoming.destroyed || incoming.readableEnded) return onGone(incoming.errored)

    // None of these listeners is taken off again: taking each off would cost as much as putting it on.
    incoming.on('data', (chunk: Buffer) => {
      if (isSettled) return
      try {
        if (received.lengthBytes() + chunk.length > limitBytes) throw tooLarge(limitBytes)
        received.append(chunk)
      } catch (error) {
        isSettled = true
        received.take()
        // Paused, not destroyed: the reply has yet to go out on this socket; the server then drains the rest.
        incoming.pause()
        reject(error)
      }
    })
    incoming.on('end', () => {
      isSettled = true
      resolve()
    })
    incoming.on('error', onGone).on('close', onGone)
    // Only a stream that nobody paused flows by itself when it gets a listener.
    if (incoming.isPaused()) incoming.resume()
  })
}

const ZLIB_METHOD_DEFLATE = 8
const ZLIB_CHECK_DIVISOR = 31

/** Tells whether bytes begin as RFC 1950, 2.2, says: the method in the low four bits, both bytes a multiple of 31. */
export function hasZlibHeader(bytes: Buffer): boolean {
  const [method = 0, flags = 0] = bytes
  return (method & 0x0f) === ZLIB_METHOD_DEFLATE && (method * 256 + flags) % ZLIB_CHECK_DIVISOR === 0
}

function tooLarge(limitBytes: number): GatewayError {
  return gatewayError('body-too-large', { bytes: limitBytes })
}
