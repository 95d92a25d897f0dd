import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate as inflateZlib } from 'node:zlib'

const INFLATERS = new Map([
  ['gzip', promisify(gunzip)],
  ['x-gzip', promisify(gunzip)],
  ['deflate', promisify(inflateZlib)],
  ['br', promisify(brotliDecompress)],
])

/**
 * Inflates what a `Content-Encoding` says is compressed; undefined where it is not, or not as it says. Rejects with a
 * `RangeError` what is larger than the limit.
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
