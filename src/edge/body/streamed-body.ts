import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { gatewayError } from '../../language/errors.ts'
import { createGrowingBuffer } from './bytes.ts'

const PART_BYTES = 64 * 1024
/** With smaller parts, Node would hold hundreds of objects while the body waits for its reader. */
const SMALLEST_PART_BYTES = 512

/**
 * Returns the body of a request as a stream of larger parts. Node limits its own buffer in bytes, not in parts, and
 * each part costs 600 bytes of objects. Destroying the stream leaves the request intact, because it may still need an
 * answer.
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
  // The reader handles errors; before there is one, errors must not end the process.
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
