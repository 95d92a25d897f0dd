/** Promise: a mistake in JSON is told with its place (contract, section 11). */

import { expect, test } from 'vitest'
import { placesInJson } from '../../src/language/config/json-file.ts'
import places from './places.json' with { type: 'json' }

const TEXT = `{
  "a": 1, "b": [10,
    { "c": "x,]}" , "d" : [] }, [[true], null], {}],
 "a": {"e":
  -2.5e3 }
}`
/** Reads the text once for all places: a mistake may be in every entry of a long list. */
const placeOf = placesInJson(TEXT)

// Of two members with one name, the last counts. What is missing is at what lacks it.
test.each(places)('the place of $path', ({ path, place }) => {
  const { line, column } = placeOf(path)
  expect(`${line}:${column}`).toBe(place)
})

test('the first value is where its text begins', () => {
  expect(placesInJson('\n\n  5')([])).toEqual({ line: 3, column: 3 })
})
