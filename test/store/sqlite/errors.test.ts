import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test } from 'vitest'
import { isBusy, isDamage, isNoDatabase, isStoreFailure, messageOf } from '../../../src/store/sqlite/connection.ts'

const failure = (errcode: number) => Object.assign(new Error('failed'), { errcode })

describe('an error of SQLite', () => {
  test.each([
    ['busy', 5, { busy: true, damage: false, noDatabase: false, store: true }],
    ['busy, in a snapshot', 517, { busy: true, damage: false, noDatabase: false, store: true }],
    ['locked', 6, { busy: false, damage: false, noDatabase: false, store: true }],
    ['corrupt', 11, { busy: false, damage: true, noDatabase: false, store: true }],
    ['corrupt, in an index', 779, { busy: false, damage: true, noDatabase: false, store: true }],
    ['not a database', 26, { busy: false, damage: true, noDatabase: true, store: true }],
    ['full', 13, { busy: false, damage: false, noDatabase: false, store: true }],
    ['input or output', 10, { busy: false, damage: false, noDatabase: false, store: true }],
    ['too big', 18, { busy: false, damage: false, noDatabase: false, store: false }],
    ['a constraint', 19, { busy: false, damage: false, noDatabase: false, store: false }],
    ['a unique constraint', 2067, { busy: false, damage: false, noDatabase: false, store: false }],
    ['a wrong type', 20, { busy: false, damage: false, noDatabase: false, store: false }],
    ['a wrong parameter', 25, { busy: false, damage: false, noDatabase: false, store: false }],
  ])('%s (%i)', (_, code, expected) => {
    const error = failure(code)
    const [busy, damage, noDatabase, store] = [isBusy, isDamage, isNoDatabase, isStoreFailure].map((is) => is(error))
    expect({ busy, damage, noDatabase, store }).toEqual(expected)
  })

  test('is known by the code that the driver gives it', () => {
    const db = new DatabaseSync(':memory:')
    db.exec('CREATE TABLE a (b UNIQUE); INSERT INTO a VALUES (1)')
    let error: unknown
    try {
      db.exec('INSERT INTO a VALUES (1)')
    } catch (thrown) {
      error = thrown
    }
    expect(isStoreFailure(error)).toBe(false)
    expect(messageOf(error)).toMatch(/UNIQUE constraint failed/)
    db.close()
  })
})

test.each([new Error('a bug'), 'text', { errcode: 5 }, undefined])('%s is no error of SQLite', (error) => {
  expect([isBusy, isDamage, isNoDatabase, isStoreFailure].map((is) => is(error))).toEqual([false, false, false, false])
})

test('the message of what is no error is its text', () => {
  expect([messageOf(new Error('no')), messageOf('text'), messageOf(5)]).toEqual(['no', 'text', '5'])
})
