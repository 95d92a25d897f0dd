/** Promise: what the commands about events print is reviewed (contract, section 11). */

import { expect, test } from 'vitest'
import { folder } from '../callers/edge.ts'
import { newEvent } from '../store/event-contract.ts'
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
