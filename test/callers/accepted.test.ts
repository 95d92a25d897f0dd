/** Promise: accepted credentials take a bounded part of the memory (contract, section 5). */

import { expect, test } from 'vitest'
import { createAcceptedCredentials } from '../../src/edge/callers/client.ts'

test('an accepted credential gives way to ten thousand others, or fewer that are long', () => {
  const { kept, open } = createAcceptedCredentials<number>()
  const accept = (header: string) => open(header, () => 0).acceptance.accepted()
  accept('first')
  for (let i = 0; i < 9_000; i += 1) accept(`Basic ${i}`)
  expect(kept.get('first')).toBeDefined()
  for (let i = 9_000; i < 19_000; i += 1) accept(`Basic ${i}`)
  expect(kept.get('first')).toBeUndefined()
  accept('first')
  for (let i = 0; i < 2_000; i += 1) accept(`Basic ${i} ${'x'.repeat(8_000)}`)
  expect(kept.get('first')).toBeUndefined()
})
