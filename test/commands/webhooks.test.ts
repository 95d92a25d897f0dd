/** Promise: an operator lists, replays and skips events, and tries a callback (contract, section 10). */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Webhook } from 'standardwebhooks'
import { expect, test } from 'vitest'
import { folder, tenant, writeTenants } from '../callers/tenants-gateway.ts'
import { replies, startReceiver } from '../events/receiver.ts'
import { newEvent } from '../store/samples.ts'
import { fillStore, transcript } from './transcript.ts'

test('the commands about events print what they did', async () => {
  const place = folder()
  const ids: string[] = []
  await fillStore(place, async (store) => {
    for (const more of [{}, { tenant: 'other' }, { event: 'shipment.assigned' }, { deliver: false, shipment: 's-2' }])
      ids.push((await store.takeEvent(newEvent(more))).id)
    const end = { state: 'parked', outcome: 'answered 500' } as const
    for (const tenant of ['acme', 'other']) {
      const [event] = await store.leaseEvents(tenant, 1, 1_000)
      if (event) await store.finishTry(event, tenant === 'acme' ? end : { ...end, endpoint: { stop: true } })
    }
  })
  const [parked = '', other = '', due = '', recorded = ''] = ids
  const text = await transcript(place, [
    'webhooks list',
    'webhooks list --json',
    'webhooks list --state parked --tenant acme --since 2h --until 2091-01-01',
    'webhooks list --until 2h',
    'webhooks list --since 2091-01-01',
    'webhooks list --state prked',
    'webhooks list --state nothing',
    'webhooks list --since yesterday',
    'webhooks list --until tomorrow',
    `webhooks show ${parked}`,
    `webhooks show ${recorded} --json`,
    'webhooks show msg_none',
    'webhooks replay',
    `webhooks replay ${parked} --state parked`,
    'webhooks replay msg_none',
    `webhooks replay ${parked}`,
    `webhooks replay ${other} --json`,
    'webhooks replay --state recorded',
    'webhooks replay --tenant acme --json',
    'webhooks replay --until 2h',
    `webhooks skip ${due}`,
    `webhooks skip ${due}`,
    'webhooks skip msg_none',
    `webhooks skip ${parked} --json`,
    'webhooks resume acme',
    'webhooks resume other',
    'webhooks resume other --json',
    'webhooks list',
    'webhooks test acme',
  ])
  await expect(text).toMatchFileSnapshot('output/webhooks.txt')
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
  const names = ['acme', 'unsigned', 'failing', 'private', 'mute', 'nobody']
  const lines = names.flatMap((name) => [`webhooks test ${name}`, `webhooks test ${name} --json`])
  const text = await transcript(place, lines, { TENANTS_FILE: 'tenants.json' })
  expect(text).not.toContain('hush')
  await expect(text).toMatchFileSnapshot('output/callback-test.txt')

  expect([good.received.length, bad.received.length]).toEqual([4, 2])
  const [signed, , unsigned] = good.received
  const headers = Object.fromEntries(
    Object.entries(signed?.headers ?? {}).map(([name, value]) => [name, String(value)]),
  )
  expect(new Webhook(SECRET).verify(signed?.body ?? '', headers)).toMatchObject({ Event: 'shipment.modified' })
  expect(headers['webhook-id']).toMatch(/^msg_[0-9a-f]{32}$/)
  expect(unsigned?.headers).not.toHaveProperty('webhook-signature')
  expect(JSON.parse(unsigned?.body ?? '')).toEqual(JSON.parse(signed?.body ?? ''))
})
