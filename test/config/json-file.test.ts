import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { type JsonFile, readJsonFile } from '../../src/config/json-file.ts'
import { newFolder } from '../command.ts'

const SHAPE = z.strictObject({ name: z.string(), more: z.strictObject({ size: z.number() }).optional() })

/** Reads a file of a text. */
function read(text: string): JsonFile {
  const folder = newFolder('json')
  onTestFinished(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'file.json'), text)
  return readJsonFile(join(folder, 'file.json'))
}

test.each([
  ['a value of another type', '{\n  "name": 1\n}', '2:11'],
  ['an unknown key', '{"name": "a", "nam": 1}', '1:22'],
  ['the first of two unknown keys', '{"name": "a",\n "nam": {"nme": 1}, "nme": 2}', '2:9'],
  ['an unknown key of an inner object', '{"name": "a", "more": {"size": 1, "sise": 2}}', '1:43'],
  ['the object that lacks a key', '{"name": "a", "more": {}}', '1:23'],
])('the place of a mistake is that of %s', (_, text, place) => {
  const file = read(text)
  if ('error' in file) expect.fail(file.error)
  const issues = SHAPE.safeParse(file.content).error?.issues ?? []
  expect(issues.map(file.placeOf)).toEqual([place])
})

test('a mark of the byte order before the text is no mistake', () => {
  expect(read('\ufeff{"name": "a"}')).toMatchObject({ content: { name: 'a' } })
})

test.each([
  ['', 'is not JSON (it ends too early)'],
  ['{"name": ', 'is not JSON (it ends too early)'],
  ['{\n  "name": oops}', 'is not JSON'],
  ['{"name": "a" "b"}', 'is not JSON (line 1 column 14)'],
])('the error of %j does not quote it', (text, error) => {
  expect(read(text)).toEqual({ error })
})

test('the error of a file that cannot be read has the code of the system', () => {
  expect(readJsonFile('/nowhere/file.json')).toEqual({ error: 'cannot be read (ENOENT)' })
})
