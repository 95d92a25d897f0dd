/** Promise: the gateway's memory of callers is bounded (contract, section 5). */

import { EventEmitter } from 'node:events'
import { expect, test } from 'vitest'
import { createAcceptedCredentials } from '../../src/edge/callers/client.ts'
import { createShares } from '../../src/edge/limits/shares.ts'

test('an accepted credential is displaced by ten thousand others, or fewer if they are long', () => {
  const { kept, open } = createAcceptedCredentials(
    (_header, acceptance) => acceptance,
    () => undefined,
  )
  const accept = (header: string) => open(header).accepted()
  accept('first')
  for (let i = 0; i < 9_000; i += 1) accept(`Basic ${i}`)
  expect(kept.get('first')).toBeDefined()
  for (let i = 9_000; i < 19_000; i += 1) accept(`Basic ${i}`)
  expect(kept.get('first')).toBeUndefined()
  accept('first')
  for (let i = 0; i < 2_000; i += 1) accept(`Basic ${i} ${'x'.repeat(8_000)}`)
  expect(kept.get('first')).toBeUndefined()
})

test('ten thousand sources that have left make room for others, but one that holds something is not forgotten', () => {
  const SOURCE_CONNECTIONS = 10
  const limits = { MAX_CONNECTIONS: 40, SOURCE_CONNECTIONS, MAX_IN_FLIGHT: 16, SOURCE_IN_FLIGHT: 4 }
  const shares = createShares({ ...limits, BODIES_LIMIT_BYTES: 400_000 })
  const from = (remoteAddress: string) => ({ socket: { remoteAddress }, headers: {} })
  const open = (source: string) => {
    const idle = { writableEnded: false, writableNeedDrain: false, destroyed: false }
    return shares.open(from(source), Object.assign(new EventEmitter(), idle))
  }
  const holding = open('bodies')
  holding.takeBody(100_000)
  for (let i = 0; i < limits.SOURCE_IN_FLIGHT; i += 1) open('calls').enter()
  for (let i = 0; i < SOURCE_CONNECTIONS; i += 1) shares.connect(from('connections').socket)
  for (let i = 0; i < 25_000; i += 1) open(`source ${i}`).leave()
  expect(() => open('bodies').takeBody(1)).toThrow(/address/)
  expect(() => open('calls').enter()).toThrow(/address/)
  expect(shares.connect(from('connections').socket)).toBeUndefined()
  holding.leave()
  open('bodies').takeBody(100_000)
})
