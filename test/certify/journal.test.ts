import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { OF_QUOTE, openJournal } from '../../src/certify/journal.ts'
import { changesSince, readResults } from '../../src/certify/run.ts'
import { folder } from './certify.ts'

const OWN = { address: 'https://stage.example.com', tenant: 'acme' }

const linesIn = (file: string) =>
  readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))

test('each line is written before its request, for the owner alone, and the file goes with the last booking', () => {
  const file = join(folder(), 'journal.ndjson')
  const journal = openJournal(file, OWN)
  expect([journal.left(), existsSync(file)]).toEqual([[], false])
  journal.intend('R-1')
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(journal.left()).toEqual([{ ...OWN, reference: 'R-1', id: undefined }])
  journal.made('R-1', 'id-1')
  journal.intend('R-2')
  journal.made(OF_QUOTE, 'id-3')
  expect(linesIn(file)).toEqual([
    { ...OWN, reference: 'R-1' },
    { ...OWN, reference: 'R-1', id: 'id-1' },
    { ...OWN, reference: 'R-2' },
    { ...OWN, reference: 'quote', id: 'id-3' },
  ])
  // The last one is canceled first; an id tells more than an intention.
  const left = [
    { ...OWN, reference: 'quote', id: 'id-3' },
    { ...OWN, reference: 'R-2', id: undefined },
    { ...OWN, reference: 'R-1', id: 'id-1' },
  ]
  expect(journal.left()).toEqual(left)
  expect(openJournal(file, OWN).left()).toEqual(left)
  journal.gone('R-2')
  journal.gone(OF_QUOTE, 'id-3')
  expect(openJournal(file, OWN).left()).toEqual(left.slice(2))
  journal.gone('R-1', 'other')
  expect(existsSync(file)).toBe(true)
  journal.gone('R-1', 'id-1')
  expect(existsSync(file)).toBe(false)
})

test('the lines of others stay, and those that are cut off or foreign are passed over', () => {
  const file = join(folder(), 'journal.ndjson')
  const others = [
    { ...OWN, address: 'https://other.example.com', reference: 'R-8' },
    { ...OWN, tenant: 'other', reference: 'R-9' },
  ]
  const foreign = [
    '',
    '[]',
    'null',
    '5',
    '{"address":"https://stage.example.com","tenant":"acme"}',
    '{"reference":"R-1","ad',
  ]
  const written = [...others.map((line) => JSON.stringify(line)), ...foreign].join('\n')
  writeFileSync(file, `${written}\n`)
  const journal = openJournal(file, OWN)
  expect(journal.left()).toEqual([])
  journal.intend('R-1')
  journal.gone('R-1')
  expect(journal.left()).toEqual([])
  expect(readFileSync(file, 'utf8')).toContain(written)
  expect(openJournal(file, { ...OWN, tenant: 'other' }).left()).toEqual([{ ...others[1], id: undefined }])
})

test('the results in a file are compared with those of a later run', () => {
  const place = folder()
  const file = join(place, 'results.json')
  const result = (id: string, verdict: 'confirmed' | 'contradicted' | 'not tried', seen = 'x') => ({
    id,
    verdict,
    seen,
  })
  const before = {
    service: 'https://stage.example.com',
    at: '2026-01-02T03:04:05Z',
    results: [
      result('same', 'confirmed'),
      result('other', 'confirmed'),
      result('seen', 'confirmed'),
      result('skipped', 'not tried'),
    ],
  }
  writeFileSync(file, JSON.stringify(before))
  expect(readResults(file)).toEqual(before)
  const now = [
    result('same', 'confirmed'),
    result('other', 'contradicted'),
    result('seen', 'confirmed', 'y'),
    result('skipped', 'contradicted'),
    result('left-out', 'not tried'),
    result('new', 'confirmed'),
  ]
  expect(changesSince(before, now)).toEqual([
    { id: 'other', before: before.results[1], now: now[1] },
    { id: 'seen', before: before.results[2], now: now[2] },
    { id: 'new', before: undefined, now: now[5] },
  ])
  writeFileSync(file, 'x')
  expect(readResults(file)).toBe('it is not JSON')
  writeFileSync(file, '{}')
  expect(readResults(file)).toBe('it has no results of transload certify assumptions --save')
  expect(() => readResults(join(place, 'none'))).toThrow('ENOENT')
})
