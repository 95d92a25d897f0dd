/** Promise: the service of the demo fails on demand, and never runs in production. */

import { expect, onTestFinished, test, vi } from 'vitest'
import { type Sandbox, startSandbox } from '../../src/labs/demo/sandbox.ts'
import { basic } from '../gateway.ts'
import { openHoldingService } from '../http/service.ts'
import { at, booking, call, TRIP } from './client.ts'

/** Starts the service that the demo runs. */
async function startDemo(): Promise<Sandbox> {
  const sandbox = await startSandbox({ credentials: { demo: 'demo-secret' } })
  onTestFinished(() => sandbox.close())
  return sandbox
}

const book = (sandbox: Sandbox) => call(sandbox, 'POST', '/v2/shipments', booking())
const control = (sandbox: Sandbox, method: string, path: string, body?: unknown) =>
  call(sandbox, method, `/__sandbox/${path}`, body, { authorization: '' })

test('every reply says that it is of a sandbox, which does not start in production', async () => {
  const sandbox = await startDemo()
  for (const path of ['/v2/quote', '/nowhere', '/__sandbox/faults']) {
    expect((await call(sandbox, 'GET', path)).headers.get('sandbox')).toBe('true')
  }
  vi.stubEnv('NODE_ENV', 'production')
  onTestFinished(() => void vi.unstubAllEnvs())
  await expect(startSandbox({ credentials: {} })).rejects.toThrow('production')
})

test('failures are queued over HTTP for the next requests', async () => {
  const sandbox = await startDemo()
  const fail = (body: object) => control(sandbox, 'POST', 'faults', body)
  expect((await fail({ kind: 'status', status: 418 })).json).toEqual({ faults: 1 })
  expect((await fail({ kind: 'delay', ms: 1 })).json).toEqual({ faults: 2 })
  const answers = [await book(sandbox), await book(sandbox), await book(sandbox)].map(({ status }) => status)
  expect(answers).toEqual([418, 201, 201])
})

test.each([
  ['reset-before', 'TL-100001'],
  ['reset-after', 'TL-100002'],
  ['timeout', 'TL-100002'],
])('after the failure %s, the next shipment is %s', async (kind, next) => {
  const sandbox = await startDemo()
  await control(sandbox, 'POST', 'faults', { kind })
  const signal = AbortSignal.timeout(200)
  const headers = { authorization: basic() }
  const sent = { method: 'POST', headers, body: JSON.stringify(booking()), signal }
  await expect(fetch(`${sandbox.url}/v2/shipments`, sent)).rejects.toThrow()
  expect((await book(sandbox)).json['number']).toBe(next)
})

test('settings change over HTTP: an approval books or not, and events go to an address', async () => {
  const sandbox = await startDemo()
  const receiver = await openHoldingService()
  const approve = async () => {
    const { json } = await call(sandbox, 'POST', '/v2/quote', TRIP)
    return (await call(sandbox, 'POST', `/v2/quote/${json['shipment_id']}/approve`, {})).json
  }
  const webhookUrl = `${receiver.url}/webhooks/secret`
  expect((await control(sandbox, 'POST', 'settings', { webhookUrl })).json).toEqual({ changed: ['webhookUrl'] })
  expect(await approve()).toMatchObject({ number: 'TL-100001', status: 'new' })
  await receiver.arrived(1)
  receiver.release({})
  await control(sandbox, 'POST', 'settings', { approvalBooks: false })
  expect(Object.keys(await approve())).toEqual(['quote_id', 'price', 'status'])
})

test('what does not exist is refused, and by its name', async () => {
  const sandbox = await startDemo()
  const refused = async (path: string, body: unknown) => {
    const { status, json } = await control(sandbox, 'POST', path, body)
    return [status, at(json, 'error.message')]
  }
  expect(await refused('faults', '{')).toEqual([400, 'The body is not JSON'])
  expect(await refused('faults', { kind: 'none' })).toEqual([422, expect.stringContaining('kind')])
  expect(await refused('faults', { kind: 'delay' })).toEqual([422, expect.stringContaining('ms')])
  expect(await refused('settings', { approvalBook: false })).toEqual([422, expect.stringContaining('approvalBook')])
  expect(await refused('elsewhere', {})).toEqual([404, expect.stringContaining('POST /__sandbox/settings')])
})
