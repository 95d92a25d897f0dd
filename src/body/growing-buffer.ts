/** A buffer for bytes that arrive in parts. */
export interface GrowingBuffer {
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

const EMPTY = Buffer.alloc(0)
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
