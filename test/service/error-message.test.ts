/** Promise: a refusal of the service is told with its own words (contract, section 9). */

import { expect, test } from 'vitest'
import { OWN, startGateway } from '../gateway.ts'
import type { Fault } from '../stand-in/stand-in.ts'
import { book, quote, read, update } from './calls.ts'

/** Opens a gateway; returns what a caller is told of a refusal. */
async function start() {
  const gateway = await startGateway({ env: OWN })
  return async (body: string | object | Buffer, status = 422): Promise<string> => {
    const bytes = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body)
    const fault: Fault = { kind: 'change', change: () => ({ status, body: bytes }), process: false }
    gateway.sandbox.fail(fault)
    return (await quote(gateway)).json.Message
  }
}

test.each([
  [400, 'The service rejected this request.'],
  [401, 'The service rejected this credential. Check the Client ID and the Client Secret.'],
  [403, 'This credential is not allowed to do this.'],
  [429, 'The service is limiting requests. Try again later.'],
  [500, 'The service failed (status 500). Try again later.'],
])('a refusal with %i says what that means, then the words of the service', async (status, means) => {
  const told = await start()
  expect(await told('', status)).toBe(means)
  expect(await told({ message: 'Closed on Sundays.' }, status)).toBe(`${means} The service says: Closed on Sundays.`)
})

test('the most specific words are found, each once, and in any charset', async () => {
  const told = await start()
  const keys = ['message', 'errorMessage', 'detail', 'errorDescription', 'description', 'reason', 'msg', 'title']
  const said: readonly (readonly [string | object | Buffer, string])[] = [
    ...keys.map((_, i) => {
      const less = keys.slice(i).map((key) => [key, `the ${key}`] as const)
      return [Object.fromEntries(less.toReversed()), `the ${keys[i]}`] as const
    }),
    [{ data: 'Third.', errors: ['Second.'], message: 'First.' }, 'First.; Second.; Third.'],
    [
      { errors: { zip: ['is wrong', 'is short'], code: 'E1', vin: 'is long' } },
      'zip: is wrong; zip: is short; vin: is long',
    ],
    [{ errors: [{ param: 'zip', message: 'the zip is wrong' }] }, 'the zip is wrong'],
    [['zip', 'The zip is wrong', 'the ZIP is wrong!'], 'The zip is wrong'],
    [['zip', 'The zipper is wrong'], 'zip; The zipper is wrong'],
    [[[[[['Not too deep.']]]]], 'Not too deep.'],
    [Buffer.from([0x80, 0x31]), '€1'],
    ['\ufeffClosed.\nCome back.', 'Closed. Come back.'],
    ['x'.repeat(301), `${'x'.repeat(299)}…`],
    [`${'x'.repeat(298)}🚗🚗`, `${'x'.repeat(298)}…`],
  ]
  for (const [body, words] of said) expect((await told(body)).split('The service says: ')[1]).toBe(words)
})

test('pages are never quoted', async () => {
  const told = await start()
  const tags = ['html', 'head', 'body', 'title', 'p', 'b', 'hr', 'div', 'span', 'pre', 'center', 'a', 'table', 'H1']
  const pages = ['<!doctype html>', 'Sorry</p>', ...tags.map((tag) => `x <${tag} class="y">`)]
  for (const page of pages) {
    expect(await told(page)).toBe('The service rejected this request.')
    expect(await told({ message: page, title: 'Failed.' })).toMatch(/says: Failed\.$/)
  }
})

test('a reply that cannot be read is told as such; a change may have been made', async () => {
  const gateway = await startGateway({ env: OWN })
  await book(gateway)
  gateway.sandbox.fail({ kind: 'not-json' })
  expect((await read(gateway)).json.Message).toMatch(/Try again later\.$/)
  gateway.sandbox.fail({ kind: 'not-json', on: { method: 'PUT' } })
  expect((await update(gateway)).json.Message).toMatch(/It is not known whether the change was made\./)
})
