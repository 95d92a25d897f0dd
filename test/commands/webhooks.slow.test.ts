import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Webhook } from 'standardwebhooks'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { NewEvent } from '../../src/store/events.ts'
import { openStore } from '../../src/store/open.ts'
import { folder, tenant, writeTenants } from '../callers/edge.ts'
import { cleanEnv, type Ended, newFolder, ROOT, run } from '../command.ts'
import { replies, startReceiver } from '../events/receiver.ts'
import { newEvent } from '../store/event-contract.ts'

const LONG_MS = 60_000
const SECRET = `whsec_${Buffer.alloc(24, 5).toString('base64')}`

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

  test.each([
    [
      ['list', '--state', 'prked'],
      64,
      'argument prked is invalid. Allowed choices are recorded, due, delivered, parked, skipped.',
    ],
    [['list', '--since', 'yesterday'], 64, '--since takes a time'],
    [['replay'], 64, 'replay needs either an ID or at least one of'],
    [['replay', 'msg_1', '--state', 'due'], 64, 'replay needs either an ID or at least one of'],
    [['show'], 64, 'missing required argument ID'],
    [['show', 'msg_1'], 1, 'there is no event msg_1'],
    [['replay', 'msg_1'], 1, 'there is no event msg_1'],
  ])('%j ends with %i', { timeout: LONG_MS }, async (words, code, said) => {
    const { webhooks } = await openDesk()
    const ended = await webhooks(...words)
    expect(ended.code).toBe(code)
    expect(ended.err).toContain(said)
    expect(ended.err).not.toContain('    at ')
  })
})

describe('test sends a signed sample event', () => {
  async function openTenants(url: string, more: object = {}) {
    const place = folder()
    const path = join(place, 'tenants.json')
    writeFileSync(join(place, 'signing'), SECRET)
    const keys = { callback_url: url, callback_allow_http: true, callback_secrets: [{ file: join(place, 'signing') }] }
    writeTenants(path, tenant(place, 'acme', { ...keys, ...more }), tenant(place, 'mute'))
    return (...words: readonly string[]) => webhooks(['test', ...words], { TENANTS_FILE: path })
  }

  test('to a tenant, and shows the reply', { timeout: LONG_MS }, async () => {
    const receiver = await startReceiver()
    const sendTest = await openTenants(receiver.url, { callback_networks: ['127.0.0.1'] })
    const { code, out } = await sendTest('acme')
    expect([code, out]).toEqual([0, `${receiver.url}: answered 200\n`])
    const [delivery] = receiver.received
    const headers = Object.fromEntries(
      Object.entries(delivery?.headers ?? {}).map(([name, text]) => [name, String(text)]),
    )
    expect(new Webhook(SECRET).verify(delivery?.body ?? '', headers)).toMatchObject({ Event: 'shipment.modified' })
    receiver.answer(replies(500))
    const failed = await sendTest('acme', '--json')
    expect(failed.code).toBe(1)
    expect(linesOf(failed.out)).toMatchObject([
      { tenant: 'acme', signed: true, delivered: false, outcome: 'answered 500' },
    ])
  })

  test('and says why it cannot', { timeout: LONG_MS }, async () => {
    const receiver = await startReceiver()
    const sendTest = await openTenants(receiver.url)
    const refused = await sendTest('acme')
    expect(refused).toMatchObject({ code: 1, out: expect.stringContaining('callback_networks does not allow') })
    expect(receiver.received).toEqual([])
    expect((await sendTest('mute')).err).toContain('mute has no callback_url')
    expect((await sendTest('nobody')).err).toContain('the tenants file has no tenant nobody')
    expect(await webhooks(['test', 'acme'], {})).toMatchObject({
      code: 78,
      err: expect.stringContaining('TENANTS_FILE'),
    })
  })
})
