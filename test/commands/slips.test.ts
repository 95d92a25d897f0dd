import { expect, test } from 'vitest'
import { badLines, printed, withoutUsage } from './every-command.ts'

test('every command and verb tells each kind of slip on its command line as it did', async () => {
  const lines = await badLines()
  const text = await printed(lines)
  expect(text.match(/^\(exit code 64\)$/gm)).toHaveLength(lines.length)
  expect(text).not.toMatch(/^ +at /m)
  await expect(withoutUsage(text)).toMatchFileSnapshot('slips.txt')
})
