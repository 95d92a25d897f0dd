/** Promise: `demo` starts everything, and its printed calls work (contract, section 11). */

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { folder } from '../callers/tenants-gateway.ts'
import { cleanEnv, ROOT, run, start } from '../command.ts'
import { takenPort } from './taken-port.ts'

/** Sends the request of a printed curl command. */
async function statusOf(line: string): Promise<number> {
  const [, user = '', url = '', body] = /^curl -s -u (\S+) '?(http[^' ]+)'?(?: -d '(.*)')?$/.exec(line) ?? []
  const headers = { authorization: `Basic ${btoa(user)}` }
  const init = body === undefined ? {} : { method: 'POST', body: body.replaceAll("'\\''", "'") }
  return (await fetch(url, { headers, ...init })).status
}

/** Starts the same as `npm run demo`, in an empty folder. */
function startDemo(words: readonly string[], env: NodeJS.ProcessEnv, cwd = folder()) {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const [, program = '', command = ''] = /^node (\S+) (demo)$/.exec(scripts.demo) ?? []
  return start(process.execPath, [join(ROOT, program), command, ...words], { cwd, env: cleanEnv(env) })
}

test('the demo prints commands that work, shows each call with its request, opens both listeners, and names the ports that were taken', async () => {
  const [port, adminPort] = [await takenPort(), await takenPort()]
  const place = folder()
  const demo = startDemo([], { PORT: `${port}`, ADMIN_PORT: `${adminPort}` }, place)
  const said = await demo.says(/Ctrl-C stops it\.\n/)
  expect(said).toContain(`Port ${port} is in use, so the gateway uses a free one.\n`)
  expect(said).toContain(`Port ${adminPort} is in use, so the admin listener uses a free one.\n`)
  const [, url = ''] = /^ {2}Workbench +(\S+)\/$/m.exec(said) ?? []
  const [, admin = ''] = /^ {2}Operators +(\S+)\/$/m.exec(said) ?? []
  expect([url, admin]).not.toContain(`http://127.0.0.1:${port}`)
  expect(await (await fetch(`${admin}/metrics`)).text()).toContain('transload_calls_total')

  const commands = said.match(/^curl .*$/gm) ?? []
  expect(commands).toHaveLength(7)
  for (const line of commands) {
    expect(line).toContain(url)
    expect(await statusOf(line)).toBe(200)
  }
  expect(await statusOf(`curl -s -u demo:demo ${url}/getShippingQuote.php -d '{}'`)).toBe(422)
  const shown = await demo.says(/^422 {2}/m)
  expect(shown).toMatch(
    /^200 {2}POST {2}\/getShippingQuote\.php {2}quote\.get {2}[\d.]+ ms\n {5}→ POST \/v2\/quote \{"/m,
  )
  expect(shown).toMatch(/^200 {2}.* quote\.approve {2}[\d.]+ ms\n( {5}→ .*\n)* {5}→ POST \/v2\/quote\/[\w-]+\/approve/m)
  expect(shown).toMatch(/^422 {2}.* untranslatable\n(?! )/m)
  // A pipe gets no colors.
  expect(shown).not.toContain('\u001b')

  demo.signal('SIGINT')
  expect(await demo.ended).toMatchObject({ code: 0, err: '', out: expect.stringMatching(/\nStopped\.\n$/) })
  expect(readdirSync(place)).toEqual([])
})

test('a demo with a history fills the pages of operators', { timeout: 120_000 }, async () => {
  const demo = startDemo(['--with-history'], { PORT: '0', ADMIN_PORT: `${await takenPort()}` })
  const said = await demo.says(/^Port.*\n*Open[\s\S]*Ctrl-C/)
  const [, admin = ''] = /^ {2}Operators +(\S+)\/$/m.exec(said) ?? []
  const read = async (path: string) => JSON.parse(await (await fetch(admin + path)).text())
  // The callbacks are sent within seconds.
  await vi.waitFor(
    async () =>
      expect(await read('/home.json')).toMatchObject({
        mode: 'tenants',
        unknownBookings: { count: 6 },
        events: { parked: { count: 3 } },
      }),
    10_000,
  )
  expect(await read('/migration.json')).toMatchObject({ found: 7, watchedDays: 90 })
  expect(await read('/events.json')).toMatchObject({ endpoints: [{}, {}, {}] })
  // The commands on the pages work after the printed `export` line.
  const [scene = ''] = said.match(/^export .*$/m) ?? []
  const { settle } = (await read('/bookings.json?state=unknown')).bookings[0]
  const pasted = `${scene}\n${settle.notBooked} --yes\ntransload bookings list --state unknown --json\ncurl -s -u "$SERVICE_ID:$SERVICE_SECRET" "$SERVICE_URL"/v2/shipments/none`
  const shell = await run('bash', ['-c', pasted], { cwd: folder(), env: { PATH: process.env['PATH'] } })
  expect(shell.out, shell.err).toContain('"state"')
  expect(shell.out).toContain('There is no shipment none')
  expect(await read('/home.json')).toMatchObject({ unknownBookings: { count: 5 } })
  demo.signal('SIGINT')
  expect((await demo.ended).code).toBe(0)
})
