import { expect, onTestFinished, test, vi } from 'vitest'
import { backoffMs } from '../../src/store/elapsed.ts'

test.each([
  [0, 50, 100],
  [1, 50, 100],
  [2, 100, 200],
  [3, 200, 400],
  [6, 1_600, 3_200],
  [7, 2_500, 5_000],
  [1_000, 2_500, 5_000],
])('after %i failures the pause is between %i and %i ms', (failures, least, most) => {
  const random = vi.spyOn(Math, 'random').mockReturnValue(0)
  onTestFinished(() => random.mockRestore())
  expect(backoffMs(failures)).toBe(least)
  random.mockReturnValue(1)
  expect(backoffMs(failures)).toBe(most)
})

test('a shorter limit may be given', () => {
  for (let tries = 0; tries < 20; tries += 1) expect(backoffMs(50, 300)).toBeLessThanOrEqual(300)
  expect(backoffMs(50, 300)).toBeGreaterThanOrEqual(150)
})
