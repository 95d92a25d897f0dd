/** Promise: the address of a PostgreSQL means what it means to libpq (contract, section 11). */

import pg from 'pg'
import { expect, test } from 'vitest'
import { readAddress } from '../../src/language/config/postgres-address.ts'

/** Returns where the driver connects to. */
function targetOf(url: string): string {
  const { user, password, host, port, database } = new pg.Client(readAddress(url).server.connection)
  expect({ user, password, database }).toEqual(AS)
  return `${host} ${port}`
}

const AS = { user: 'u', password: 'p@ss', database: 'db' }

test.each([
  ['postgres://u:p%40ss@h/db', 'h 5432'],
  ['postgresql://u:p%40ss@h:6432/db', 'h 6432'],
  ['postgres://u:p@ss@h/db', 'h 5432'],
  ['postgres://u:p%40ss@[::1]:5433/db', '::1 5433'],
  ['postgres://u:p%40ss@/db?host=h&port=7', 'h 7'],
  ['postgres://u:p%40ss@/db?host=/run/postgresql', '/run/postgresql 5432'],
])('%s', (url, expected) => expect(targetOf(url)).toBe(expected))

test.each([
  ['postgres://u:secret@h/db', 'h:5432'],
  ['postgres://u:se,cret@h:6432/db', 'h:6432'],
  ['postgres://u:secret@/db?host=/run/postgresql', '/run/postgresql'],
])('the place of %s is for messages, and has no password', (url, place) => {
  expect(readAddress(url).server.place).toBe(place)
})

test('other parameters go to the driver', () => {
  const { connection } = readAddress('postgres://u@h/db?application_name=one%20name').server
  expect(connection).toMatchObject({ application_name: 'one name' })
})

test.each([
  ['', undefined],
  ['?sslmode=disable', false],
  ['?sslmode=require', { rejectUnauthorized: false }],
  ['?sslmode=verify-full', {}],
  ['?sslmode=require&uselibpqcompat=true', { rejectUnauthorized: false }],
  ['?sslmode=require&sslrootcert=system', {}],
  ['?sslrootcert=system', {}],
])('%s is read as libpq does', (parameters, ssl) => {
  expect(readAddress(`postgres://h/db${parameters}`).server.connection.ssl).toEqual(ssl)
})

test.each([
  ['mysql://u:secret@h/db', /^STORE_URL is not a PostgreSQL address/],
  ['postgres://u:secret@:x', /^STORE_URL cannot be used: Invalid URL/],
  ['postgres://u:secret@h:99999/db', /^STORE_URL cannot be used: Invalid URL/],
  ['postgres://u:secret@h1,h2:5433/db', /^STORE_URL names several hosts; write one address that moves/],
  ['postgres://u:secret@/db?host=h1,h2', /^STORE_URL names several hosts; write one address that moves/],
  [
    'postgres://u:secret@h/db?sslmode=prefer',
    /^STORE_URL has sslmode=prefer, .* write disable, require, verify-ca or verify-full/,
  ],
  ['postgres://u:secret@h/db?sslmode=verify-ca', /^STORE_URL has sslmode=verify-ca without .*; add sslrootcert=FILE/],
  ['postgres://u:secret@h/db?sslmode=verify-full&sslrootcert=/none', /^STORE_URL cannot be used: ENOENT: .*\/none/],
  ['postgres://u:secret@h/db?sslmode=verify-ca&sslrootcert=system', /^STORE_URL has sslmode=verify-ca without/],
])('%s is refused', (url, why) => {
  expect(() => readAddress(url)).toThrow(why)
  expect(() => readAddress(url)).not.toThrow(/secret/)
})
