/** Promise: commands print the same on a terminal as elsewhere (contract, section 11). */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { folder } from '../callers/tenants-gateway.ts'
import { cleanEnv, output, ROOT, run, start } from '../command.ts'
import { badLines, helpLines, printed, RUN_LINES } from '../commands/every-command.ts'

const PROGRAM = `"${process.execPath}" "${join(ROOT, 'bin/transload.js')}"`

/** Runs a command on a pseudo-terminal, and returns its output with the escape sequences. */
async function onTerminal(command: string, env: NodeJS.ProcessEnv): Promise<string> {
  const { code, out } = await run('script', ['--quiet', '--return', '--command', command, '/dev/null'], {
    env: cleanEnv(env),
  })
  expect({ code, out }).toMatchObject({ code: 0 })
  return out
}

test('help, version and the errors of every command are the same on a terminal as elsewhere', async () => {
  const lines = [...helpLines(), ...badLines()]
  // A pipe has no width: commander takes 80 columns.
  const command = `stty cols 80; "${process.execPath}" "${RUN_LINES}" '${JSON.stringify(lines)}'`
  const shown = await onTerminal(command, { TERM: 'xterm-256color', FORCE_COLOR: undefined })
  expect(shown.replaceAll('\r\n', '\n')).toBe(await printed(lines))
  expect(lines.length).toBeGreaterThan(80)
})

test('a rehearsal shows a status on a terminal, and leaves only its report there', async () => {
  const place = folder()
  const line = '{"path":"/getShipment.php?ReferenceNumber=R-1","method":"GET"}\n'
  writeFileSync(join(place, 'a.ndjson'), line.repeat(100_000))
  const shown = await onTerminal(`stty cols 120; cd ${place}; ${PROGRAM} rehearse a.ndjson`, { TERM: 'xterm' })
  const statuses = shown.split('\r\u001b[2K').filter(Boolean)
  expect(statuses.length).toBeGreaterThan(1)
  expect(statuses.pop()).toMatch(/^100,000 lines, 100,000 version-1 calls: 100,000 pass/)
  for (const one of statuses) expect(one).toMatch(/^[\d,]+ lines rehearsed \(\d+ %\), [\d,]+ per second$/)
})

test('the demo colors its lines on a terminal', async () => {
  const env = cleanEnv({ PORT: '0', ADMIN_PORT: '0', TERM: 'xterm' })
  const demo = start('script', ['--quiet', '--flush', '--command', `${PROGRAM} demo`, '/dev/null'], { env })
  const said = await demo.says(/Ctrl-C stops it\.\r\n/)
  const [quote = ''] = said.match(/^curl .*$/m) ?? []
  await output('bash', ['-c', quote.trim()], { env: cleanEnv() })
  const shown = await demo.says(/→ POST \/v2\/quote /)
  expect(shown).toContain('\u001b[32m200  POST  /getShippingQuote.php  quote.get')
  expect(shown).toContain('\u001b[2m     → POST /v2/quote {')
  demo.signal('SIGINT')
  await demo.ended
})
