/** Promise: `demo --chaos` neither loses nor doubles a booking, unlike a naive proxy (contract, section 11). */

import { join } from 'node:path'
import { expect, test } from 'vitest'
import { folder } from '../callers/tenants-gateway.ts'
import { cleanEnv, ROOT, start } from '../command.ts'
import { size } from '../size.ts'

test('the chaos shows that a naive proxy books twice and the gateway does not', { timeout: 120_000 }, async () => {
  const words = [join(ROOT, 'bin/transload.js'), 'demo', '--chaos', '--seconds', `${size(4, 60)}`]
  const { code, out } = await start(process.execPath, words, { cwd: folder(), env: cleanEnv() }).ended
  /** The last ledger of a side: asked, made, doubled, lost. */
  const ledger = (name: string) =>
    (out.match(new RegExp(`^ +${name} .*$`, 'gm'))?.at(-1) ?? '').trim().split(/ +/).slice(1).map(Number)
  const [asked, made, doubled, lost] = ledger('gateway')
  expect([doubled, lost, code], out).toEqual([0, 0, 0])
  expect(made, out).toBeGreaterThan(10)
  expect(ledger('naive')[2], out).toBeGreaterThan(0)
  // Both get the same number of calls: a gateway that restarts slowly makes its callers wait, not give up.
  expect(Math.abs(Number(asked) - Number(ledger('naive')[0])), out).toBeLessThanOrEqual(1)
  expect(out).toContain('The gateway booked 0 twice and lost 0; the naive proxy booked')
})
