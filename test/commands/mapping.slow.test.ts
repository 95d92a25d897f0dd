/** Promise: an operator tries own declarations against own cases (contract, section 4). */

import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { cleanEnv, newFolder, ROOT, run } from '../command.ts'

function openFolder() {
  const folder = newFolder('mapping')
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const mapping = (...args: readonly string[]) =>
    run(process.execPath, [join(ROOT, 'bin/transload.js'), 'mapping', ...args], { cwd: folder, env: cleanEnv() })
  return { folder, mapping }
}

const QUOTE = { TempShipFromPostalCode: '10314', TempShipToPostalCode: '33166' }
const SENDS = { method: 'POST', path: '/v2/quote' }

test.each<[string, object | string, readonly RegExp[]]>([
  ['a file that is not JSON', '{', [/^ {4}is not JSON/]],
  ['an unknown key', { action: 'quote.get', request: {}, send: {} }, [/^ {4}1:\d+: unknown key send$/]],
  ['no request and no reply', { action: 'quote.get' }, [/needs a request or a service/]],
  [
    'an unknown action',
    { action: 'quote.gte', request: {} },
    [/there is no action quote\.gte; did you mean quote\.get\?/],
  ],
  [
    'a problem that is not expected',
    { action: 'quote.get', request: {} },
    [/problems: expected \[\]/, /got \["TempShip/],
  ],
  [
    'another body',
    { action: 'quote.get', request: QUOTE, sends: { ...SENDS, body: { pickup: '1' } } },
    [/sends: expected/, /got \{"method":"POST","path":"\/v2\/quote","body":\{"/],
  ],
  [
    'an unknown field',
    { action: 'quote.get', request: { ...QUOTE, Foo: 1 }, unknown: [] },
    [/unknown: expected \[\]/, /got \["Foo"\]/],
  ],
  ['a reply without its price', { action: 'quote.get', service: {}, replies: {} }, [/replies: the reply lacks /]],
])('%s fails with a line', async (_what, content, lines) => {
  const { folder, mapping } = openFolder()
  mkdirSync(join(folder, 'cases'))
  writeFileSync(join(folder, 'cases/one.json'), typeof content === 'string' ? content : JSON.stringify(content))
  const [ended, asJson] = await Promise.all([mapping('test', '.'), mapping('test', '.', '--json')])
  expect({ code: ended.code, err: ended.err }).toEqual({ code: 1, err: '' })
  for (const line of lines) expect(ended.out).toMatch(new RegExp(line.source, 'm'))
  expect(ended.out).toMatch(/^failed {2}cases\/one\.json\n[\s\S]*0 passed, 1 failed\n$/)
  expect(JSON.parse(asJson.out)).toMatchObject({ file: 'cases/one.json', passed: false })
})

test('a folder without cases is an error', async () => {
  const { folder, mapping } = openFolder()
  expect(await mapping('test', '.')).toMatchObject({
    code: 1,
    err: expect.stringContaining('cannot stat cases: no such file or directory'),
  })
  mkdirSync(join(folder, 'cases'))
  expect(await mapping('test', '.')).toMatchObject({ code: 1, err: 'transload: there are no cases in cases\n' })
})
