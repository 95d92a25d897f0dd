import { expect, test } from 'vitest'
import { printed } from './every-command.ts'

test('the scripts of the shells are what they were', async () => {
  const text = await printed([
    ['completion', 'bash'],
    ['completion', 'zsh'],
    ['completion', 'fish'],
  ])
  await expect(text).toMatchFileSnapshot('output/completion.txt')
})
