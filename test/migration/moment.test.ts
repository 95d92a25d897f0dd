import fc from 'fast-check'
import { expect, test } from 'vitest'
import { daysLater, momentOf, parseLocalTime } from '../../src/migration/deprecation.ts'
import { expectLaw } from '../laws.ts'
import { runs } from '../size.ts'

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

const ZONES = ['America/New_York', 'Europe/Berlin', 'Asia/Kathmandu', 'Australia/Lord_Howe', 'America/Sao_Paulo', 'UTC']

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
