import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createMemoryStore } from '../../src/store/sqlite/sqlite.ts'
import type { NewLink } from '../../src/store/store.ts'
import { FileUnreadable, type Format } from '../../src/xref/file-records.ts'
import {
  checkpointOf,
  headerOf,
  type ImportProgress,
  type ImportRow,
  importRows,
  isInStore,
  lastKey,
  lineOf,
  noProgress,
} from '../../src/xref/transfer.ts'
import { link, scanned } from '../store/samples.ts'
import { testFolder } from './program.ts'

const BATCH = 5_000

const keyOf = ({ tenant, kind, name, vin, givenBy }: NewLink) => ({ tenant, kind, name, vin, givenBy })

async function* yielding(rows: readonly ImportRow[]) {
  yield* rows
}

const rowsOf = (links: readonly NewLink[]): readonly ImportRow[] =>
  links.map((one, index) => ({ line: index + 2, links: [one] }))

describe('an import', () => {
  /** Imports rows into a store, and returns its counts and events. */
  async function imported(
    rows: readonly ImportRow[],
    { store = createMemoryStore(), replace = false, from = noProgress } = {},
  ) {
    const events: string[] = []
    const progress: ImportProgress[] = []
    const watch = {
      onConflict: (asked: NewLink, found: NewLink) => void events.push(`${asked.name}: ${asked.id}, not ${found.id}`),
      onBadRow: (line: number, error: string) => void events.push(`${line} ${error}`),
      onProgress: (done: ImportProgress) => void progress.push(structuredClone(done)),
    }
    const counts = await importRows(yielding(rows), store, { replace, from }, watch)
    const ids = Object.fromEntries((await scanned(store)).map(({ name, id }) => [name, id]))
    return { store, counts, events, progress, ids }
  }

  const three = [link({ name: 'A', id: '1' }), link({ name: 'B', id: '2' }), link({ name: 'C', id: '3' })]

  test('counts what it wrote, what was there, what conflicts and what is bad', async () => {
    const { store } = await imported(rowsOf(three.slice(0, 2)))
    const bad = { line: 9, error: 'has no id' }
    const rows = [
      ...rowsOf([link({ name: 'A', id: '1' }), link({ name: 'B', id: '9' }), link({ name: 'C', id: '3' })]),
      bad,
    ]
    const { counts, events, ids, progress } = await imported(rows, { store })
    expect(counts).toEqual({ rows: 4, written: 1, same: 1, conflicts: 1, badRows: 1 })
    expect(events).toEqual(['B: 9, not 2', '9 has no id'])
    expect(ids).toEqual({ A: '1', B: '2', C: '3' })
    expect(progress).toEqual([{ counts, last: expect.objectContaining({ name: 'C' }) }])
    const replaced = await imported(rows, { store, replace: true })
    expect(replaced.counts).toEqual({ rows: 4, written: 1, same: 2, conflicts: 0, badRows: 1 })
    expect(replaced.ids).toEqual({ A: '1', B: '9', C: '3' })
  })

  test('goes on after the rows that are done', async () => {
    const counts = { rows: 2, written: 2, same: 0, conflicts: 0, badRows: 0 }
    const { counts: all, ids } = await imported(rowsOf(three), { from: { counts } })
    expect(all).toEqual({ rows: 3, written: 3, same: 0, conflicts: 0, badRows: 0 })
    expect(ids).toEqual({ C: '3' })
    expect(counts.rows).toBe(2)
  })

  test('of nothing does nothing', async () => {
    expect(await imported([])).toMatchObject({ counts: noProgress.counts, progress: [], ids: {} })
  })

  test('is durable in steps; a step of bad rows keeps the last link', async () => {
    const links = Array.from({ length: BATCH }, (_, i) => link({ name: `N-${i}` }))
    const { progress } = await imported([...rowsOf(links), { line: BATCH + 2, error: 'has no id' }])
    const last = expect.objectContaining({ name: `N-${BATCH - 1}` })
    expect(progress).toEqual([
      { counts: { rows: BATCH, written: BATCH, same: 0, conflicts: 0, badRows: 0 }, last },
      { counts: { rows: BATCH + 1, written: BATCH, same: 0, conflicts: 0, badRows: 1 }, last },
    ])
  })
})

