/** Promise: a credential that the service repeats is hidden, and nothing else is changed (contract, section 5). */

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createCredentialMask } from '../../src/outside/service/credential.ts'

const CREDENTIAL = Buffer.from('acme:top?secret~?').toString('base64')

/** Passes the parts of a body through a mask; returns what comes out, part by part. */
function through(parts: readonly (string | Uint8Array)[], authorization = `Basic ${CREDENTIAL}`): readonly string[] {
  const mask = createCredentialMask(authorization, true)
  return [...parts.map((part) => mask.bytes(Buffer.from(part))), mask.rest()].map((part) => part.toString('latin1'))
}

test('the credential is hidden wherever the parts of a body end', () => {
  const whole = `{"got":"${CREDENTIAL}","and":"${CREDENTIAL}"}`
  const hidden = whole.replaceAll(CREDENTIAL, '*'.repeat(CREDENTIAL.length))
  for (let at = 0; at <= whole.length; at += 1) {
    expect(through([whole.slice(0, at), whole.slice(at)]).join('')).toBe(hidden)
  }
  expect(through([...whole]).join('')).toBe(hidden)
})

test('any bytes pass unchanged, in any parts', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 8 }), (parts) => {
      const arrived = Buffer.concat(parts).toString('latin1')
      expect(through(parts).join('')).toBe(arrived)
      expect(Buffer.concat(parts).toString('latin1')).toBe(arrived)
    }),
  )
})
