import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startGatewayProcess } from '../bookings/gateway-process.ts'
import { folder, tenant, writeTenants } from '../callers/edge.ts'
import { deliver, EVENT, HOOK, SECRET } from './deliver.ts'
import { replies, startReceiver } from './receiver.ts'

test('what a gateway was delivering when it was killed is delivered as soon as it is back', async () => {
  const place = folder()
  const receiver = await startReceiver(() => undefined)
  writeFileSync(join(place, 'hook'), SECRET)
  const callback = {
    webhook_secret: { file: join(place, 'hook') },
    callback_url: receiver.url,
    callback_allow_http: true,
    callback_networks: ['127.0.0.1'],
  }
  const tenantsFile = join(place, 'tenants.json')
  writeTenants(tenantsFile, tenant(place, 'acme', callback))
  const places = {
    storeUrl: join(place, 'store.db'),
    serviceUrl: 'http://127.0.0.1:1',
    env: { TENANTS_FILE: tenantsFile },
  }
  const first = await startGatewayProcess(places)
  expect((await deliver(first, { ...EVENT, event: 'shipment.assigned' }, {}, HOOK)).status).toBe(200)
  await receiver.count(1)
  first.child.kill('SIGKILL')
  await once(first.child, 'exit')
  receiver.answer(replies(200))
  await startGatewayProcess(places)
  await receiver.count(2)
  const ids = receiver.received.map(({ headers }) => headers['webhook-id'])
  expect(ids[1]).toBe(ids[0])
})
