import { describe, expect, test } from 'vitest'
import { brownouts, sunset } from '../../src/config/values.ts'
import { read } from './read-value.ts'

describe('brownouts', () => {
  const start = Date.UTC(2027, 0, 12, 15)
  const HOUR_MS = 3_600_000
  const FORM =
    'must list windows of 1m to 7d such as 2027-01-12T15:00Z/1h, and ladders such as 2027-01-12T09:00[America/New_York]/ladder'

  test('are windows in the order of time, or none', () => {
    expect(read(brownouts, '2027-01-13T15:00Z/1m, 2027-01-12T15:00Z/7d')).toEqual(
      'has two windows at 2027-01-13T15:00:00.000Z; leave one out',
    )
    expect(read(brownouts, '2027-01-12T16:00Z/1m,2027-01-12T15:00Z/1h')).toEqual([
      expect.objectContaining({ start, end: start + HOUR_MS }),
      expect.objectContaining({ start: start + HOUR_MS, end: start + HOUR_MS + 60_000 }),
    ])
    expect(read(brownouts, 'none')).toEqual([])
  })

  test('may be ladders in the time of a place', () => {
    const windows = read(brownouts, '2027-01-12T09:00[America/New_York]/ladder')
    expect(windows).toMatchObject([{ start: Date.UTC(2027, 0, 12, 14) }, ...Array((windows as []).length - 1).fill({})])
    expect((windows as []).length).toBeGreaterThan(1)
  })

  test.each([
    ['2027-01-12T15:00Z/59s', '2027-01-12T15:00Z/59s'],
    ['2027-01-12T15:00Z/8d', '2027-01-12T15:00Z/8d'],
    ['2027-01-12T15:00Z/x', '2027-01-12T15:00Z/x'],
    ['2027-01-12T15:00Z/1h,x/1h,none', 'x/1h,none'],
    ['2027-01-12T15:00Z', '2027-01-12T15:00Z'],
  ])('that cannot be read are named: %s', (text, wrong) => {
    expect(read(brownouts, text)).toBe(`${FORM}, not ${wrong}`)
  })

  test('end on a day after the deprecation', () => {
    expect(read(sunset, '2026-01-01')).toEqual(new Date('2026-01-01'))
    expect(read(sunset, '2025-12-31')).toBe('must not be before 2026-01-01, when version 1 was deprecated (RFC 9745)')
  })
})
