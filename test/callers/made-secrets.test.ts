/** Promise: tenants are added with secrets that the gateway makes, and all of them may call right after a start (contract, section 7). */

import { existsSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { cleanEnv, newFolder, ROOT, run } from '../command.ts'
import { basic, post, startGateway } from '../gateway.ts'

const MAIN = join(ROOT, 'src/main.ts')

function place() {
  const folder = newFolder('tenants')
  const file = join(folder, 'tenants.json')
  writeFileSync(join(folder, 'v2.txt'), 'demo-secret')
  const transload = async (words: readonly string[], input?: string) => {
    const ended = await run(process.execPath, [MAIN, ...words, '--file', file], {
      cwd: folder,
      env: cleanEnv({ V2_BASE_URL: 'https://service.example.com' }),
      ...(input !== undefined && { input }),
    })
    return { ...ended, secret: /^tl_\S+$/m.exec(ended.out)?.[0] ?? '' }
  }
  const add = (name: string) =>
    transload(['tenants', 'add', name, '--v2-client-id', 'demo', '--v2-secret-file', join(folder, 'v2.txt')])
  const content = () => JSON.parse(readFileSync(file, 'utf8'))
  return { folder, file, transload, add, content }
}

const quote = (gateway: { readonly url: string }, id: string, secret: string) =>
  post(gateway, '/getShippingQuote.php', quoteExample, { authorization: basic(id, secret) })

test('a tenant is added, rotated and removed, and its secrets work', async () => {
  const { file, transload, add, content } = place()
  const acme = await add('acme')
  expect(acme).toMatchObject({ code: 0, err: '' })
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(readFileSync(file, 'utf8')).not.toContain(acme.secret)
  // What people wrote stays: order, and keys of other tenants.
  const written = content()
  writeFileSync(file, JSON.stringify({ ...written, tenants: [{ ...written.tenants[0], error_status: 'ok' }] }, null, 4))
  const other = await add('other')
  expect(content().tenants).toMatchObject([{ name: 'acme', error_status: 'ok' }, { name: 'other' }])
  expect(readFileSync(file, 'utf8')).toMatch(/^ {4}"tenants"/m)
  expect(await add('acme')).toMatchObject({ code: 1, err: expect.stringContaining('there is a tenant acme already') })
  const next = await transload(['tenants', 'rotate', 'acme'])

  const gateway = await startGateway({ env: { TENANTS_FILE: file } })
  for (const secret of [acme.secret, next.secret]) expect((await quote(gateway, 'acme', secret)).status).toBe(200)
  for (const [id, secret] of [
    ['acme', other.secret],
    ['other', acme.secret],
    ['nobody', acme.secret],
    ['acme', 'wrong'],
  ])
    expect((await quote(gateway, id ?? '', secret ?? '')).status).toBe(401)

  const only = await transload(['tenants', 'rotate', 'acme', '--only'])
  expect(content().tenants[0].credentials).toHaveLength(1)
  expect(only.secret).not.toBe(next.secret)
  expect(await transload(['tenants', 'remove', 'other'])).toMatchObject({ code: 0 })
  expect(content().tenants).toHaveLength(1)
  expect(await transload(['tenants', 'remove', 'other'])).toMatchObject({ code: 1 })
})

test('commands at once lose no tenant, and the rest of a killed one is no hindrance', async () => {
  const { file, add, content } = place()
  const names = ['a', 'b', 'c', 'd']
  const ended = await Promise.all(names.map(add))
  const added = names.filter((_, at) => ended[at]?.code === 0)
  expect(
    content()
      .tenants.map(({ name }: { readonly name: string }) => name)
      .sort(),
  ).toEqual(added)
  for (const { code, err } of ended) if (code !== 0) expect(err).toContain('another command changes the tenants')

  writeFileSync(`${file}.next`, '')
  expect(await add('late')).toMatchObject({ code: 1, err: expect.stringContaining('try again') })
  utimesSync(`${file}.next`, 0, 0)
  expect(await add('late')).toMatchObject({ code: 0 })
  expect(existsSync(`${file}.next`)).toBe(false)
})

test('old secrets are imported from CSV', async () => {
  const { folder, transload, file, content } = place()
  const csv = `name,id,secret,v2_client_id,v2_secret_file\none,id-1,old secret,demo,${join(folder, 'v2.txt')}\n`
  expect(await transload(['tenants', 'import', '-'], csv)).toMatchObject({ code: 0, out: '1 tenants are added.\n' })
  expect(content().tenants[0].credentials[0].secret_hash).toMatch(/^\$scrypt\$/)
  const gateway = await startGateway({ env: { TENANTS_FILE: file } })
  expect((await quote(gateway, 'id-1', 'old secret')).status).toBe(200)
  expect(await transload(['tenants', 'import', '-'], 'name,id\nx,y\n')).toMatchObject({ code: 1 })
})

test('two hundred tenants may call at once, right after a start', async () => {
  const { folder, file } = place()
  const { makeSecret, hashSecret } = await import('../../src/callers/tenants.ts')
  const secrets = Array.from({ length: 200 }, makeSecret)
  const tenants = await Promise.all(
    secrets.map(async (secret, no) => ({
      name: `t${no}`,
      credentials: [{ id: `t${no}`, secret_hash: await hashSecret(secret) }],
      v2: { client_id: 'demo', client_secret: { file: join(folder, 'v2.txt') } },
    })),
  )
  writeFileSync(file, JSON.stringify({ tenants }))
  const gateway = await startGateway({ env: { TENANTS_FILE: file } })
  const answers = await Promise.all(secrets.map((secret, no) => quote(gateway, `t${no}`, secret)))
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
})
