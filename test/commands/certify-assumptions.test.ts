/** Promise: a trial of the service sends nothing without permission (contract, section 8). */

import { expect, test } from 'vitest'
import { openSandbox } from '../bookings/desk.ts'
import { OWN } from '../gateway.ts'
import { replay } from './transcript.ts'

test('a mistake in the command line of a trial sends nothing', async () => {
  const sandbox = await openSandbox()
  await replay('output/certify-mistakes', { ...OWN, V2_BASE_URL: sandbox.url })
  expect(sandbox.requests).toEqual([])
})