describe('a checkpoint', () => {
  const PROGRESS = { counts: { rows: 7, written: 4, same: 1, conflicts: 1, badRows: 1 }, last: keyOf(link()) }

  /** A file to be imported. */
  function newFile(): string {
    const file = join(testFolder(), 'numbers.csv')
    writeFileSync(file, 'name,id\n')
    return file
  }

  test('is kept beside the file, for its purpose, until it is removed', () => {
    const file = newFile()
    const checkpoint = checkpointOf(file, ['sqlite:secret-store.db', false])
    expect(checkpoint.read()).toBeUndefined()
    checkpoint.write(PROGRESS)
    expect(checkpoint.read()).toMatchObject(PROGRESS)
    expect(readFileSync(`${file}.import-progress`, 'utf8')).not.toContain('secret')
    expect(existsSync(`${file}.import-progress.new`)).toBe(false)
    expect(checkpointOf(file, ['sqlite:secret-store.db', false]).read()).toMatchObject(PROGRESS)
    expect(checkpointOf(file, ['sqlite:secret-store.db', true]).read()).toBeUndefined()
    checkpoint.remove()
    expect(existsSync(`${file}.import-progress`)).toBe(false)
    checkpoint.remove()
  })

  test('does not count after a change of the file, or if it is no checkpoint', () => {
    const file = newFile()
    checkpointOf(file, []).write(PROGRESS)
    writeFileSync(file, 'name,id\nA,1\n')
    expect(checkpointOf(file, []).read()).toBeUndefined()
    writeFileSync(`${file}.import-progress`, '{')
    expect(checkpointOf(file, []).read()).toBeUndefined()
  })

  test('is in a store that has its last link, with the same VIN, kind and giver', async () => {
    const store = createMemoryStore()
    const one = link({ kind: 'shipment', vin: 'V', givenBy: 'service' })
    await store.put({ links: [one] })
    const isIn = (change: Partial<NewLink>) => isInStore(store, { ...PROGRESS, last: keyOf({ ...one, ...change }) })
    expect(await isInStore(store, noProgress)).toBe(true)
    expect(await isIn({})).toBe(true)
    for (const change of [
      { name: 'x' },
      { vin: '' },
      { kind: 'quote' },
      { givenBy: 'caller' },
      { tenant: 'x' },
    ] as const) {
      expect(await isIn(change)).toBe(false)
    }
  })
})

describe('the last key of an interrupted export', () => {
  const links = [link({ name: 'A', vin: 'VIN' }), link({ kind: 'shipment', name: ' B, "b"\n', givenBy: 'service' })]
  const OLD_CELL = 'acme,quote,"two\nlines",,id-1,1970-01-01T00:00:01.000Z,caller\n'

  /** The last key, and what stays of the file. */
  async function resumed(text: string, format: Format) {
    const file = join(testFolder(), 'export')
    writeFileSync(file, text)
    try {
      return { key: await lastKey(file, format), text: readFileSync(file, 'utf8') }
    } catch (error) {
      expect(readFileSync(file, 'utf8')).toBe(text)
      return error
    }
  }

  test.each<Format>(['csv', 'ndjson'])('as %s is that of the last whole line; the rest is cut off', async (format) => {
    const whole = headerOf(format) + links.map((one) => lineOf(one, format)).join('')
    const key = links.map(keyOf)[1]
    expect(await resumed(whole, format)).toEqual({ key, text: whole })
    expect(await resumed(`${whole}acme,quo`, format)).toEqual({ key, text: whole })
    const first = headerOf(format) + lineOf(link({ name: 'A', vin: 'VIN' }), format)
    expect(await resumed(whole.slice(0, -1), format)).toEqual({ key: links.map(keyOf)[0], text: first })
  })

  test('is none in a file without a row', async () => {
    expect(await resumed('', 'csv')).toEqual({ key: undefined, text: '' })
    expect(await resumed('', 'ndjson')).toEqual({ key: undefined, text: '' })
    expect(await resumed('tenant,ki', 'csv')).toEqual({ key: undefined, text: '' })
    expect(await resumed(headerOf('csv'), 'csv')).toEqual({ key: undefined, text: headerOf('csv') })
    expect(await resumed('{"tenant"', 'ndjson')).toEqual({ key: undefined, text: '' })
  })

  test('reads a cell of several lines', async () => {
    const text = headerOf('csv') + OLD_CELL
    expect(await resumed(text, 'csv')).toEqual({ key: keyOf(link({ name: 'two\nlines' })), text })
    expect(await resumed(`${text}acme,quote,"three\nli`, 'csv')).toMatchObject({ text })
  })

  test.each<[string, Format, string]>([
    ['name,id\nA,1\n', 'csv', 'does not begin like an export; it stays as it is'],
    [`${headerOf('csv')}acme,booking,A,,1,,caller\n`, 'csv', 'does not end like an export; it stays as it is'],
    [`${headerOf('csv')}acme,quote,A,,1,,me\n`, 'csv', 'does not end like an export; it stays as it is'],
    ['text\n', 'ndjson', 'does not end like an export; it stays as it is'],
    ['null\n', 'ndjson', 'does not end like an export; it stays as it is'],
    [
      '{"tenant":"a","kind":"quote","name":1,"vin":"","given_by":"caller"}\n',
      'ndjson',
      'does not end like an export; it stays as it is',
    ],
  ])('of %j as %s is refused', async (text, format, said) => {
    expect(await resumed(text, format)).toEqual(new FileUnreadable(said))
  })
})
