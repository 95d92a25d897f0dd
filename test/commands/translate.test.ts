/** Promise: `translate` explains a call as a dry run does (contract, section 8). */

import { expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { transload } from '../callers/commands.ts'
import { folder } from '../callers/tenants-gateway.ts'
import { post, startGateway } from '../gateway.ts'

test('the dry run of standard input is printed, and nothing is sent', async () => {
  const gateway = await startGateway()
  const { json } = await post(gateway, '/dry-run/createShipment.php', bookingExample, { authorization: '' })
  const env = { V2_BASE_URL: gateway.sandbox.url }
  const { out } = await transload(
    ['translate', '--json', 'shipment.create'],
    folder(),
    env,
    JSON.stringify(bookingExample),
  )
  expect(JSON.parse(out)).toEqual(json)
  expect(gateway.sandbox.requests).toEqual([])
})
