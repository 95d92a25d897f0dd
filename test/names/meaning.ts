import { expect, test } from 'vitest'
import { type Store, StoreDown } from '../../src/outside/store/store.ts'
import { book, expectBooked, shipments } from '../bookings/desk.ts'
import { play, storiesIn } from '../bookings/stories.ts'
import { as, named, openEdge } from '../callers/tenants-gateway.ts'
import { OWN, startGateway, type TestGatewayOptions } from '../gateway.ts'

/** Tests over HTTP what names and VINs mean, on gateways with the given stores; callers may be those of a tenant. */
export function meaningTests(openStore: () => Promise<Store>, isOfTenant = false): void {
  const open = async (options: TestGatewayOptions) => {
    const env = { V2_SHIPMENT_PATH: '/v2/shipments', ...options.env }
    const given = { ...options, env, store: options.store ?? (await openStore()) }
    return isOfTenant && options.env?.['V2_CLIENT_ID'] === undefined
      ? { gateway: await openEdge(named(['acme']), given), headers: as('acme') }
      : { gateway: await startGateway(given) }
  }

  test.each(storiesIn(import.meta.dirname, 'meaning.txt'))('%s', (_, steps) => play(steps, open))

  test('a booking is not sent again before the store has freed its key, and until then nothing is confirmed', async () => {
    const store = await openStore()
    let isDown = false
    const change: typeof store.change = async (...args) => {
      if (isDown) throw new StoreDown('The disk is full.')
      return store.change(...args)
    }
    const gateway = await startGateway({ env: { ...OWN, REPLAY_CHECK_AFTER: '0s' }, store: { ...store, change } })
    const id = expectBooked(await book(gateway))
    for (const shipment of shipments(gateway)) shipment.status = 'canceled'
    isDown = true
    const { status, json } = await book(gateway)
    expect([status, json.TransportationBooked, gateway.sandbox.shipments.size]).toEqual([503, 'No', 1])
    isDown = false
    expect(expectBooked(await book(gateway))).not.toBe(id)
  })
}
