import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflateRaw, inflate as inflateZlib, type ZlibOptions } from 'node:zlib'
import { hasZlibHeader } from '../body/bytes.ts'

type Inflater = (bytes: Buffer, limits: ZlibOptions) => Promise<Buffer>

const zlib: Inflater = promisify(inflateZlib)
const raw: Inflater = promisify(inflateRaw)

const INFLATERS = new Map<string, Inflater>([
  ['gzip', promisify(gunzip)],
  ['x-gzip', promisify(gunzip)],
  // RFC 9110 defines "deflate" as zlib, but some servers omit the zlib wrapper.
  ['deflate', (bytes, limits) => (hasZlibHeader(bytes) ? zlib : raw)(bytes, limits)],
  ['br', promisify(brotliDecompress)],
])

/**
 * Inflates a body as its `Content-Encoding` says; undefined if it is not compressed, or not in that way. Rejects with a
 * `RangeError` above the limit.
 */
export async function inflate(bytes: Buffer, coding: string, limitBytes: number): Promise<Buffer | undefined> {
  const inflater = INFLATERS.get(coding.trim().toLowerCase())
  try {
    return await inflater?.(bytes, { maxOutputLength: limitBytes })
  } catch (error) {
    if (error instanceof RangeError) throw error
    return undefined
  }
}
