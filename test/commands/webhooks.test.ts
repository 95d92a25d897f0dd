/** Promise: an operator lists, replays and skips events, and tries a callback (contract, section 10). */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Webhook } from 'standardwebhooks'
import { expect, test } from 'vitest'
import { folder, tenant, writeTenants } from '../callers/tenants-gateway.ts'
import { replies, startReceiver } from '../events/receiver.ts'
import { newEvent } from '../store/samples.ts'
import { fillStore, replay } from './transcript.ts'

test('the commands about events print what they did', { timeout: 60_000 }, async () => {
  const place = folder()
  await fillStore(place, async (store) => {
    for (const more of [{}, { tenant: 'other' }, { event: 'shipment.assigned' }, { deliver: false, shipment: 's-2' }])
      await store.takeEvent(newEvent(more))
    const end = { state: 'parked', outcome: 'answered 500' } as const
    for (const tenant of ['acme', 'other']) {
      const [event] = await store.leaseEvents(tenant, 1, 1_000)
      if (event) await store.finishTry(event, tenant === 'acme' ? end : { ...end, endpoint: { stop: true } })
    }
  })
  await replay('output/webhooks', {}, place)
})

const SECRET = `whsec_${Buffer.alloc(24, 5).toString('base64')}`

test('a sample event is sent to the callback of a tenant, and its reply is shown', async () => {
  const place = folder()
  const [good, bad] = [await startReceiver(), await startReceiver(replies(300))]
  writeFileSync(join(place, 'signing'), SECRET)
  const callback = (url: string, more: object = {}) => ({
    callback_url: url,
    callback_allow_http: true,
    callback_networks: ['127.0.0.1'],
    ...more,
  })
  const secrets = { callback_secrets: [{ file: join(place, 'signing') }] }
  writeTenants(
    join(place, 'tenants.json'),
    tenant(place, 'acme', callback(`${good.url}?key=hush`, secrets)),
    tenant(place, 'unsigned', callback(good.url)),
    tenant(place, 'failing', callback(bad.url, secrets)),
    tenant(place, 'private', callback(good.url, { callback_networks: undefined })),
    tenant(place, 'mute'),
  )
  const text = await replay('output/callback-test', { TENANTS_FILE: 'tenants.json' }, place)
  expect(text).not.toContain('hush')

  expect([good.received.length, bad.received.length]).toEqual([4, 2])
  const [signed, , unsigned] = good.received
  const headers = Object.fromEntries(
    Object.entries(signed?.headers ?? {}).map(([name, value]) => [name, String(value)]),
  )
  expect(new Webhook(SECRET).verify(signed?.body ?? '', headers)).toMatchObject({ Event: 'shipment.modified' })
  expect(headers['webhook-id']).toMatch(/^msg_[0-9a-f]{32}$/)
  expect(unsigned?.headers).not.toHaveProperty('webhook-signature')
})
