import { expect, test } from 'vitest'
import { METERS_PER_MILE, milesBetween, UNKNOWN_MILES } from '../../src/sandbox/zip-distance.ts'

test('the distances of all regions are what they were', async () => {
  const tens = Array.from({ length: 100 }, (_, i) => String(i).padStart(2, '0'))
  const told = tens.map(
    (ten) => `${ten}n: ${Array.from({ length: 10 }, (_, i) => milesBetween('10314', `${ten}${i}50`)).join(' ')}`,
  )
  await expect(`${told.join('\n')}\n`).toMatchFileSnapshot('distances.txt')
})

test('a trip has a length, even within a ZIP code or from nowhere', () => {
  expect(milesBetween('10314', '10314')).toBe(5)
  expect(milesBetween('10314', '10314-1234')).toBe(5)
  for (const nowhere of ['', undefined, '1031', 'K1A 0B1', '00450'])
    expect([milesBetween(nowhere, '10314'), milesBetween('10314', nowhere)]).toEqual([500, 500])
  expect([UNKNOWN_MILES, METERS_PER_MILE]).toEqual([500, 1609.344])
})
