/** Promise: a credential that the service repeats is hidden, and nothing else is changed (contract, section 5). */

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createCredentialMask } from '../../src/outside/service/credential.ts'

const CREDENTIAL = Buffer.from('acme:top?secret~?').toString('base64')

test('the credential is hidden wherever the parts of a body end, and all other bytes pass', () => {
  const cut = fc.nat(CREDENTIAL.length).map((at) => [CREDENTIAL.slice(0, at), CREDENTIAL.slice(at)])
  const begun = fc.nat(CREDENTIAL.length - 1).map((at) => [CREDENTIAL.slice(0, at)])
  const bytes = fc.uint8Array({ maxLength: 40 }).map((some) => [Buffer.from(some).toString('latin1')])
  fc.assert(
    fc.property(fc.array(fc.oneof(cut, begun, bytes, fc.constant([...CREDENTIAL])), { maxLength: 8 }), (pieces) => {
      const mask = createCredentialMask(`Basic ${CREDENTIAL}`, true)
      const parts = pieces.flat().map((part) => Buffer.from(part, 'latin1'))
      const shown = [...parts.map((part) => mask.bytes(part)), mask.rest()]
      const whole = pieces.flat().join('')
      const hidden = whole.replaceAll(CREDENTIAL, '*'.repeat(CREDENTIAL.length))
      expect(Buffer.concat(shown).toString('latin1')).toBe(hidden)
      // The parts belong to the connection and must not change.
      expect(Buffer.concat(parts).toString('latin1')).toBe(whole)
    }),
  )
})
