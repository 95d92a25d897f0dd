import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const LONG = ['x', '9', 'ä', ' ', '~'].map((letter) => letter.repeat(2_000)).concat('x'.repeat(4_097), '-'.repeat(65))

/** Values that have broken something somewhere. */
export const NAUGHTY: readonly string[] = [
  ...JSON.parse(readFileSync(join(import.meta.dirname, 'naughty-values.json'), 'utf8')),
  ...LONG,
]
