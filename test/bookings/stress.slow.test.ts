/** Promise: a vehicle is booked once under a reference, in any spelling (contract, section 7). */

import type { ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort } from '../free-port.ts'
import { CLIENT, post } from '../gateway.ts'
import { size, WHOLE } from '../size.ts'
import { startSandbox } from '../stand-in/stand-in.ts'
import { type PostgresServer, startPostgres } from '../store/postgres-server.ts'
import { ask, book, isCreation, ON_CREATION, testFolder } from './desk.ts'
import { end, startGatewayProcess } from './gateway-process.ts'

/*
 * Callers book two vehicles under each of a few references, with and without their VINs, in rounds. In each round they race, and a shipment
 * is canceled through a gateway or directly at the service, or gets a new VIN; replies get lost, and gateways are killed.
 */

const LONG_MS = 600_000
const ROUNDS = size(8, 600)
const LANES = 6
const KILL_EVERY = 25
const VEHICLES = [
  { Year: '2023', Make: 'Ford', Model: 'E-450', vins: ['1FDXE4FN9PDD32477', '1FDXE4FN9PDD32478'] },
  { Year: '2021', Make: 'Honda', Model: 'Accord', vins: ['1HGCM82633A004352', '1HGCM82633A004353'] },
] as const

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.remove())

/** Returns a generator of numbers from 0 to 1 for a seed. */
function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

test.each(WHOLE ? ['embedded', 'PostgreSQL'] : ['PostgreSQL'])(
  'on the %s store',
  { timeout: LONG_MS },
  async (engine) => {
    const random = seeded(Number(process.env['TRANSLOAD_SEED'] ?? 1))
    const oneOf = <T>(all: readonly T[]) => all[Math.floor(random() * all.length)] as T
    const storeUrl = engine === 'embedded' ? join(testFolder(), 'transload.db') : await server.createDatabase()
    const service = await startSandbox({ credentials: { [CLIENT.id]: CLIENT.secret } })
    const counts: Record<string, number> = {}
    const note = (what: string) => {
      counts[what] = (counts[what] ?? 0) + 1
    }
    const gateways = await Promise.all(
      [0, 1].map(async () => {
        const port = await freePort()
        const env = { PORT: String(port), UPSTREAM_TIMEOUT_MS: '700', REPLAY_CHECK_AFTER: '300ms' }
        const start = async () => (await startGatewayProcess({ storeUrl, serviceUrl: service.url, env })).child
        return { url: `http://127.0.0.1:${port}`, start, child: undefined as ChildProcess | undefined }
      }),
    )
    for (const gateway of gateways) gateway.child = await gateway.start()

    const live = (reference: string, model: string) =>
      [...service.shipments.values()].filter(
        ({ status, external_id, vehicles }) =>
          status !== 'canceled' && external_id === reference && vehicles[0]?.model === model,
      )

    const anyGateway = () => oneOf(gateways.filter(({ child }) => child))

    async function round(reference: string, updated: Set<string>): Promise<void> {
      const vehicle = oneOf(VEHICLES)
      const { vins, ...told } = vehicle
      const [standing] = live(reference, vehicle.Model)
      const trouble = oneOf(['none', 'cancel', 'silent cancel', 'update', 'update', 'lost', 'lost before'])
      const knowsOther = standing !== undefined && updated.has(standing.id) && !trouble.endsWith('cancel')
      const spellings = [vins[0], '', ...(knowsOther ? [vins[1]] : [])]
      if (trouble === 'lost') service.fail({ kind: 'timeout', on: ON_CREATION })
      if (trouble === 'lost before') service.fail({ kind: 'timeout-unprocessed', on: ON_CREATION })
      const calls = Array.from({ length: 3 }, async () => {
        const VinNo = oneOf(spellings)
        const answer = await book(anyGateway(), { ...told, VinNo, ReferenceNumber: reference }).catch(() => undefined)
        const { TransportationBooked: word } = answer?.json ?? {}
        note(`booking ${answer?.status} ${word}${answer?.headers.has('idempotent-replayed') ? ' again' : ''}`)
      })
      const change = async () => {
        if (!standing) return
        const { id } = standing
        if (trouble === 'silent cancel') standing.status = 'canceled'
        if (trouble === 'silent cancel' && random() < 0.5) {
          note(`read ${(await ask(anyGateway(), 'GET', `/v2/shipments/${id}`)).status}`)
        }
        if (trouble === 'cancel') {
          note(`cancel ${(await post(anyGateway(), '/deleteShipment.php', { shipment_id: id })).status}`)
        }
        // If a vehicle was booked without its VIN, nobody knows the first one.
        if (trouble === 'update' && standing.vehicles[0]?.vin === vins[0]) {
          const { status } = await post(anyGateway(), '/updateShipment.php', { shipment_id: id, VinNo: vins[1] })
          note(`update ${status}`)
          if (status === 200) updated.add(id)
        }
      }
      await Promise.all([...calls, change().catch(() => note('change failed'))])
      service.clearFaults()
      for (const { Model } of VEHICLES) {
        const shipments = live(reference, Model)
        expect(shipments.length, `${reference} ${Model} ${trouble} ${JSON.stringify(shipments)}`).toBeLessThanOrEqual(1)
      }
    }

    let rounds = 0
    const lane = async (_: unknown, at: number) => {
      const updated = new Set<string>()
      for (let nth = 0; nth < ROUNDS; nth += 1) {
        await round(`R-${at}-${Math.floor(nth / 10)}`, updated)
        rounds += 1
        const gateway = gateways[rounds % 2]
        if (rounds % KILL_EVERY !== 0 || !gateway?.child || gateways.some(({ child }) => !child)) continue
        const { child } = gateway
        gateway.child = undefined
        await end(child)
        gateway.child = await gateway.start()
        note('kill')
      }
    }
    await Promise.all(Array.from({ length: LANES }, lane))
    process.stdout.write(
      `${engine}: ${service.requests.filter(isCreation).length} creations, ${JSON.stringify(counts)}\n`,
    )
    for (const what of ['booking 200 Yes', 'booking 200 Yes again', 'kill'])
      expect(counts[what], what).toBeGreaterThan(0)
    await service.close()
  },
)
