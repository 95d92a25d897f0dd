import { expect, test } from 'vitest'
import { brownouts } from '../../src/config/values.ts'
import { createBrownoutSignals } from '../../src/observe/brownouts.ts'
import { createLog } from '../../src/observe/log.ts'

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
