import { describe, expect, test } from 'vitest'
import { actions, callbacks, tables } from '../../mappings/index.ts'
import type { Action } from '../../src/mapping/action.ts'
import { type Catalog, compileCatalog, MappingErrors } from '../../src/mapping/catalog.ts'
import { compileLookup } from '../../src/mapping/lookup.ts'
import { checkCase, isTranslated } from '../cases/check.ts'
import { caseFiles, readCase } from '../cases/read.ts'
import { uncovered } from './documented-places.ts'
import { equivalentRows } from './equivalent-rows.ts'
import { type RowMutant, rowMutants } from './row-mutants.ts'

/*
 * Every row of every declaration is changed in every way, one at a time, in memory. The checks at start refuse the mutant, or a
 * case file of `test/cases` notices it.
 */

const cases = caseFiles()
  .map(({ action, text, name }) => ({ action, name, one: readCase(text) }))
  .filter(({ one }) => isTranslated(one))
const compiledTables = new Map(Object.entries(tables).map(([name, table]) => [name, compileLookup(table)]))
/** A mutant of one of these shows in a booking that remembers the quote. */
const REMEMBERED = ['quote.get', 'quote.update']

const catalogWith = (action: Action): Catalog =>
  compileCatalog(
    actions.map((other) => (other.name === action.name ? action : other)),
    { tables: compiledTables, callbacks },
  )

const survived: RowMutant[] = []

/** Tells if a check at start or a case notices a changed declaration. */
function isNoticed(action: Action): boolean {
  try {
    const catalog = catalogWith(action)
    const own = cases.filter((one) => one.action === action.name)
    const others = REMEMBERED.includes(action.name) ? cases.filter(({ one }) => one.earlier) : []
    for (const { one, action: name } of [...own, ...others]) checkCase(one, name, catalog)
    return uncovered(action).length > 0
  } catch (error) {
    if (error instanceof MappingErrors || isFailedCheck(error)) return true
    throw error
  }
}

const isFailedCheck = (error: unknown) => error instanceof Error && error.name === 'AssertionError'

describe.each(actions.map((action) => [action.name, action] as const))('%s', (_, action) => {
  test('as it is, passes', () => expect(isNoticed(action)).toBe(false))

  test('changed in one row, does not', () => {
    const survivors = rowMutants(action).filter((mutant) => !isNoticed(mutant.action))
    survived.push(...survivors)
    expect(
      survivors.map(({ about }) => about).filter((about) => !equivalentRows.some(({ is }) => is.test(about))),
    ).toEqual([])
  }, 600_000)
})

test('every accepted mutant exists, and survives', () => {
  expect(equivalentRows.filter(({ is }) => !survived.some(({ about }) => is.test(about)))).toEqual([])
})
