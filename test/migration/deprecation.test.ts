import { expect, test } from 'vitest'
import { DEPRECATED_AT, deprecationOf } from '../../src/migration/deprecation.ts'

const sunset = new Date('2027-06-30T12:00:00Z')
const guide = new URL('https://docs.example.com/migrate')
const Deprecation = '@1767225600'

test('version 1 has been deprecated since the beginning of 2026', () => {
  expect(new Date(DEPRECATED_AT).toISOString()).toBe('2026-01-01T00:00:00.000Z')
})

test('a caller is told of the deprecation, of its end and of the guide, as far as they are known', () => {
  expect(deprecationOf({})).toEqual({
    headers: { Deprecation },
    sunset: undefined,
    guide: undefined,
    windows: [],
    coversBookings: false,
  })
  expect(deprecationOf({ sunset }).headers).toEqual({ Deprecation, Sunset: 'Wed, 30 Jun 2027 12:00:00 GMT' })
  expect(deprecationOf({ guide }).headers).toEqual({
    Deprecation,
    Link: '<https://docs.example.com/migrate>; rel="deprecation"; type="text/html"',
  })
  const windows = [{ start: 1, end: 2 }]
  expect(deprecationOf({ sunset, guide, windows, coversBookings: true })).toEqual({
    headers: {
      Deprecation,
      Sunset: 'Wed, 30 Jun 2027 12:00:00 GMT',
      Link: '<https://docs.example.com/migrate>; rel="deprecation"; type="text/html", <https://docs.example.com/migrate>; rel="sunset"; type="text/html"',
    },
    sunset,
    guide: 'https://docs.example.com/migrate',
    windows,
    coversBookings: true,
  })
})
