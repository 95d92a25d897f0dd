import { describe, expect, test } from 'vitest'
import { NOTHING_FOUND } from '../../src/calls/find.ts'
import type { Approval } from '../../src/xref/xref.ts'
import { ID, type Known, OTHER_ID, xrefWith } from './known-names.ts'

describe('the quote that a booking refers to', () => {
  const recall = async (
    known: readonly Known[],
    approvals: Readonly<Record<string, Approval>>,
    name: string,
    remembered?: { readonly id: string; readonly own: string; readonly facts: Readonly<Record<string, string>> | null },
  ) => {
    const { find, remember } = await xrefWith(known, approvals)
    if (remembered) await remember(remembered.id, remembered.own, remembered.facts)
    return find('shipment.create', { ReferenceNumber: name })
  }
  const QUOTE: Known = { name: 'N-1', id: 'Q', kind: 'quote' }
  const nothing = { ...NOTHING_FOUND, approved: undefined }

  test('is the one of its name', async () => {
    expect(await recall([QUOTE], {}, 'N-1')).toEqual({ ...nothing, quote: { id: 'Q', facts: undefined } })
    const facts = { price: '5' }
    expect(await recall([QUOTE], {}, 'N-1', { id: 'Q', own: 'N-1', facts })).toEqual({
      ...nothing,
      own: 'N-1',
      quote: { id: 'Q', facts },
    })
  })

  test('is the one whose id is the name, if it is remembered or approved', async () => {
    const facts = { price: '5' }
    expect(await recall([], {}, 'Q', { id: 'Q', own: '', facts })).toEqual({ ...nothing, quote: { id: 'Q', facts } })
    expect(await recall([], { [ID]: 'approved' }, ID)).toEqual({
      ...nothing,
      quote: { id: ID, facts: undefined },
      approved: { id: ID, sendsQuoteId: true },
    })
    expect(await recall([], {}, ID)).toEqual(NOTHING_FOUND)
    // Only what looks like an id is asked for.
    expect(await recall([], { Q: 'approved' }, 'Q')).toEqual(NOTHING_FOUND)
  })

  test.each<[Approval, boolean]>([
    ['approved', true],
    ['sent', false],
  ])('with an approval that is %s names the quote: %s', async (approval, sendsQuoteId) => {
    expect(await recall([QUOTE], { Q: approval }, 'N-1')).toMatchObject({
      quote: { id: 'Q' },
      approved: { id: 'Q', sendsQuoteId },
    })
  })

  test('may be an older one that was approved under the name', async () => {
    const OLDER: Known = { name: 'N-1', id: OTHER_ID }
    const approvals = { [OTHER_ID]: 'approved' } as const
    const approved = { id: OTHER_ID, sendsQuoteId: false }
    expect(await recall([OLDER, QUOTE], approvals, 'N-1')).toMatchObject({ quote: { id: 'Q' }, approved })
    expect(await recall([OLDER], approvals, 'N-1')).toEqual({ ...NOTHING_FOUND, approved })
    for (const other of [
      { ...OLDER, vin: 'VIN1' },
      { ...OLDER, givenBy: 'service' },
      { ...OLDER, kind: 'quote' },
    ] as const) {
      expect(await recall([other, QUOTE], approvals, 'N-1')).toMatchObject({ approved: undefined })
    }
    expect(await recall([OLDER], {}, 'N-1')).toEqual(NOTHING_FOUND)
  })

  test("may be an older one under the caller's own number, if the booking names the quote by its id", async () => {
    const OLDER: Known = { name: 'N-1', id: OTHER_ID }
    const facts = { price: '5' }
    expect(await recall([OLDER], { [OTHER_ID]: 'sent' }, 'Q', { id: 'Q', own: 'N-1', facts })).toMatchObject({
      own: 'N-1',
      quote: { id: 'Q', facts },
      approved: { id: OTHER_ID, sendsQuoteId: false },
    })
  })
})
