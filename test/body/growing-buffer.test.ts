/** Promise: the memory of the parts of a body is free once they are joined (contract, section 2). */

import { expect, test } from 'vitest'
import { createGrowingBuffer } from '../../src/edge/body/receive.ts'

test('the memory of each part is free as soon as it is copied, unless it is shared with others', () => {
  const PART_BYTES = 64 * 1024
  const [one, two, shared] = [1, 2, 3].map((fill) => Buffer.alloc(PART_BYTES, fill)) as [Buffer, Buffer, Buffer]
  const half = shared.subarray(0, PART_BYTES / 2)
  const joined = Buffer.concat([one, two, half])
  const buffer = createGrowingBuffer()
  for (const part of [one, two, half]) buffer.append(part)
  expect([one, two, shared].map(({ buffer: { byteLength } }) => byteLength)).toEqual([0, 0, PART_BYTES])
  expect(buffer.take()).toEqual(joined)
})
