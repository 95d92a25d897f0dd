/** Promise: exit codes are those that scripts rely on (contract, section 11). */

import { expect, test } from 'vitest'
import * as exitCodes from '../src/operator/exit-codes.ts'

test('the exit codes are those that scripts and service managers rely on', () => {
  expect({ ...exitCodes }).toEqual({
    EXIT_FAILED: 1,
    EXIT_CONTRADICTED: 2,
    EXIT_CHANGED: 3,
    EXIT_USAGE: 64,
    EXIT_UNREADABLE: 65,
    EXIT_CONFIG: 78,
    EXIT_SIGNALED: 128,
  })
})
