/** Promise: callers are told of the end of version 1, and brownouts come when they were announced (contract, section 9). */

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { brownouts, sunset } from '../../src/config/values.ts'
import {
  DEPRECATED_AT,
  daysLater,
  deprecationOf,
  momentOf,
  parseLocalTime,
  windowAt,
  windowsToCome,
} from '../../src/migration/deprecation.ts'
import { createBrownoutSignals } from '../../src/observe/brownouts.ts'
import { createLog } from '../../src/observe/log.ts'
import { expectLaw } from '../laws.ts'
import { read } from '../operations/read-value.ts'
import { runs } from '../size.ts'

describe('headers', () => {
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
})

describe('brownouts', () => {
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
})

describe('values of brownouts', () => {
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
      expect(windows).toMatchObject([
        { start: Date.UTC(2027, 0, 12, 14) },
        ...Array((windows as []).length - 1).fill({}),
      ])
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
})

describe('moments', () => {
  const at = (text: string): string | undefined => {
    const time = parseLocalTime(text)
    return time && new Date(momentOf(time)).toISOString()
  }

  test.each([
    ['2027-01-12T15:00Z', '2027-01-12T15:00:00.000Z'],
    ['2027-01-12T15:00:30Z', '2027-01-12T15:00:30.000Z'],
    ['2027-01-12T15:00-05:00', '2027-01-12T20:00:00.000Z'],
    ['2027-01-12T00:30+05:45', '2027-01-11T18:45:00.000Z'],
    ['2027-01-12T09:00[America/New_York]', '2027-01-12T14:00:00.000Z'],
    ['2027-07-12T09:00[America/New_York]', '2027-07-12T13:00:00.000Z'],
    ['2028-02-29T12:00Z', '2028-02-29T12:00:00.000Z'],
    ['2028-02-29T12:00[Europe/Berlin]', '2028-02-29T11:00:00.000Z'],
    // Clocks skip from 02:00 to 03:00.
    ['2027-03-14T02:30[America/New_York]', '2027-03-14T07:30:00.000Z'],
    // Clocks show 01:30 twice: the first time, summer time still holds.
    ['2027-11-07T01:30[America/New_York]', '2027-11-07T05:30:00.000Z'],
    ['2027-10-31T02:30[Europe/Berlin]', '2027-10-31T00:30:00.000Z'],
    ['2027-04-04T02:15[Australia/Lord_Howe]', '2027-04-03T15:45:00.000Z'],
    ['2027-01-12T09:00[Pacific/Kiritimati]', '2027-01-11T19:00:00.000Z'],
  ])('%s is %s', (text, moment) => {
    expect(at(text)).toBe(moment)
  })

  test.each([
    '2027-02-29T12:00Z',
    '2027-04-31T12:00Z',
    '2100-02-29T12:00Z',
    '2027-01-12T24:00Z',
    '2027-01-12T15:60Z',
    '2027-01-12T15:00',
    '2027-01-12T15:00+15:00',
    '2027-01-12T15:00+01:75',
    '2027-01-12T15:00[Middle/Earth]',
    '2027-01-12T15:00[]',
    '2027-01-12',
    '12.1.2027 15:00Z',
    '',
  ])('%j is no time', (text) => {
    expect(at(text)).toBeUndefined()
  })

  test('a week later is the same time of day, also over a change of the clocks', () => {
    const start = parseLocalTime('2027-03-09T09:00[America/New_York]')
    expect(start && new Date(momentOf(daysLater(start, 7))).toISOString()).toBe('2027-03-16T13:00:00.000Z')
    expect(start && new Date(momentOf(start)).toISOString()).toBe('2027-03-09T14:00:00.000Z')
  })

  const ZONES = [
    'America/New_York',
    'Europe/Berlin',
    'Asia/Kathmandu',
    'Australia/Lord_Howe',
    'America/Sao_Paulo',
    'UTC',
  ]

  test('a local time that clocks show is shown at its moment', () => {
    const shownIn = (zone: string, moment: number) =>
      new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'short' }).format(moment)
    const minutes = fc.integer({ min: Date.UTC(2020, 0) / 60_000, max: Date.UTC(2040, 0) / 60_000 })
    const law = fc.property(minutes, fc.constantFrom(...ZONES), (minute, zone) => {
      // A local time that exists, because it is taken from a moment.
      const local = shownIn(zone, minute * 60_000)
      const time = parseLocalTime(`${local.replace(' ', 'T')}[${zone}]`)
      expect(time && shownIn(zone, momentOf(time))).toBe(local)
      expect(time && momentOf(time)).toBeLessThanOrEqual(minute * 60_000)
    })
    expectLaw(law, runs(300, 3_000))
  })
})

describe('announcements', () => {
  const START = Date.UTC(2028, 1, 29, 15)
  const HOUR = 3_600_000
  const WINDOWS = brownouts.parse('2028-02-29T15:00Z/1h,2028-03-07T15:00Z/4h')

  function signals(tenant = '') {
    const clock = { now: 0 }
    const lines: string[] = []
    const log = createLog('info', {
      write: (line) => {
        const { msg, start, level, ...rest } = JSON.parse(line)
        lines.push(`${level} ${msg} ${start}${rest.tenant === undefined ? '' : ` ${rest.tenant}`}`)
      },
    })
    const { look, gauges } = createBrownoutSignals({
      all: () => [{ tenant, windows: WINDOWS }],
      now: () => clock.now,
      log,
    })
    const at = (now: number) => {
      clock.now = now
      lines.length = 0
      look()
      return [...lines]
    }
    const readGauge = async (name: string) => {
      const read = (await gauges.find((one) => one.name === name)?.get()) ?? {}
      return 'values' in read && Array.isArray(read.values) ? read.values.map(({ value }) => value) : []
    }
    return { at, readGauge }
  }

  const FIRST = '2028-02-29T15:00:00.000Z'

  test('a brownout is announced a day before, at its start and at its end, once each', () => {
    const { at } = signals()
    expect(at(START - 24 * HOUR - 1)).toEqual([])
    expect(at(START - 24 * HOUR)).toEqual([`warn a brownout begins within a day ${FIRST}`])
    expect(at(START - 1)).toEqual([])
    expect(at(START)).toEqual([`warn a brownout has begun: legacy calls are refused ${FIRST}`])
    expect(at(START + HOUR - 1)).toEqual([])
    expect(at(START + HOUR)).toEqual([`warn a brownout is over ${FIRST}`])
    expect(at(START + 2 * HOUR)).toEqual([])
  })

  test('a gateway that starts in a brownout says so; one that starts after it says nothing', () => {
    expect(signals('acme').at(START + 1)).toEqual([`warn a brownout has begun: legacy calls are refused ${FIRST} acme`])
    expect(signals().at(START + HOUR)).toEqual([])
  })

  test('the gauges tell the brownout that is active or comes next', async () => {
    const { at, readGauge } = signals()
    const gauges = async (now: number) => {
      at(now)
      return Promise.all(
        ['active', 'start_timestamp_seconds', 'end_timestamp_seconds'].map((name) =>
          readGauge(`transload_brownout_${name}`),
        ),
      )
    }
    expect(await gauges(START - 1)).toEqual([[0], [START / 1000], [(START + HOUR) / 1000]])
    expect(await gauges(START)).toEqual([[1], [START / 1000], [(START + HOUR) / 1000]])
    expect((await gauges(START + HOUR))[0]).toEqual([0])
    expect((await gauges(START + HOUR))[1]).toEqual([(START + 7 * 24 * HOUR) / 1000])
    expect(await gauges(START + 8 * 24 * HOUR)).toEqual([[0], [], []])
  })
})
