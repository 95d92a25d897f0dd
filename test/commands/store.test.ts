/** Promise: a store that cannot be used is told in one line (contract, section 11). */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { transcript, transcriptFolder } from './transcript.ts'

test.each([
  ['missing', 'none.db'],
  ['in memory', 'memory:'],
  ['not a store', 'text.db'],
  ['on a server that does not answer', 'postgres://user:hush@127.0.0.1:1/x'],
])('the commands say why they cannot use a store that is %s', async (name, STORE_URL) => {
  const folder = transcriptFolder()
  writeFileSync(join(folder, 'text.db'), 'no database, but more than enough text to be one. '.repeat(20))
  const text = await transcript(
    folder,
    [
      'bookings list',
      'webhooks list',
      'xref get x --tenant acme',
      'xref export',
      'migration report',
      'check --drift',
      'store verify',
      'store backup backup.db',
      'store restore text.db',
      'store prune',
      'store trust',
    ],
    { STORE_URL },
  )
  expect(text).not.toContain('hush')
  await expect(text).toMatchFileSnapshot(`output/store-${name.replaceAll(' ', '-')}.txt`)
})
