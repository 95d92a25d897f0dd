/** Promise: an operator lists, replays and skips events beside running gateways (contract, section 10). */

import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { NewEvent } from '../../src/store/events.ts'
import { openStore } from '../../src/store/open.ts'
import { cleanEnv, type Ended, newFolder, ROOT, run } from '../command.ts'
import { newEvent } from '../store/event-contract.ts'

const LONG_MS = 60_000

/** A store, and the program that an operator runs beside the gateway. */
async function openDesk() {
  const place = newFolder('webhooks')
  onTestFinished(() => rmSync(place, { recursive: true, force: true }))
  const storeUrl = join(place, 'store.db')
  let now = Date.parse('2026-11-20T12:00:00Z')
  const store = await openStore(storeUrl, { now: () => now })
  onTestFinished(() => store.close())
  return {
    store,
    pass: (ms: number) => {
      now += ms
    },
    take: async (given: Partial<NewEvent> = {}) => (await store.takeEvent(newEvent(given))).id,
    /** Ends a try of the first event that is due. */
    park: async () => {
      const [event] = await store.leaseEvents('acme', 1, 1_000)
      if (event) await store.finishTry(event, { state: 'parked', outcome: 'answered 500' })
    },
    webhooks: (...words: readonly string[]) => webhooks(words, { STORE_URL: storeUrl }),
  }
}

function webhooks(words: readonly string[], env: NodeJS.ProcessEnv): Promise<Ended> {
  return run(process.execPath, [join(ROOT, 'src/main.ts'), 'webhooks', ...words], { env: cleanEnv(env) })
}

const linesOf = (out: string) =>
  out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))

describe('on the store of running gateways', () => {
  test('list and show print events', { timeout: LONG_MS }, async () => {
    const { take, park, pass, store, webhooks } = await openDesk()
    const first = await take({ event: 'shipment.created' })
    await park()
    pass(3_600_000)
    const second = await take({ event: 'shipment.assigned', shipment: 's\u001b[31m-2' })
    await take({ tenant: 'other', deliver: false })
    const [leased] = await store.leaseEvents('acme', 1, 1_000)
    if (leased) await store.finishTry(leased, { state: 'due', outcome: 'answered 410', endpoint: { stop: true } })

    const all = await webhooks('list')
    expect(all).toMatchObject({ code: 0, err: '3 events\nThe callback of acme has stopped its deliveries.\n' })
    const [line = ''] = all.out.split('\n')
    expect(line).toBe(
      `${first}  parked     2026-11-20T12:00:00.000Z  acme  s-1  shipment.created  failures: 1  answered 500`,
    )
    expect(all.out).not.toContain('\u001b')
    const due = await webhooks(
      'list',
      '--state',
      'due',
      '--tenant',
      'acme',
      '--since',
      '2026-11-20T13:00:00Z',
      '--json',
    )
    expect(linesOf(due.out)).toMatchObject([
      { id: second, state: 'due', failures: 1, next: '2026-11-20T13:00:00.000Z' },
    ])
    expect((await webhooks('list', '--until', '2026-11-20')).err).toBe(
      '0 events\nThe callback of acme has stopped its deliveries.\n',
    )
    const shown = await webhooks('show', first)
    expect(JSON.parse(shown.out)).toMatchObject({ id: first, state: 'parked', payload: '{}' })
    expect(linesOf((await webhooks('show', first, '--json')).out)).toHaveLength(1)
  })

  test('replay makes one event due, or a range', { timeout: LONG_MS }, async () => {
    const { take, park, store, webhooks } = await openDesk()
    const ids: string[] = []
    for (let i = 0; i < 3; i += 1) {
      ids.push(await take({ event: String(i) }))
      await park()
    }
    const [one = ''] = ids
    expect(await webhooks('replay', one)).toMatchObject({ code: 0, out: `${one} is due.\n` })
    expect(await webhooks('replay', '--state', 'parked')).toMatchObject({
      code: 0,
      out: '2 events are due.\n',
      err: '',
    })
    expect((await store.listEvents({ state: 'due' })).map(({ id }) => id)).toEqual(ids)
    const again = await webhooks('replay', '--tenant', 'acme', '--json')
    expect(linesOf(again.out)).toEqual([{ replayed: 3 }])
  })

  test('skip and resume', { timeout: LONG_MS }, async () => {
    const { take, store, webhooks } = await openDesk()
    const id = await take()
    expect(await webhooks('skip', id)).toMatchObject({ code: 0, out: `${id} is skipped.\n` })
    expect(await webhooks('skip', id)).toMatchObject({ code: 1, err: expect.stringContaining('is skipped; only due') })
    expect(await webhooks('resume', 'acme')).toMatchObject({ code: 1, err: expect.stringContaining('neither stopped') })
    await take({ event: 'next' })
    const [leased] = await store.leaseEvents('acme', 1, 1_000)
    if (leased) await store.finishTry(leased, { state: 'due', outcome: 'answered 410', endpoint: { stop: true } })
    expect(linesOf((await webhooks('resume', 'acme', '--json')).out)).toEqual([{ resumed: true }])
    expect(await store.endpoints()).toEqual([])
  })
})
