/** Promise: `init` writes what the gateway accepts, in the order of the documentation (contract, section 11). */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { configNames } from '../../src/language/config/config.ts'
import { folder } from '../callers/tenants-gateway.ts'
import { ROOT } from '../command.ts'
import { transcript } from './transcript.ts'

test('init writes files that the gateway accepts, and overwrites nothing', async () => {
  for (const option of ['', ' --sidecar']) {
    const place = folder()
    const text = await transcript(place, [`transload init${option}`, 'transload init'])
    expect(text).toContain('transload.env is written')
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
