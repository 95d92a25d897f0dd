import { describe, expect, test } from 'vitest'
import { readConfig } from '../../src/config/config.ts'
import { ConfigErrors } from '../../src/config/errors.ts'

const URL_ALONE = { V2_BASE_URL: 'https://service.example' }
const SECRET = 'hook-0123456789abcdef'
const SIGNING = `whsec_${Buffer.alloc(24, 1).toString('base64')}`

/** The errors of an environment, a line each. */
function errorsIn(env: NodeJS.ProcessEnv): readonly string[] {
  try {
    readConfig({ ...URL_ALONE, ...env })
  } catch (error) {
    if (error instanceof ConfigErrors) return error.errors
    throw error
  }
  return []
}

describe('a secret in a path is refused if', () => {
  test.each([
    ['it is short', 'a'.repeat(15)],
    ['it is long', 'a'.repeat(257)],
    ['it has a slash', `${SECRET}/x`],
    ['it has a blank', `${SECRET} x`],
    ['it has an escape', `${SECRET}%41`],
    ['it has a query', `${SECRET}?x`],
    ['it is of dots alone', '.'.repeat(16)],
    ['one of a list is empty', `${SECRET},`],
    ['one of a list is short', `${SECRET},short`],
  ])('%s', (_name, WEBHOOK_SECRET) => {
    const [error, ...others] = errorsIn({ WEBHOOK_SECRET })
    expect(error).toMatch(/^WEBHOOK_SECRET must be 16 to 256 letters/)
    expect(error).not.toContain(SECRET)
    expect(others).toEqual([])
  })
})

test('a signing secret that is none is refused without being repeated', () => {
  for (const secret of [SIGNING.slice(6), `${SIGNING},x`, 'whsec_AAAA', 'whsec_']) {
    const [error, ...others] = errorsIn({ WEBHOOK_SECRET: SECRET, WEBHOOK_SIGNING_SECRET: secret })
    expect(error).toMatch(/^WEBHOOK_SIGNING_SECRET must be whsec_ and the Base64 of 24 to 64 bytes/)
    expect(error).not.toContain(SIGNING.slice(6))
    expect(others).toEqual([])
  }
})

const FIXED = { V2_CLIENT_ID: 'a', V2_CLIENT_SECRET: 'b' }
const EVENT_CLIENT = { WEBHOOK_CLIENT_ID: 'a', WEBHOOK_CLIENT_SECRET: 'b' }

describe('variables that the mode does not use are errors:', () => {
  test.each([
    [
      { TENANTS_FILE: 't', WEBHOOK_SECRET: SECRET },
      /^TENANTS_FILE and WEBHOOK_SECRET are both set; remove WEBHOOK_SECRET/,
    ],
    [{ TENANTS_FILE: 't', ...EVENT_CLIENT }, /^TENANTS_FILE and WEBHOOK_CLIENT_ID are both set/],
    [{ ...FIXED, ...EVENT_CLIENT }, /^V2_CLIENT_ID and WEBHOOK_CLIENT_ID are both set/],
    [{ WEBHOOK_SIGNING_SECRET: SIGNING }, /^WEBHOOK_SECRET is required because WEBHOOK_SIGNING_SECRET is set/],
    [{ WEBHOOK_CLIENT_ID: 'a' }, /^WEBHOOK_CLIENT_SECRET is required because WEBHOOK_CLIENT_ID is set/],
    [{ WEBHOOK_CLIENT_SECRET: 'b' }, /^WEBHOOK_CLIENT_ID is required because WEBHOOK_CLIENT_SECRET is set/],
  ])('%j', (env, words) => {
    expect(errorsIn(env)).toEqual([expect.stringMatching(words)])
  })
})
