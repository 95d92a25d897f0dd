import { expect, test } from 'vitest'
import { parseSecretHash } from '../../src/config/tenants-file.ts'

const SALT = 'AAECAwQFBgcICQoLDA0ODw'
const HASH = 'AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8'
const written = (costs: string, salt = SALT, hash = HASH) => `$scrypt$${costs}$${salt}$${hash}`

test.each([
  ['ln=15,r=8,p=1', 15, 8, 1],
  ['ln=1,r=1,p=1', 1, 1, 1],
  ['ln=17,r=8,p=4', 17, 8, 4],
])('%s is a hash', (costs, costLog2, block, parallel) => {
  expect(parseSecretHash(written(costs))).toEqual({
    costLog2,
    block,
    parallel,
    salt: Buffer.from(SALT, 'base64'),
    hash: Buffer.from(HASH, 'base64'),
  })
})

test.each([
  written('ln=0,r=8,p=1'),
  written('ln=15,r=0,p=1'),
  written('ln=15,r=8,p=0'),
  written('ln=18,r=8,p=1'),
  written('ln=15,r=9,p=1'),
  written('ln=15,r=8,p=5'),
  written('ln=15,r=8'),
  written('ln=15,r=8,p=1', 'short'),
  written('ln=15,r=8,p=1', SALT, 'short'),
  `x${written('ln=15,r=8,p=1')}`,
  `${written('ln=15,r=8,p=1')}=`,
  '',
  'secret',
])('%j is none, or would cost too much', (text) => {
  expect(parseSecretHash(text)).toBeUndefined()
})
