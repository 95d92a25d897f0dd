import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { openPostgresStore } from '../../src/store/postgres/postgres.ts'
import { CLIENT, OWN, post, startGateway } from '../gateway.ts'
import { type PostgresServer, startPostgres } from '../store/postgres-server.ts'
import { book, expectBooked, shipments } from './desk.ts'

/* What a booking rests on is read from the store, not from a copy that another gateway has outdated (contract, section 7). */

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.remove())

const ROUNDS = 20
const TRIP = { TempShipFromPostalCode: '10314', TempShipToPostalCode: '33166' }

/** Opens two gateways on one database, before one service. */
async function openTwo() {
  const url = await server.createDatabase()
  const stores = [await openPostgresStore({ url }), await openPostgresStore({ url })] as const
  onTestFinished(async () => void (await Promise.all(stores.map((store) => store.close()))))
  const one = await startGateway({ env: OWN, store: stores[0], sandbox: { approvalBooks: true } })
  const other = await startGateway({ env: OWN, store: stores[1], serviceUrl: one.sandbox.url })
  return { one, other }
}

test('a booking goes out with the facts of an update that another gateway has made', async () => {
  const { one, other } = await openTwo()
  for (let round = 0; round < ROUNDS; round += 1) {
    const ShipmentNumber = `${CLIENT.id}-${round}`
    await post(one, '/getShippingQuote.php', { ...TRIP, ShipmentNumber, EquipmentType: 'OPEN AUTO' })
    // The gateway has seen the facts of the quote.
    await post(one, '/dry-run/createShipment.php', { ReferenceNumber: ShipmentNumber })
    const update = { ...TRIP, ShipmentNumber, ActionName: 'Update Rate', EquipmentType: 'ENCLOSED AUTO' }
    expect((await post(other, '/getShippingQuote.php', update)).status).toBe(200)
    expectBooked(await book(one, { ReferenceNumber: ShipmentNumber }))
    expect(shipments(one, ShipmentNumber)).toMatchObject([{ transport_type: 'enclosed' }])
  }
})

test('a quote that another gateway has approved is not booked a second time', async () => {
  const { one, other } = await openTwo()
  for (let round = 0; round < ROUNDS; round += 1) {
    const ShipmentNumber = `${CLIENT.id}-${round}`
    await post(one, '/getShippingQuote.php', { ...TRIP, ShipmentNumber })
    await post(one, '/dry-run/createShipment.php', { ReferenceNumber: ShipmentNumber })
    const approval = await post(other, '/getShippingQuote.php', { ShipmentNumber, ActionName: 'Approve Rate' })
    expect(approval.status).toBe(200)
    expectBooked(await book(one, { ReferenceNumber: ShipmentNumber }))
    expect([...one.sandbox.shipments.values()]).toHaveLength(round + 1)
  }
})
