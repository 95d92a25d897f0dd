/** Promise: canceling a booking in any way frees its key, and nothing else does (contract, section 7). */

import { describe, expect, test } from 'vitest'
import { basic, startGateway } from '../gateway.ts'
import type { Fault } from '../stand-in/stand-in.ts'
import { ask, book, expectBooked } from './desk.ts'
import { play, storiesIn } from './stories.ts'

/* A read of the very id that the booking holds shows `canceled`, or finds nothing; test/doubt/numbers.test.ts has other spellings. */

test.each(storiesIn(import.meta.dirname, 'canceled.txt'))('%s', (_, steps) => play(steps))

async function openBooked() {
  const gateway = await startGateway()
  const { sandbox } = gateway
  const id = expectBooked(await book(gateway))
  const expectFree = async () => expect(expectBooked(await book(gateway))).not.toBe(id)
  return { gateway, sandbox, id, expectFree }
}

const answers = (status: number, body = '', times = 1): Fault => ({
  kind: 'status',
  status,
  body,
  on: { method: 'DELETE' },
  times,
})
/** The most bytes of a reply that are examined before it is passed on. */
const MOST_LOOKED_AT = 65_536
/** A body with a note that makes its JSON this long. */
const padded = (body: object, bytes: number) =>
  JSON.stringify({ ...body, note: 'x'.repeat(bytes - JSON.stringify({ ...body, note: '' }).length) })

describe('a DELETE under /v2/ frees it', () => {
  test('for a name that only the reply connects with the shipment', async () => {
    const { gateway, sandbox, id, expectFree } = await openBooked()
    sandbox.shipments.delete(id)
    const body = padded({ id, external_id: 'EXT-1', status: 'canceled' }, MOST_LOOKED_AT)
    sandbox.fail(answers(200, body))
    expect((await ask(gateway, 'DELETE', '/v2/shipments/EXT-1')).text).toBe(body)
    await expectFree()
  })

  test('by a read if the reply is too large to examine', async () => {
    const { gateway, sandbox, id, expectFree } = await openBooked()
    const body = padded({ id, status: 'canceled' }, MOST_LOOKED_AT + 1)
    sandbox.fail(answers(200, body, 2))
    expect((await ask(gateway, 'DELETE', `/v2/shipments/${id}`)).text).toBe(body)
    expect(expectBooked(await book(gateway), true)).toBe(id)
    Object.assign(sandbox.shipments.get(id) ?? {}, { status: 'canceled' })
    await ask(gateway, 'DELETE', `/v2/shipments/${id}`)
    await expectFree()
  })
})

test('a DELETE of another client frees nothing', async () => {
  const gateway = await startGateway({ sandbox: { credentials: 'any' } })
  const id = expectBooked(await book(gateway))
  gateway.sandbox.fail(answers(200, '{}'))
  const headers = { authorization: basic('other', 'secret') }
  expect((await ask(gateway, 'DELETE', `/v2/shipments/${id}`, headers)).status).toBe(200)
  expect(expectBooked(await book(gateway), true)).toBe(id)
})
