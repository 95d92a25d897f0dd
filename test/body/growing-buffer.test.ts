/** Promise: the memory of the parts of a body is free once they are joined (contract, section 2). */

import { expect, test } from 'vitest'
import { createGrowingBuffer } from '../../src/body/growing-buffer.ts'

const PART_BYTES = 64 * 1024

/** A part with memory of its own, as the parser of HTTP makes them. */
const partOf = (fill: number) => Buffer.alloc(PART_BYTES, fill)

test('the memory of each part is free as soon as the part is copied', () => {
  const buffer = createGrowingBuffer({ mostBytes: 3 * PART_BYTES })
  const parts = [1, 2, 3].map(partOf)
  for (const part of parts) buffer.append(part)
  expect(parts.map(({ buffer: { byteLength } }) => byteLength)).toEqual([0, 0, 0])
  expect(buffer.take()).toEqual(Buffer.concat([1, 2, 3].map(partOf)))
})

test('a part that shares its memory with others is left alone', () => {
  const buffer = createGrowingBuffer()
  const shared = partOf(7)
  const half = PART_BYTES / 2
  buffer.append(partOf(1))
  buffer.append(shared.subarray(0, half))
  expect(shared).toEqual(partOf(7))
  expect(buffer.lengthBytes()).toBe(PART_BYTES + half)
})

test('a body of one part is that part', () => {
  const buffer = createGrowingBuffer()
  const part = partOf(1)
  buffer.append(part)
  expect(buffer.take()).toBe(part)
})
