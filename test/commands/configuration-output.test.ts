/** Promise: `init` writes what the gateway accepts, in the order of the documentation; `check` warns like `serve` (contract, section 11). */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { configNames } from '../../src/language/config/config.ts'
import { folder } from '../callers/tenants-gateway.ts'
import { ROOT } from '../command.ts'
import { TLS } from '../http/line.ts'
import { transcript } from './transcript.ts'

test('init writes files that the gateway accepts, and overwrites nothing', async () => {
  for (const option of ['', ' --sidecar']) {
    const place = folder()
    const text = await transcript(place, [`transload init${option}`, 'transload init'])
    expect(text).toContain('Wrote transload.env')
    expect(text).toContain('transload.env exists; init overwrites nothing')
    const written = readFileSync(join(place, 'transload.env'), 'utf8')
    const env = Object.fromEntries(
      [...written.matchAll(/^([A-Z]\w*)=(.*)$/gm)].map(([, name = '', value]) => [name, value]),
    )
    // The groups and their order are those of the documentation.
    const documented = readFileSync(join(ROOT, 'docs/configuration.md'), 'utf8').split(
      '<!-- end of configuration -->',
    )[0]
    const order = [...(documented ?? '').matchAll(/^### (Start here)$|^\| (?:\*\*(.+)\*\*|`(\w+)`) \|/gm)]
    expect(
      [...written.matchAll(/^# =+\n# (.+)\n# =+$|^#?([A-Z]\w*)=/gm)].map(([, title, name]) => title ?? name),
    ).toEqual(order.map(([, start, title, name]) => start ?? title ?? name))
    for (const name of configNames) expect(written).toMatch(new RegExp(`^#?${name}=`, 'm'))
    const { TENANTS_FILE: _, ...rest } = env
    expect(await transcript(place, ['transload check'], rest)).toContain('The configuration is valid')
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
