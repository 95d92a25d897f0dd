import { expect, test } from 'vitest'
import { brownouts } from '../../src/config/values.ts'
import { windowAt, windowsToCome } from '../../src/migration/deprecation.ts'

const windowsOf = (text: string) =>
  brownouts.parse(text).map(({ start, end }) => `${new Date(start).toISOString()} ${(end - start) / 3_600_000}h`)
const errorOf = (text: string) => brownouts.safeParse(text).error?.issues[0]?.message

test('windows are sorted, whatever their zones', () => {
  expect(windowsOf('2027-02-01T09:00+02:00/90m, 2027-01-12T15:00Z/1h,2027-02-01T09:00Z/2d')).toEqual([
    '2027-01-12T15:00:00.000Z 1h',
    '2027-02-01T07:00:00.000Z 1.5h',
    '2027-02-01T09:00:00.000Z 48h',
  ])
})

test('a ladder is eight windows a week apart, at the same time of day', () => {
  expect(windowsOf('2028-02-15T09:00[America/New_York]/ladder')).toEqual([
    '2028-02-15T14:00:00.000Z 1h',
    '2028-02-22T14:00:00.000Z 1h',
    '2028-02-29T14:00:00.000Z 4h',
    '2028-03-07T14:00:00.000Z 4h',
    // The clocks have changed.
    '2028-03-14T13:00:00.000Z 8h',
    '2028-03-21T13:00:00.000Z 8h',
    '2028-03-28T13:00:00.000Z 24h',
    '2028-04-04T13:00:00.000Z 24h',
  ])
})

test('a window holds from its start, and is over at its end', () => {
  const windows = brownouts.parse('2027-01-12T15:00Z/1h,2027-01-12T16:00Z/1h,2027-01-13T15:00Z/1h')
  const start = Date.UTC(2027, 0, 12, 15)
  const hour = 3_600_000
  expect(windowAt(windows, start - 1)).toBeUndefined()
  expect(windowAt(windows, start)).toBe(windows[0])
  expect(windowAt(windows, start + hour - 1)).toBe(windows[0])
  // One window may begin where another one ends.
  expect(windowAt(windows, start + hour)).toBe(windows[1])
  expect(windowAt(windows, start + 2 * hour)).toBeUndefined()
  expect(windowsToCome(windows, start + hour - 1)).toHaveLength(3)
  expect(windowsToCome(windows, start + hour)).toHaveLength(2)
})

test('none is no window', () => {
  expect(windowsOf('none')).toEqual([])
})

test.each([
  ['2027-01-12T15:00Z', /^must list windows .*, not 2027-01-12T15:00Z$/],
  ['2027-01-12T15:00/1h', /not 2027-01-12T15:00\/1h$/],
  ['2027-02-29T15:00Z/1h', /not 2027-02-29T15:00Z\/1h$/],
  ['2027-01-12T15:00Z/59s,2027-01-12T15:00Z/8d', /not 2027-01-12T15:00Z\/59s,2027-01-12T15:00Z\/8d$/],
  ['2027-01-12T15:00Z/0m', /not 2027-01-12T15:00Z\/0m$/],
  ['2027-01-12T15:00Z/stairs', /stairs$/],
  [',', /^must list windows/],
  ['2027-01-12T15:00Z/2h,2027-01-12T16:00Z/1h', /^has two windows at 2027-01-12T16:00:00.000Z; leave one out$/],
  ['2027-01-12T15:00Z/ladder,2027-01-26T16:00Z/1h', /^has two windows at 2027-01-26T16:00:00.000Z/],
])('%s is an error', (text, said) => {
  expect(errorOf(text)).toMatch(said)
})
