/** Promise: tenants are added and rotated with secrets that the gateway makes (contract, section 5). */

import { existsSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { basic, startGateway, type TestGateway } from '../gateway.ts'
import { transload } from './commands.ts'
import { folder, quote } from './tenants-gateway.ts'

function place() {
  const home = folder()
  const file = join(home, 'tenants.json')
  writeFileSync(join(home, 'v2.txt'), 'demo-secret')
  const change = async (words: readonly string[], input?: string) => {
    const env = { V2_BASE_URL: 'https://service.example.com' }
    const ended = await transload(['tenants', ...words, '--file', file], home, env, input)
    return { ...ended, secret: /^tl_\S+$/m.exec(ended.out)?.[0] ?? '' }
  }
  const add = (name: string) =>
    change(['add', name, '--v2-client-id', 'demo', '--v2-secret-file', join(home, 'v2.txt')])
  const content = () => JSON.parse(readFileSync(file, 'utf8'))
  return { home, file, change, add, content }
}

const status = async (gateway: TestGateway, id = '', secret = '') =>
  (await quote(gateway, { authorization: basic(id, secret) })).status

test('a tenant is added, rotated and removed, and its secrets work', async () => {
  const { file, change, add, content } = place()
  const acme = await add('acme')
  expect(acme).toMatchObject({ code: 0, err: '' })
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(readFileSync(file, 'utf8')).not.toContain(acme.secret)
  // The order and the keys of other tenants stay as people wrote them.
  const written = content()
  writeFileSync(file, JSON.stringify({ ...written, tenants: [{ ...written.tenants[0], error_status: 'ok' }] }, null, 4))
  const other = await add('other')
  expect(content().tenants).toMatchObject([{ name: 'acme', error_status: 'ok' }, { name: 'other' }])
  expect(readFileSync(file, 'utf8')).toMatch(/^ {4}"tenants"/m)
  expect(await add('acme')).toMatchObject({ code: 1, err: expect.stringContaining('there is already a tenant acme') })
  const next = await change(['rotate', 'acme'])

  const gateway = await startGateway({ env: { TENANTS_FILE: file } })
  for (const secret of [acme.secret, next.secret]) expect(await status(gateway, 'acme', secret)).toBe(200)
  expect(await status(gateway, 'acme', other.secret)).toBe(401)
  expect(await status(gateway, 'nobody', acme.secret)).toBe(401)

  const only = await change(['rotate', 'acme', '--only'])
  expect(content().tenants[0].credentials).toHaveLength(1)
  expect(only.secret).not.toBe(next.secret)
  expect(await change(['remove', 'other'])).toMatchObject({ code: 0 })
  expect(content().tenants).toHaveLength(1)
  expect(await change(['remove', 'other'])).toMatchObject({ code: 1 })
})

test('concurrent commands lose no tenant, and the remains of a killed one do not matter', async () => {
  const { file, add, content } = place()
  const names = ['a', 'b', 'c', 'd']
  const ended = await Promise.all(names.map(add))
  const added = names.filter((_, at) => ended[at]?.code === 0)
  const found = content().tenants.map(({ name }: { readonly name: string }) => name)
  expect(found.sort()).toEqual(added)
  for (const { code, err } of ended)
    if (code !== 0) expect(err).toContain('another command is changing the tenants file')

  writeFileSync(`${file}.next`, '')
  expect(await add('late')).toMatchObject({ code: 1, err: expect.stringContaining('try again') })
  utimesSync(`${file}.next`, 0, 0)
  expect(await add('late')).toMatchObject({ code: 0 })
  expect(existsSync(`${file}.next`)).toBe(false)
})
