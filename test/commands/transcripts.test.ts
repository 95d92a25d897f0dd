/** Promise: commands print what their transcripts show, and no secret (contract, section 11). */

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { replay } from './transcript.ts'

const FOLDER = join(import.meta.dirname, 'transcripts')

test.each(
  readdirSync(FOLDER).map((name) => [
    (readFileSync(join(FOLDER, name), 'utf8').split('.\n', 1)[0] ?? '').replace(/^./, (first) => first.toLowerCase()),
    `transcripts/${name.replace('.txt', '')}`,
  ]),
)('%s', { timeout: 60_000 }, async (_, path) => {
  expect((await replay(path)).replaceAll(/^\$ .*/gm, '')).not.toContain('hush')
})
