import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { OF_QUOTE, openJournal } from '../../src/certify/journal.ts'
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
