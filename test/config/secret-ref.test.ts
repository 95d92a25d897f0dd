import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { fetchSecret, secretOf, secretRef } from '../../src/config/tenants-file.ts'
import { read } from './read-value.ts'

describe('a secret that stands elsewhere', () => {
  test('is in the environment or in a file', () => {
    const folder = mkdtempSync(join(tmpdir(), 'secret-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const [file, empty, none] = ['file', 'empty', 'none'].map((name) => join(folder, name))
    writeFileSync(file ?? '', 'two\n\r\n')
    writeFileSync(empty ?? '', '\n')
    const env = { ONE: 'one', BLANK: '' }
    const fetched = [{ env: 'ONE' }, { file }, { env: 'BLANK' }, { env: 'TWO' }, { file: empty }, { file: none }].map(
      (ref) => fetchSecret(ref as Parameters<typeof fetchSecret>[0], env),
    )
    expect(fetched).toEqual([
      { secret: 'one' },
      { secret: 'two\n' },
      { error: 'the environment variable BLANK is not set' },
      { error: 'the environment variable TWO is not set' },
      { error: `the file ${empty} is empty` },
      { error: `the file ${none} cannot be read (ENOENT)` },
    ])
    expect([secretOf({ env: 'ONE' }, env), secretOf({ env: 'TWO' }, env), secretOf(undefined, env)]).toEqual([
      ...['one', undefined, undefined],
    ])
  })

  test.each([['s3cret'], [{}], [{ env: 'A', file: 'b' }]])('is not %j', (value) => {
    expect(read(secretRef, value)).toBe(
      'must say where the secret is, as {"env": "NAME"} or {"file": "/path"}; the secret itself must not stand here',
    )
  })
})
