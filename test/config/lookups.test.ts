import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { vehicleTypes } from '../../mappings/vehicle-types.ts'
import { lookupsFile } from '../../src/config/lookups.ts'

/** Reads a file with this text; returns its content, or its errors after the path. */
function read(text: string) {
  const folder = mkdtempSync(join(tmpdir(), 'lookups-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'lookups.json')
  writeFileSync(path, text)
  const { data, error } = lookupsFile.safeParse(path)
  return data ?? error?.issues.map(({ message }) => message.replace(path, 'FILE'))
}
const types = [...new Set(Object.values(vehicleTypes))]

test('a file has more phrases and more names of actions', () => {
  const [type] = types
  const content = { vehicle_types: { ROADSTER: type }, actions: { Preis: 'quote.get' } }
  expect(read(JSON.stringify(content))).toEqual(content)
  expect(read('{}')).toEqual({ vehicle_types: {}, actions: {} })
})

test.each([
  ['[]', ['names FILE:1:1, in which the whole must be an object']],
  ['{"vehicles": {}}', ['names FILE:1:14, in which there is an unknown key vehicles']],
  ['{"actions": 5}', ['names FILE:1:13, in which actions must be an object']],
  [
    '{"actions": {"a": 5},\n "vehicle_types": []}',
    ['names FILE:2:19, in which vehicle_types must be an object', 'names FILE:1:19, in which actions.a must be text'],
  ],
  [
    '{"vehicle_types": {"X": "boat"}}',
    [`names FILE:1:25, in which vehicle_types.X is no vehicle type of version 2; the types are ${types.join(', ')}`],
  ],
  ['{', ['names FILE, which is not JSON (line 1 column 2)']],
])('an error names the file and the place: %s', (text, errors) => {
  expect(read(text)).toEqual(errors)
})

test('a file that is not there is an error', () => {
  expect(lookupsFile.safeParse('/nowhere/lookups.json').error?.issues).toMatchObject([
    { message: 'names /nowhere/lookups.json, which cannot be read (ENOENT)' },
  ])
})
