/** Promise: a PostgreSQL address means the same as for libpq (contract, section 11). */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { expect, test } from 'vitest'
import { readAddress } from '../../src/language/config/postgres-address.ts'

/** Addresses, each with the host and port that the driver connects to, its place, its `ssl`, or the reason why it is refused. */
const { targets, places, ssl, refused } = JSON.parse(
  readFileSync(join(import.meta.dirname, 'postgres-addresses.json'), 'utf8'),
)

test.each(Object.entries(targets))('%s', (url, target) => {
  const { user, password, host, port, database } = new pg.Client(readAddress(url).server.connection)
  expect({ user, password, database, target: `${host} ${port}` }).toEqual({
    ...{ user: 'u', password: 'p@ss', database: 'db' },
    target,
  })
})

test.each(Object.entries(places))('the place of %s is for messages, and has no password', (url, place) => {
  expect(readAddress(url).server.place).toBe(place)
})

test('other parameters go to the driver', () => {
  const { connection } = readAddress('postgres://u@h/db?application_name=one%20name').server
  expect(connection).toMatchObject({ application_name: 'one name' })
  expect(connection.ssl).toBeUndefined()
})

test.each(Object.entries(ssl))('%s is read as libpq does', (parameters, read) => {
  expect(readAddress(`postgres://h/db${parameters}`).server.connection.ssl).toEqual(read)
})

test.each(Object.entries<string>(refused))('%s is refused', (url, why) => {
  expect(() => readAddress(url)).toThrow(new RegExp(`^${why}`))
  expect(() => readAddress(url)).not.toThrow(/secret/)
})
