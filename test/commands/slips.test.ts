/** Promise: every command reports a slip in one line (contract, section 11). */

import { expect, test } from 'vitest'
import { badLines, printed } from './every-command.ts'

test('every command reports each kind of slip on its command line in one line, and names its help', async () => {
  const lines = badLines()
  const text = await printed(lines)
  expect(text.match(/^\(exit code 64\)$/gm)).toHaveLength(lines.length)
  for (const told of text.split(/^\$ transload .*\n/m).slice(1))
    expect(told).toMatch(
      /^(transload: .+[.?] See "transload [a-z ]*--help"\.|Usage: transload [\s\S]+)\n\(exit code 64\)\n\n$/,
    )
  await expect(text).toMatchFileSnapshot('slips.txt')
})
