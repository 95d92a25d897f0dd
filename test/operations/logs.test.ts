/** Promise: a call is one line, without bodies, personal data or secrets (contract, section 11). */

import { describe, expect, test, vi } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { createMemoryStore } from '../../src/outside/store/sqlite/sqlite.ts'
import { createReadiness, type StoreState } from '../../src/outside/store/state.ts'
import { type Store, StoreDown } from '../../src/outside/store/store.ts'
import { createLog, lineForPeople } from '../../src/runtime/log.ts'
import { createLeases } from '../../src/state/bookings/leases.ts'
import { book } from '../bookings/desk.ts'
import { basic, get, OWN, post, startGateway, type TestGateway } from '../gateway.ts'

describe('the line', () => {
  /** Returns the lines of calls. */
  const calls = ({ lines }: TestGateway) => lines().filter(({ msg }) => msg === 'call')
  const lastCall = (gateway: TestGateway) => calls(gateway).at(-1) ?? expect.fail('no line of a call')

  describe('the line of a call', () => {
    test('has these fields, and no others', async () => {
      const gateway = await startGateway()
      const id = 'A.b_c-9'.padEnd(64, 'x')
      const headers = { 'user-agent': 'LegacyShop/4.2 (PHP)', 'x-request-id': id }
      gateway.sandbox.fail({ kind: 'delay', ms: 120, times: 1 })
      await post(gateway, '/getShippingQuote.php', { ...quoteExample, EquipmentType: '', Foo: 'bar' }, headers)
      const { time, ms, gateway_ms, store_ms: _, service_ms, ...rest } = lastCall(gateway)
      expect(rest).toEqual({
        level: 'info',
        name: 'transload',
        id,
        method: 'POST',
        path: '/legacy/getShippingQuote.php',
        action: 'quote.get',
        status: 200,
        service_status: 200,
        tries: 1,
        tenant: 'demo',
        unknown_fields: 1,
        notes: ['transport_type assumed'],
        source: '127.0.0.1',
        user_agent: 'LegacyShop/4.2 (PHP)',
        msg: 'call',
      })
      const [whole, own, service] = [Number(ms), Number(gateway_ms), Number(service_ms)]
      expect(service).toBeGreaterThanOrEqual(115)
      expect(own + service).toBeLessThanOrEqual(whole + 0.2)
      expect(typeof time).toBe('number')
    })

    test('counts every request to the service, and has the status of the last reply', async () => {
      const gateway = await startGateway()
      gateway.sandbox.fail({ kind: 'status', status: 503, times: 2 })
      await post(gateway, '/getShippingQuote.php', quoteExample)
      expect(lastCall(gateway)).toMatchObject({ status: 200, service_status: 200, tries: 3 })
      gateway.sandbox.fail({ kind: 'status', status: 418, times: 1 })
      await post(gateway, '/getShippingQuote.php', quoteExample)
      expect(lastCall(gateway)).toMatchObject({ status: 418, service_status: 418, tries: 1 })
      await post(gateway, '/getShippingQuote.php', { TempShipFromPostalCode: '10314' })
      expect(lastCall(gateway)).not.toHaveProperty('tries')
      await get(gateway, '/v2/shipments/none')
      expect(lastCall(gateway)).toMatchObject({ path: '/service', status: 404, service_status: 404, tries: 1 })
      gateway.sandbox.fail({ kind: 'reset-before', times: 'always' })
      await post(gateway, '/getShippingQuote.php', quoteExample)
      // The code says why.
      expect(lastCall(gateway)).toMatchObject({ error: 'service-failed' })
      expect(lastCall(gateway)).not.toHaveProperty('err')
    })

    test('names what was lost or assumed, never a value', async () => {
      const gateway = await startGateway()
      await book(gateway, { PickupZip: '02134-9876', 'DeliveryPhNo.': 'TBD', VinNo: 'ODD-VIN-77' })
      const { notes } = lastCall(gateway)
      expect(notes).toEqual(
        expect.arrayContaining(['PickupZip lossy', 'DeliveryPhNo. lossy', 'VinNo warning', 'transport_type assumed']),
      )
      expect(JSON.stringify(lastCall(gateway))).not.toMatch(/02134|9876|TBD|ODD-VIN/)
      expect(JSON.stringify(lastCall(gateway))).not.toContain(bookingExample.BillToName)
    })
  })

  describe('the source address and the user agent', () => {
    const ask = async (LOG_ADDRESSES: string) => {
      const gateway = await startGateway({ env: { LOG_ADDRESSES, ERROR_STATUS: 'ok' } })
      await post(gateway, '/getShippingQuote.php', quoteExample)
      const answered = lastCall(gateway)
      await post(gateway, '/getShippingQuote.php', quoteExample, { authorization: basic('demo', 'wrong') })
      return [answered, lastCall(gateway)].map(({ source, user_agent, client }) => [source, typeof user_agent, client])
    }

    test('are in the lines of the calls that LOG_ADDRESSES names', async () => {
      expect(await ask('all')).toEqual([
        ['127.0.0.1', 'string', undefined],
        ['127.0.0.1', 'string', 'demo'],
      ])
      expect(await ask('refused')).toEqual([
        [undefined, 'string', undefined],
        ['127.0.0.1', 'string', 'demo'],
      ])
      expect(await ask('none')).toEqual([
        [undefined, 'string', undefined],
        [undefined, 'string', 'demo'],
      ])
    })

    test('are those behind a trusted proxy', async () => {
      const gateway = await startGateway({ env: { TRUST_PROXY: '127.0.0.1' } })
      await post(gateway, '/getShippingQuote.php', quoteExample, { 'x-forwarded-for': '198.51.100.7, 192.0.2.9' })
      expect(lastCall(gateway)['source']).toBe('192.0.2.9')
    })

    test('hostile ones are cut and cannot steer a terminal or forge a line', async () => {
      const gateway = await startGateway()
      const hostile = [
        '\u009b31mred',
        `${'x'.repeat(200)}`,
        '"},{"msg":"forged"',
        'é\u0085next',
        '\u00adsoft\u009d0;title',
      ]
      for (const agent of hostile) await post(gateway, '/getShippingQuote.php', quoteExample, { 'user-agent': agent })
      const agents = calls(gateway).map(({ user_agent }) => String(user_agent))
      expect(agents).toHaveLength(hostile.length)
      for (const agent of agents) {
        expect(agent).not.toMatch(/\p{Cc}/u)
        expect(agent.length).toBeLessThanOrEqual(128 * 6)
      }
      expect(agents[0]).toBe('\\u009b31mred')
      expect(agents[1]).toHaveLength(128)
      expect(agents[2]).toBe('"},{"msg":"forged"')
    })
  })
})

