import { expect, test } from 'vitest'
import { recordingApproval } from '../../src/calls/pass-through.ts'
import { NoReply } from '../../src/service/exchange.ts'
import { createMemoryStore } from '../../src/store/sqlite/sqlite.ts'
import { type Approval, createXref } from '../../src/xref/xref.ts'

const DAY_MS = 86_400_000
const PROVEN = { tenant: 'acme', isProven: true }

function open(approver = PROVEN) {
  const store = createMemoryStore()
  const xref = createXref(store, DAY_MS)
  const state = () => xref.approval('acme', 'Q-1')
  const send = <Reply extends { readonly status: number }>(reply: () => Promise<Reply>) =>
    recordingApproval('Q-1', approver, xref, reply)
  return { store, xref, state, send }
}

test.each<[status: number, before: Approval | undefined, after: Approval | undefined]>([
  [200, undefined, 'approved'],
  [201, 'sent', 'approved'],
  [400, undefined, undefined],
  [499, undefined, undefined],
  [404, 'approved', 'approved'],
  [422, 'sent', 'sent'],
  [408, undefined, 'sent'],
  [409, undefined, 'sent'],
  [399, undefined, 'sent'],
  [500, undefined, 'sent'],
])('an answer of %i makes an approval that was %s %s', async (status, before, after) => {
  const { xref, state, send } = open()
  await xref.setApproval('acme', 'Q-1', before)
  const reply = await send(async () => {
    expect(await state()).toBe(before ?? 'sent')
    return { status }
  })
  expect(reply).toEqual({ status })
  expect(await state()).toBe(after)
})

test('an approval that was lost on the way stays sent; one without a connection does not', async () => {
  const lost = open()
  await expect(lost.send(() => Promise.reject(new Error('other side closed')))).rejects.toThrow('other side closed')
  expect(await lost.state()).toBe('sent')

  const unsent = open()
  await expect(unsent.send(() => Promise.reject(new NoReply('unsent')))).rejects.toThrow(NoReply)
  expect(await unsent.state()).toBeUndefined()

  const earlier = open()
  await earlier.xref.setApproval('acme', 'Q-1', 'approved')
  await expect(earlier.send(() => Promise.reject(new NoReply('unsent')))).rejects.toThrow(NoReply)
  expect(await earlier.state()).toBe('approved')
})

test('nothing is recorded for a credential that the service has not accepted yet, until it has', async () => {
  for (const [status, after] of [
    [200, 'approved'],
    [401, undefined],
    [500, undefined],
  ] as const) {
    const { state, send } = open({ ...PROVEN, isProven: false })
    await send(async () => {
      expect(await state()).toBeUndefined()
      return { status }
    })
    expect(await state()).toBe(after)
  }
})

test('a store that fails does not fail the call', async () => {
  const { store, send } = open()
  await store.close()
  expect(await send(async () => ({ status: 200 }))).toEqual({ status: 200 })
})
