import type { IncomingMessage } from 'node:http'
import { promisify } from 'node:util'
import { gunzip, inflate, inflateRaw, type ZlibOptions } from 'node:zlib'
import { GatewayError } from '../errors.ts'

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

/** The whole body of a request, inflated, never more than `limitBytes` of it; the socket is left to the server. */
export async function readBytes(incoming: IncomingMessage, limitBytes: number): Promise<Buffer> {
  const encoding = incoming.headers['content-encoding']?.trim().toLowerCase() ?? ''
  if (!UNPACKERS.has(encoding)) {
    throw unreadable('The Content-Encoding of the body is not known here. Send gzip, deflate or a plain body.')
  }
  if (Number(incoming.headers['content-length']) > limitBytes) throw tooLarge(limitBytes)

  const bytes = await collect(incoming, limitBytes)
  const unpack = UNPACKERS.get(encoding)
  if (unpack === undefined || bytes.length === 0) return bytes

  try {
    return await unpack(bytes, { maxOutputLength: limitBytes })
  } catch (cause) {
    if (cause instanceof RangeError) throw tooLarge(limitBytes)
    throw unreadable('The body is not what its Content-Encoding says. Send it whole, or send it plain.', cause)
  }
}

function collect(incoming: IncomingMessage, limitBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let lengthBytes = 0
    let isSettled = false
    const onGone = (cause?: unknown) => {
      if (isSettled) return
      isSettled = true
      reject(unreadable('The connection closed before the whole body arrived. Send the request again.', cause))
    }

    // A stream that is already over emits nothing more, and would never settle this promise.
    if (incoming.destroyed || incoming.readableEnded) return onGone(incoming.errored)

    // None of these listeners is taken off again: taking each off would cost as much as putting it on.
    incoming.on('data', (chunk: Buffer) => {
      if (isSettled) return
      lengthBytes += chunk.length
      chunks.push(chunk)
      if (lengthBytes <= limitBytes) return
      isSettled = true
      chunks.length = 0
      // Paused, not destroyed: the reply has yet to go out on this socket; the server then drains the rest.
      incoming.pause()
      reject(tooLarge(limitBytes))
    })
    incoming.on('end', () => {
      isSettled = true
      const [only] = chunks
      resolve(chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks, lengthBytes))
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
  return new GatewayError('body-too-large', `The body is larger than ${limitBytes} bytes. Send a smaller one.`)
}

function unreadable(message: string, cause?: unknown): GatewayError {
  return new GatewayError('body-unreadable', message, { cause })
}
