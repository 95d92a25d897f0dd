import { describe, expect, test } from 'vitest'
import {
  type CountedCall,
  createCounts,
  NO_NAME,
  networkOf,
  productOf,
  storableName,
  storableTenant,
} from '../../src/migration/counts.ts'
import { dayText, percent, plural } from '../../src/migration/report.ts'
import { DAY_MS } from '../../src/store/scoreboard.ts'
import { taken } from './taken.ts'

const TODAY = 20_000
const AT = (TODAY + 0.25) * DAY_MS

const CALL: CountedCall = {
  use: 'version-1',
  action: 'quote.get',
  outcome: 'done',
  requestId: 'request-1',
  agent: 'OldShop/3.1 (PHP)',
  source: '192.0.2.17',
  request: undefined,
  notes: [],
}

/** Counts calls, each a second after the one before, and returns what is to be stored. */
function counted(calls: readonly Partial<CountedCall & { readonly tenant: string }>[]) {
  let at = AT
  const counts = createCounts(() => at)
  for (const { tenant = 'acme', ...call } of calls) {
    counts.add(tenant, { ...CALL, ...call })
    at += 1_000
  }
  return taken(counts)
}

/** The names of a kind, each with its action, count, times after `AT` and example. */
const namesOf = ({ names }: ReturnType<typeof counted>, kind: string) =>
  names
    .filter((name) => name.kind === kind)
    .map(({ name, action, count, firstAt, lastAt, example }) => [
      name,
      action,
      count,
      firstAt - AT,
      lastAt - AT,
      example,
    ])

test('what was taken is not counted again', () => {
  const counts = createCounts(() => AT)
  counts.add('acme', CALL)
  expect(taken(counts).calls).toHaveLength(1)
  expect(taken(counts)).toEqual({ calls: [], names: [] })
})

describe('the memory is bounded', () => {
  test('for tenants: those beyond 10,000 are counted together', () => {
    const { calls } = counted([
      ...Array.from({ length: 10_002 }, (_, no) => ({ tenant: `t${no}` })),
      { tenant: 't0' },
      { tenant: 't1' },
    ])
    expect(calls).toHaveLength(10_001)
    expect(calls[0]).toMatchObject({ tenant: 't0', calls: 2 })
    expect(calls.at(-1)).toMatchObject({ tenant: NO_NAME, calls: 2 })
  })

  test('for names of each kind: those beyond twice what the store keeps are counted together', () => {
    const taken = counted(Array.from({ length: 103 }, (_, no) => ({ agent: `Agent${no}` })))
    const names = namesOf(taken, 'agent')
    expect(names.map(([name]) => name)).toEqual([...Array.from({ length: 20 }, (_, no) => `Agent${no}`), ''])
    expect(names.at(-1)?.[2]).toBe(83)
  })

  test('for names of all tenants together: those beyond 50,000 are counted together, of each tenant', () => {
    const { names } = counted(
      Array.from({ length: 5_000 }, (_, no) => ({ tenant: `t${no % 2_500}`, agent: `A${no}`, source: `${no}` })),
    )
    expect(names.filter(({ kind, name }) => kind === 'agent' && name === '')).toEqual([])
    const more = counted(
      Array.from({ length: 60_000 }, (_, no) => ({ tenant: `t${no % 6_000}`, agent: `A${no}`, source: '' })),
    ).names
    const own = more.filter(({ kind, name }) => (kind === 'agent' || kind === 'network') && name !== '')
    expect(own).toHaveLength(50_000)
  })
})

test('a user agent is counted as its product and major version, a source as its network', () => {
  const agents = [
    'curl/8.5.0',
    'OldShop/v3',
    'Mozilla/5.0 (X11)',
    'java',
    ' x/12345678',
    '',
    '(odd)',
    `${'y'.repeat(300)}/2`,
  ]
  expect(agents.map(productOf)).toEqual([
    'curl/8',
    'OldShop/3',
    'Mozilla/5',
    'java',
    'x/123456',
    'none',
    'none',
    `${'y'.repeat(63)}…`,
  ])
  expect(['192.0.2.17', '2001:db8::/64', ''].map(networkOf)).toEqual(['192.0.2.0/24', '2001:db8::/64', 'unknown'])
  // What is remembered is forgotten again, and found again.
  expect(Array.from({ length: 2_500 }, (_, no) => productOf(`a${no}/1`)).at(-1)).toBe('a2499/1')
  expect(productOf('curl/8.5.0')).toBe('curl/8')
})

test('a name is stored in a form that every store keeps', () => {
  expect(storableName('x'.repeat(64))).toBe('x'.repeat(64))
  expect(storableName('x'.repeat(65))).toBe(`${'x'.repeat(63)}…`)
  expect(storableTenant('x'.repeat(256))).toBe('x'.repeat(256))
  expect(storableTenant('x'.repeat(257))).toBe(`${'x'.repeat(255)}…`)
  expect(storableName('a\0b\ud800')).toBe('a�b�')
})

test('the words of a report', () => {
  expect([0, 1, 2].map((count) => plural(count, 'call'))).toEqual(['0 calls', '1 call', '2 calls'])
  expect([0, 0.0421, 1 / 3, 1].map(percent)).toEqual(['0 %', '4.2 %', '33.3 %', '100 %'])
  expect(dayText(20_000)).toBe('2024-10-04')
})
