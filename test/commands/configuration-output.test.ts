/** Promise: `init` writes what the gateway accepts, in the order of the documentation; `check` warns like `serve` (contract, section 11). */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { configNames } from '../../src/language/config/config.ts'
import { folder } from '../callers/tenants-gateway.ts'
import { PROGRAM, ROOT, runAlone } from '../command.ts'
import { TLS } from '../http/line.ts'
import { transcript } from './transcript.ts'

test('init writes files that the gateway accepts, says how to start it, and overwrites nothing', async () => {
  for (const options of [[], ['--sidecar']]) {
    const place = folder()
    const { out } = await runAlone(process.execPath, [PROGRAM, 'init', ...options], { cwd: place })
    const [, command] = /^Wrote transload.env.*^Start: (.*) serve$/ms.exec(out) ?? []
    expect(await transcript(place, ['transload init'])).toContain('transload.env exists; init overwrites nothing')
    const written = readFileSync(join(place, 'transload.env'), 'utf8')
    // The groups and their order are those of the documentation.
    const documented = readFileSync(join(ROOT, 'docs/configuration.md'), 'utf8').split(
      '<!-- end of configuration -->',
    )[0]
    const order = [...(documented ?? '').matchAll(/^### (Start here)$|^\| (?:\*\*(.+)\*\*|`(\w+)`) \|/gm)]
    expect(
      [...written.matchAll(/^# =+\n# (.+)\n# =+$|^#?([A-Z]\w*)=/gm)].map(([, title, name]) => title ?? name),
    ).toEqual(order.map(([, start, title, name]) => start ?? title ?? name))
    for (const name of configNames) expect(written).toMatch(new RegExp(`^#?${name}=`, 'm'))
    // An invented contact would stand in what callers are told.
    expect(written).toMatch(/^#SUPPORT_CONTACT=$/m)
    const checked = await transcript(place, [`${command} check`], { TENANTS_FILE: '' })
    expect(checked).toContain('The configuration is valid')
  }
})

test('check warns of an old TLS version and of a recording that cannot be written', async () => {
  const check = (env: NodeJS.ProcessEnv) =>
    transcript(folder(), ['touch file', 'transload check'], { V2_BASE_URL: 'https://service.example.com', ...env })
  const warned = await check({ ...TLS, TLS_MIN_VERSION: '1.0', RECORD_FILE: 'file/calls.ndjson' })
  expect(warned.match(/^warning: .*/gm)).toEqual([
    'warning: TLS 1.0 is accepted, which protects nothing; set TLS_MIN_VERSION=1.2 if no caller needs it',
    expect.stringMatching(/^warning: RECORD_FILE names file\/calls\.ndjson, which cannot be written: ./),
  ])
  expect(await check({ ...TLS, RECORD_FILE: 'calls.ndjson' })).not.toContain('warning')
})
