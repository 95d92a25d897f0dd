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
