/** Promise: the usage of a source is remembered while it has some (contract, section 5). */

import { expect, test } from 'vitest'
import { createUsages } from '../../src/callers/limits.ts'

test('the usage of a source is remembered while it has some, and that of ten thousand others', () => {
  const usageOf = createUsages()
  const idle = usageOf('idle')
  expect(idle).toEqual({ connections: 0, requests: 0, calls: 0, bodyBytes: 0 })
  expect(usageOf('idle')).toBe(idle)
  const kinds = ['connections', 'requests', 'calls', 'bodyBytes'] as const
  for (const kind of kinds) usageOf(kind)[kind] += 1
  const busy = kinds.map(usageOf)
  for (let i = 5; i < 10_000; i += 1) usageOf(`source ${i}`)
  expect(usageOf('idle')).toBe(idle)
  usageOf('one more')
  expect(usageOf('idle')).not.toBe(idle)
  expect(kinds.map(usageOf)).toEqual(busy)
})
