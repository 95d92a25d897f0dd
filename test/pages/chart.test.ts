import { expect, test } from 'vitest'
import { type Bar, chart } from '../../src/pages/layout.ts'

const day = (version1: number, version2: number): Bar => ({ date: '2026-05-01', version1, version2 })

const drawn = (days: readonly Bar[]) => String(chart(days, 'Calls of acme'))

/** The paths of the bars, by version. */
const bars = (days: readonly Bar[]) =>
  [...drawn(days).matchAll(/class="version\d" d="([^"]*)"/g)].map(([, path]) => path)

/** The values of the axis. */
const values = (days: readonly Bar[]) =>
  [...(/class="values"[^>]*>(.*?)<\/div>/s.exec(drawn(days))?.[1] ?? '').matchAll(/>([\d,.]+)</g)].map(
    ([, value]) => value,
  )

test('version 2 stands on version 1, below the highest value of the axis', () => {
  const days = [day(3, 1), day(0, 2), day(0, 0)]
  expect(values(days)).toEqual(['4', '2', '0'])
  expect(bars(days)).toEqual([
    'M0.00 40.00h240.00V160.00H0.00z',
    'M0.00 0.00h240.00V40.00H0.00zM300.00 80.00h240.00V160.00H300.00z',
  ])
})

test.each([
  [1, ['2', '1', '0']],
  [5, ['6', '3', '0']],
  [7, ['10', '5', '0']],
  [12_000, ['20,000', '10,000', '0']],
])('the axis of %d calls', (calls, shown) => {
  expect(values([day(calls, 0)])).toEqual(shown)
})

test('without days or calls it is only its axis', () => {
  expect(bars([])).toEqual(['', ''])
  expect(bars([day(0, 0)])).toEqual(['', ''])
  expect(drawn([])).toContain('aria-label="Calls of acme"')
})
