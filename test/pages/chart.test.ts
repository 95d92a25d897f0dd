import { expect, test } from 'vitest'
import { type Bar, chart } from '../../src/pages/layout.ts'

const day = (version1: number, version2: number): Bar => ({ date: '2026-05-01', version1, version2 })

/** The paths of the bars, by version. */
const bars = (days: readonly Bar[], size: 'small' | 'large' = 'small') =>
  [...String(chart(days, 'Calls per day', size)).matchAll(/class="version\d" d="([^"]*)"/g)].map(([, path]) => path)

test('the busiest day is as high as the chart, and version 2 stands on version 1', () => {
  expect(bars([day(3, 1), day(0, 2), day(0, 0)])).toEqual([
    'M0.00 7.75h48.00V31.00H0.00z',
    'M0.00 0.00h48.00V7.75H0.00zM60.00 15.50h48.00V31.00H60.00z',
  ])
  expect(bars([day(1, 1)], 'large')).toEqual(['M0.00 79.50h720.00V159.00H0.00z', 'M0.00 0.00h720.00V79.50H0.00z'])
})

test('a day with one call fills the chart', () => {
  expect(bars([day(1, 0)])).toEqual(['M0.00 0.00h144.00V31.00H0.00z', ''])
})

test('without days or calls it is only its axis', () => {
  expect(bars([])).toEqual(['', ''])
  expect(bars([day(0, 0)])).toEqual(['', ''])
  expect(String(chart([], 'Calls of acme per day', 'small'))).toMatch(
    /aria-label="Calls of acme per day".* width="180" height="32">.*class="axis" d="M0 31.5h180"/s,
  )
})
