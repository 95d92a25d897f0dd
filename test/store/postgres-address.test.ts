/** Promise: the address of a PostgreSQL means what it means to libpq (contract, section 11). */

import fc from 'fast-check'
import pg from 'pg'
import { expect, test } from 'vitest'
import { readAddress } from '../../src/store/postgres/address.ts'

const places = (url: string) => readAddress(url).servers.map(({ place }) => place)
/** Returns where the driver connects to, for each server of an address. */
const targets = (url: string) =>
  readAddress(url).servers.map(({ connection }) => {
    const { user, password, host, port, database } = new pg.Client(connection)
    expect({ user, password, database }).toEqual(AS)
    return `${host} ${port}`
  })

const AS = { user: 'u', password: 'p@ss', database: 'db' }

test.each([
  ['postgres://u:p%40ss@h/db', ['h 5432']],
  ['postgresql://u:p%40ss@h:6432/db', ['h 6432']],
  ['postgres://u:p%40ss@h1:5433,h2,h3:5434/db', ['h1 5433', 'h2 5432', 'h3 5434']],
  ['postgres://u:p@ss@h1,h2/db', ['h1 5432', 'h2 5432']],
  ['postgres://u:p%40ss@[::1]:5433,[fe80::2]/db?target_session_attrs=primary', ['::1 5433', 'fe80::2 5432']],
  ['postgres://u:p%40ss@/db?host=h1,h2&port=1,2', ['h1 1', 'h2 2']],
  ['postgres://u:p%40ss@/db?host=h1,h2&port=7', ['h1 7', 'h2 7']],
  ['postgres://u:p%40ss@/db?host=/run/postgresql', ['/run/postgresql 5432']],
])('%s', (url, expected) => expect(targets(url)).toEqual(expected))

test('places are for messages, and have no password', () => {
  expect(places('postgres://u:secret@h1,h2:6432/db')).toEqual(['h1:5432', 'h2:6432'])
  expect(places('postgres://u:secret@/db?host=/run/postgresql')).toEqual(['/run/postgresql'])
})

test('other parameters go to the driver', () => {
  const url = 'postgres://u@h1,h2/db?application_name=one%20name&target_session_attrs=read-write'
  for (const { connection } of readAddress(url).servers) {
    expect(connection).toMatchObject({ application_name: 'one name' })
  }
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
  expect(readAddress(`postgres://h/db${parameters}`).servers[0].connection.ssl).toEqual(ssl)
})

test.each([
  ['postgres://u:secret@:x', /^STORE_URL is not a PostgreSQL address/],
  ['postgres://u:secret@h1,:x/db', /^STORE_URL is not a PostgreSQL address/],
  ['postgres://u:secret@h1,,h2/db', /^STORE_URL is not a PostgreSQL address/],
  ['postgres://u:secret@h1:99999,h2/db', /^STORE_URL is not a PostgreSQL address/],
  ['postgres://u:secret@/db?host=h1,h2&port=1,2,3', /^STORE_URL has 2 hosts and 3 ports/],
  ['postgres://u:secret@/db?host=h1,h2,h3&port=1,2', /^STORE_URL has 3 hosts and 2 ports/],
  [
    'postgres://u:secret@h/db?target_session_attrs=standby',
    /^STORE_URL has target_session_attrs=standby, and the gateway writes/,
  ],
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

test('one host in the address and in a list reads the same', () => {
  const host = fc.domain()
  const port = fc.integer({ min: 1, max: 65_535 })
  fc.assert(
    fc.property(fc.array(fc.tuple(host, port), { minLength: 1, maxLength: 4 }), (hosts) => {
      const list = hosts.map(([name, number]) => `${name}:${number}`)
      const together = targets(`postgres://u:p%40ss@${list.join(',')}/db`)
      expect(together).toEqual(list.flatMap((one) => targets(`postgres://u:p%40ss@${one}/db`)))
    }),
  )
})
