import { expect } from 'vitest'
import type { Report } from '../../src/operator/reports/rehearsal.ts'
import { defects, expectedCount } from './generator.ts'

/** Expects the seeded defects of some turns in a report, each with its exact count, and nothing else. */
export function expectSeeded(found: Report, turns: number): void {
  const wanted = (key: 'problem' | 'unknown' | 'vehicle' | 'action') =>
    Object.fromEntries(
      defects.flatMap((defect, n) => (defect[key] === undefined ? [] : [[defect[key], expectedCount(n, turns)]])),
    )
  const masked = (counts: Readonly<Record<string, number>>) => Object.values(counts).sort((one, other) => other - one)
  const counts = (list: readonly { readonly count: number }[]) => list.map(({ count }) => count)
  expect(Object.fromEntries(found.problems.map(({ id, count }) => [id, count]))).toEqual(wanted('problem'))
  expect(Object.fromEntries(found.unknown.map(({ name, count }) => [name, count]))).toEqual(wanted('unknown'))
  expect(counts(found.vehicleTypes)).toEqual(masked(wanted('vehicle')))
  expect(counts(found.actionNames)).toEqual(masked(wanted('action')))
  const differing = found.compared.flatMap(({ action, field, differs }) =>
    differs > 0 ? [[`${action} ${field}`, differs]] : [],
  )
  expect(differing).toEqual(defects.flatMap(({ differs }, n) => (differs ? [[differs, expectedCount(n, turns)]] : [])))
  expect(found.unreadable).toEqual([])
  const seeded = (kind: RegExp) =>
    defects.reduce((sum, { problem = '' }, n) => sum + (kind.test(problem) ? expectedCount(n, turns) : 0), 0)
  const { all, pass, lossy, refused, unseen, other } = found.calls
  expect({ refused, lossy, unseen, other }).toEqual({
    refused: seeded(/^refused/),
    lossy: seeded(/^(?!refused)./),
    unseen: 0,
    other: 0,
  })
  expect(all).toBe(found.lines)
  expect(pass).toBe(found.lines - refused - lossy)
}
