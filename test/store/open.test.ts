/** Promise: STORE_URL chooses the engine (contract, section 11). */

import { rmSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openStore } from '../../src/outside/store/open.ts'
import { newFolder } from '../command.ts'

let folder: string
beforeAll(() => {
  folder = newFolder('open')
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test.each([
  ['memory:', 'memory'],
  ['sqlite:{}/a.db', 'sqlite'],
  ['sqlite://{}/b.db', 'sqlite'],
  ['file:{}/c.db', 'sqlite'],
  ['file://{}/d.db', 'sqlite'],
  ['{}/e.db', 'sqlite'],
  [' {}/f/g h.db ', 'sqlite'],
])('%s opens a store of %s', async (url, engine) => {
  const store = await openStore(url.replace('{}', folder))
  expect(store.engine).toBe(engine)
  expect(store.ready()).toBe(true)
  await store.close()
})

test.each([
  ['redis://localhost', 'redis:'],
  ['mysql://localhost/x', 'mysql:'],
  ['sqlite:', 'does not name a file'],
  ['./data/', 'does not name a file'],
  ['postgres://host:port/x', 'STORE_URL cannot be used: Invalid URL'],
])('%s is refused in one line', async (url, reason) => {
  const error: unknown = await openStore(url).catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(Error)
  expect(String(error)).toContain(reason)
  expect(String(error)).not.toContain('\n')
})
