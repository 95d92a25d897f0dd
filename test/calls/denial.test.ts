/** Promise: a reply that says that it failed is no success (contract, section 9). */

import { expect, test } from 'vitest'
import { denialIn } from '../../src/calls/verify.ts'

const FAILED = 'it says that the call failed'
const ERROR = 'it has an error'

test.each([
  [{}, undefined],
  [{ success: true, ok: 1, error: null, errors: [] }, undefined],
  [{ success: false }, FAILED],
  [{ ok: ' No ' }, FAILED],
  [{ success: 0, error: 'x' }, FAILED],
  [{ error: 'no truck' }, ERROR],
  [{ errors: [{ message: 'no truck' }] }, ERROR],
  [{ error: { code: 7, message: '' } }, ERROR],
  [{ error: { code: 0, message: '' } }, undefined],
  // Words that mean success count beside a code 0 alone.
  [{ error: { code: 0, message: 'OK' } }, undefined],
  [{ error: { code: ' 0 ', message: ' Success. ' } }, undefined],
  [{ errors: [{ code: 0, message: 'No error' }, { code: 0 }] }, undefined],
  [{ error: { code: 0, message: 'no truck' } }, ERROR],
  [{ error: { code: 0, message: 'OK, but no truck' } }, ERROR],
  [{ error: { code: 0, message: 'OK', detail: 'no truck' } }, ERROR],
  [{ error: { code: 7, message: 'OK' } }, ERROR],
  [{ error: { code: false, message: 'OK' } }, ERROR],
  [{ error: { code: [0], message: 'OK' } }, ERROR],
  [{ error: { message: 'OK' } }, ERROR],
  [{ error: 'OK' }, ERROR],
  [{ errors: ['OK', 0] }, ERROR],
  [
    {
      errors: [
        { code: 0, message: 'OK' },
        { code: 7, message: 'OK' },
      ],
    },
    ERROR,
  ],
])('%j: %s', (body, denial) => {
  expect(denialIn(body)).toBe(denial)
})
