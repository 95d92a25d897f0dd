/** Promise: in a million recorded calls each defect is found with its count (contract, section 8). */

import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { expect, test } from 'vitest'
import { cleanEnv, ROOT } from '../command.ts'
import { size } from '../size.ts'
import { generate, LIMIT_BYTES } from './generator.ts'
import { expectSeeded } from './seeded.ts'

test('in a million calls, each seeded defect is found with its exact count, and nothing else', {
  timeout: 1_800_000,
}, async () => {
  const turns = size(20_000, 1_000_000)
  const child = spawn(process.execPath, [join(ROOT, 'src/main.ts'), 'rehearse', '--json'], {
    env: cleanEnv({ BODY_LIMIT_BYTES: String(LIMIT_BYTES) }),
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const [report] = await Promise.all([text(child.stdout), pipeline(Readable.from(generate(turns)), child.stdin)])
  const found = JSON.parse(report)
  expect(found.lines).toBeGreaterThan(turns)
  expectSeeded(found, turns)
})
