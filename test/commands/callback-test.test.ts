/** Promise: a sample event shows an operator if a callback works (contract, section 10). */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Webhook } from 'standardwebhooks'
import { expect, test } from 'vitest'
import { folder, tenant, writeTenants } from '../callers/edge.ts'
import { replies, startReceiver } from '../events/receiver.ts'
import { transcript } from './transcript.ts'

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
