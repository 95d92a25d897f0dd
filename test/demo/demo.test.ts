/** Promise: the service of the demo fails on demand, and never runs in production. `test/certify` shows that it is like the real one. */

import { expect, onTestFinished, test, vi } from 'vitest'
import { startSandbox } from '../../src/labs/demo/sandbox.ts'
import { get, post } from '../gateway.ts'
import { openHoldingService } from '../http/service.ts'

/** Starts the service that the demo runs. */
async function startDemo() {
  const sandbox = await startSandbox({ credentials: { demo: 'demo-secret' } })
  onTestFinished(() => sandbox.close())
  return { sandbox, control: (path: string, body: object) => post(sandbox, `/__sandbox/${path}`, body) }
}

const TRIP = { pickup: '10314', delivery: '33166', vehicle_type: 'car', transport_type: 'open' }

test('every reply says that it is of a sandbox, which does not start in production', async () => {
  const { sandbox } = await startDemo()
  for (const path of ['/v2/quote', '/nowhere', '/__sandbox/faults']) {
    expect((await get(sandbox, path)).headers.get('sandbox')).toBe('true')
  }
  vi.stubEnv('NODE_ENV', 'production')
  onTestFinished(() => void vi.unstubAllEnvs())
  await expect(startSandbox({ credentials: {} })).rejects.toThrow('production')
})

test('failures are queued over HTTP for the next requests', async () => {
  const { sandbox, control } = await startDemo()
  expect((await control('faults', { kind: 'status', status: 418 })).json).toEqual({ faults: 1 })
  expect((await control('faults', { kind: 'delay', ms: 1 })).json).toEqual({ faults: 2 })
  const statuses = [418, 200, 200]
  for (const status of statuses) expect((await post(sandbox, '/v2/quote', TRIP)).status).toBe(status)
  await control('faults', { kind: 'reset-before' })
  await expect(post(sandbox, '/v2/quote', TRIP)).rejects.toThrow()
  expect((await control('faults', { kind: 'none' })).status).toBe(422)
})

test('settings change over HTTP: an approval books or not, and events go to an address', async () => {
  const { sandbox, control } = await startDemo()
  const receiver = await openHoldingService()
  const approve = async () => {
    const { json } = await post(sandbox, '/v2/quote', TRIP)
    return (await post(sandbox, `/v2/quote/${json.shipment_id}/approve`, {})).json
  }
  await control('settings', { webhookUrl: `${receiver.url}/webhooks/secret` })
  expect(await approve()).toMatchObject({ number: 'TL-100001', status: 'new' })
  await receiver.arrived(1)
  receiver.release({})
  await control('settings', { approvalBooks: false })
  expect(Object.keys(await approve())).toEqual(['quote_id', 'price', 'status'])
  expect((await control('settings', { approvalBook: false })).status).toBe(422)
})
