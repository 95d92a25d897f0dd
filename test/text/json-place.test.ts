/** Promise: a mistake in JSON is told with its place (contract, section 11). */

import { expect, test } from 'vitest'
import { placeInJson } from '../../src/language/config/json-file.ts'

const TEXT = `{
  "a": 1, "b": [10,
    { "c": "x,]}" , "d" : [] }, [[true], null], {}],
 "a": {"e":
  -2.5e3 }
}`

test.each<[readonly PropertyKey[], string]>([
  [[], '1:1'],
  // Of two members with one name, the last.
  [['a'], '4:7'],
  [['a', 'e'], '5:3'],
  [['b', 1], '3:5'],
  [['b', 1, 'd'], '3:27'],
  [['b', 2, 0, 0], '3:35'],
  [['b', 2, 1], '3:42'],
  // What is missing is at what lacks it.
  [['x'], '1:1'],
  [['b', 1, 'x'], '3:5'],
  [['b', 1, 'd', 0], '3:27'],
  [['b', '0'], '2:16'],
])('the place of %j', (path, place) => {
  const { line, column } = placeInJson(TEXT, path)
  expect(`${line}:${column}`).toBe(place)
})

test('the first value is where its text begins', () => {
  expect(placeInJson('\n\n  5', [])).toEqual({ line: 3, column: 3 })
})