describe('causes', () => {
  /** A store of which some methods fail. */
  const broken = (faults: Partial<Store>): Store => ({ ...createMemoryStore(), ...faults })
  const failing = (error: Error) => () => Promise.reject(error)

  describe('the log has the cause', () => {
    test('of a call that failed because of the gateway itself, with its place', async () => {
      const gateway = await startGateway({
        env: OWN,
        store: broken({ put: failing(new TypeError('a bug of the store')) }),
      })
      const { status, json } = await post(gateway, '/getShippingQuote.php', quoteExample)
      expect(status).toBe(500)
      expect(JSON.stringify(json)).not.toContain('a bug of the store')
      expect(await gateway.logged(/^call/)).toMatchObject({
        level: 'error',
        msg: 'call failed',
        error: 'gateway-failed',
        status: 500,
        err: { type: 'TypeError', message: 'a bug of the store', stack: expect.stringContaining('logs.test.ts') },
      })
    })

    test('of a lease that cannot be kept, at each step', async () => {
      const store = broken({
        engine: 'sqlite',
        listClaims: failing(new Error('no list')),
        renewLease: failing(new Error('no renewal')),
        endLease: failing(new Error('no end')),
      })
      const { gateway, lines } = await startGateway({ proven: false, store })
      await gateway.close()
      const told = lines().filter(({ msg }) => /lease/.test(String(msg)))
      expect(told.map(({ level, msg, err }) => [level, msg, Object(err).message])).toEqual([
        ['warn', 'the leases of earlier runs could not be ended', 'no list'],
        ['warn', 'the lease could not be renewed', 'no renewal'],
        ['warn', 'the lease could not be ended', 'no end'],
      ])
    })
  })

  test('a lease is held until the store says that it may have lapsed', async () => {
    const renewals = [true, true, false, true]
    const log = createLog('silent', { write: () => {} })
    const catchUp = async () => undefined
    const store = broken({ renewLease: async () => renewals.shift() ?? true })
    let now = performance.now()
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now)
    try {
      const leases = createLeases('gateway-1', { store, log, onRenewed: catchUp, catchUp })
      await leases.start()
      const first = await leases.hold()
      expect(first()).toBe(true)
      // Fresh enough: no renewal.
      expect(renewals).toHaveLength(3)
      now += 3_001
      const second = await leases.hold()
      expect([first(), second(), renewals.length]).toEqual([true, true, 2])
      now += 3_001
      const third = await leases.hold()
      expect([first(), second(), third()]).toEqual([false, false, true])
      now += 5_001
      expect(third()).toBe(false)
      await leases.end()
    } finally {
      clock.mockRestore()
    }
  })

  test('the readiness of a store is reported when it changes, or its reason does, and not after its end', () => {
    const states: StoreState[] = []
    const readiness = createReadiness((state) => states.push(state))
    expect(readiness.ready()).toBe(false)
    const down = (reason: string): StoreState => ({ ready: false, error: new StoreDown(reason) })
    readiness.set(down('full'))
    readiness.set(down('full'))
    readiness.set(down('gone'))
    readiness.set({ ready: true })
    readiness.set({ ready: true })
    expect(readiness.ready()).toBe(true)
    readiness.end()
    expect(readiness.ready()).toBe(false)
    readiness.set(down('late'))
    expect(states.map(({ ready, error }) => (ready ? 'ready' : error?.message))).toEqual(['full', 'gone', 'ready'])
  })
})

test('lines for people have the time, what happened, and what is wrong', () => {
  const time = Date.UTC(2026, 0, 2, 3, 4, 5, 6)
  const shown = (entry: object) => lineForPeople(JSON.stringify({ level: 'info', time, name: 'transload', ...entry }))
  const call = {
    msg: 'call',
    status: 200,
    method: 'POST',
    path: '/createShipment.php',
    action: 'shipment.create',
    ms: 12,
  }
  expect(shown({ ...call, id: 'r-1' })).toBe(
    '03:04:05.006  200  POST  /createShipment.php  shipment.create  12 ms  r-1\n',
  )
  expect(shown({ level: 'warn', msg: 'store not ready', err: { message: 'gone' }, server: 'db' })).toBe(
    '03:04:05.006  WARN  store not ready  gone  server=db\n',
  )
})
