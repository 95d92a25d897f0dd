/** Promise: brownouts happen as announced (contract, section 9). */

import { describe, expect, test } from 'vitest'
import { brownouts } from '../../src/language/config/values.ts'
import { momentOf, parseLocalTime } from '../../src/language/legacy-headers.ts'
import { createLog } from '../../src/runtime/log.ts'
import { createBrownoutSignals } from '../../src/runtime/signals.ts'
import cases from './brownouts.json' with { type: 'json' }

const HOUR_MS = 3_600_000

describe('brownouts', () => {
  /** The windows of a text with their lengths, or its error. */
  const windowsOf = (text: string) => {
    const { data, error } = brownouts.safeParse(text)
    if (error) return error.issues.map(({ message }) => message).join('; ')
    return data.map(({ start, end }) => `${new Date(start).toISOString()} ${(end - start) / HOUR_MS}h`)
  }

  test.each(cases.windows)('%s are windows', (text, windows) => {
    expect(windowsOf(String(text))).toEqual(windows)
  })

  test.each([
    ['2027-01-12T15:00Z', '2027-01-12T15:00Z'],
    ['2027-01-12T15:00/1h', '2027-01-12T15:00/1h'],
    ['2027-01-12T15:00Z/59s,2027-01-12T15:00Z/8d', '2027-01-12T15:00Z/59s,2027-01-12T15:00Z/8d'],
    ['2027-01-12T15:00Z/1h,x/1h,2027-01-12T15:00Z/stairs,none', 'x/1h,2027-01-12T15:00Z/stairs,none'],
  ])('%s names the unreadable part', (text, wrong) => {
    expect(windowsOf(text)).toBe(
      `must list windows of 1m to 7d such as 2027-01-12T15:00Z/1h, and ladders such as 2027-01-12T09:00[America/New_York]/ladder, not ${wrong}`,
    )
  })

  test.each([
    ['2027-01-12T15:00Z/2h,2027-01-12T16:00Z/1h', '2027-01-12T16:00:00.000Z'],
    ['2027-01-12T15:00Z/ladder,2027-01-26T16:00Z/1h', '2027-01-26T16:00:00.000Z'],
  ])('%s overlap', (text, at) => {
    expect(windowsOf(text)).toBe(`has two windows at ${at}; leave one out`)
  })
})

describe('moments', () => {
  const at = (text: string): string | undefined => {
    const time = parseLocalTime(text)
    return time && new Date(momentOf(time)).toISOString()
  }

  test.each(cases.moments)('%s is %s', (text = '', moment) => {
    expect(at(text)).toBe(moment)
  })

  test.each(cases.notTimes)('%j is no time', (text) => {
    expect(at(text)).toBeUndefined()
  })
})

describe('announcements', () => {
  const START = Date.UTC(2028, 1, 29, 15)
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
    const { look, gauges } = createBrownoutSignals(
      () => [{ tenant, windows: WINDOWS }],
      () => clock.now,
      log,
    )
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
    expect(at(START - 24 * HOUR_MS - 1)).toEqual([])
    expect(at(START - 24 * HOUR_MS)).toEqual([`warn a brownout begins within a day ${FIRST}`])
    expect(at(START - 1)).toEqual([])
    expect(at(START)).toEqual([`warn a brownout has begun: legacy calls are refused ${FIRST}`])
    expect(at(START + HOUR_MS - 1)).toEqual([])
    expect(at(START + HOUR_MS)).toEqual([`warn a brownout is over ${FIRST}`])
    expect(at(START + 2 * HOUR_MS)).toEqual([])
  })

  test('a gateway that starts in a brownout says so; one that starts after it says nothing', () => {
    expect(signals('acme').at(START + 1)).toEqual([`warn a brownout has begun: legacy calls are refused ${FIRST} acme`])
    expect(signals().at(START + HOUR_MS)).toEqual([])
  })

  test('the gauges show the active or next brownout', async () => {
    const { at, readGauge } = signals()
    const gauges = async (now: number) => {
      at(now)
      return Promise.all(
        ['active', 'start_timestamp_seconds', 'end_timestamp_seconds'].map((name) =>
          readGauge(`transload_brownout_${name}`),
        ),
      )
    }
    expect(await gauges(START - 1)).toEqual([[0], [START / 1000], [(START + HOUR_MS) / 1000]])
    expect(await gauges(START)).toEqual([[1], [START / 1000], [(START + HOUR_MS) / 1000]])
    expect((await gauges(START + HOUR_MS))[0]).toEqual([0])
    expect((await gauges(START + HOUR_MS))[1]).toEqual([(START + 7 * 24 * HOUR_MS) / 1000])
    expect(await gauges(START + 8 * 24 * HOUR_MS)).toEqual([[0], [], []])
  })
})
