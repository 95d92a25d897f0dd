import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { openStore } from '../../src/outside/store/open.ts'
import { type GatewayProcessOptions, startGatewayProcess } from '../bookings/gateway-process.ts'
import { writeTenants } from '../callers/tenants-gateway.ts'
import { newFolder } from '../command.ts'
import { freePort } from '../free-port.ts'
import { SECRET, withHook } from './deliver.ts'

export interface KillOptions {
  readonly storeUrl: string
  readonly events: number
  readonly kills: number
}

/** The counts of one run of the harness. */
export interface KillReport {
  readonly events: number
  readonly kills: number
  /** Deliveries that arrived, copies included. */
  readonly arrived: number
  /** Events that never arrived. */
  readonly lost: number
  /** Deliveries that arrived before an earlier event of their shipment, or after a later one. */
  readonly outOfOrder: number
}

const SHIPMENTS = 25
const RETRY_PAUSE_MS = 20
const LONGEST_LIFE_MS = 1_500
const LONGEST_REPLY_MS = 30
/** Once nothing has arrived for so long, what is missing is lost. */
const LAST_ARRIVAL_MS = 60_000

/** Sends events to two gateways that are killed and started again, and looks at what arrives at the callback. */
export async function killGateways({ storeUrl, events, kills }: KillOptions): Promise<KillReport> {
  const place = newFolder('delivery')
  /** The numbers of the events of each shipment, as they arrived. */
  const arrivals = new Map<string, number[]>()
  const arrived = new Set<string>()
  const allArrived = Promise.withResolvers<void>()
  const lastArrival = setTimeout(allArrived.resolve, LAST_ARRIVAL_MS)
  const receiver = createServer(async (incoming, outgoing) => {
    const { ReferenceNumber: _, ShipmentNumber: shipment, Event: event } = JSON.parse(await text(incoming))
    arrivals.set(shipment, [...(arrivals.get(shipment) ?? []), Number(event)])
    arrived.add(`${shipment} ${event}`)
    lastArrival.refresh()
    if (arrived.size === events) allArrived.resolve()
    await pause(Math.random() * LONGEST_REPLY_MS)
    outgoing.end()
  })
  receiver.listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  // A server that listens on a port has an address with a port.
  const { port } = receiver.address() as AddressInfo

  const tenantsFile = join(place, 'tenants.json')
  const declared = withHook(place, 'acme', SECRET, {
    callback_url: `http://127.0.0.1:${port}/`,
    callback_allow_http: true,
    callback_networks: ['127.0.0.1'],
  })
  writeTenants(tenantsFile, declared)
  await nameShipments(storeUrl)

  const gateways = await Promise.all(
    [1, 2].map((nth) => {
      const env = { TENANTS_FILE: tenantsFile, EMERGENCY_LOG_FILE: join(place, `${nth}.ndjson`) }
      return startMortal({ storeUrl, serviceUrl: 'http://127.0.0.1:1', env })
    }),
  )
  let sent = 0

  async function send(shipment: number, event: number): Promise<void> {
    for (;;) {
      const url = gateways[Math.random() < 0.5 ? 0 : 1]?.url
      if (url !== undefined && (await post(url, `s-${shipment}`, String(event)))) break
      await pause(RETRY_PAUSE_MS)
    }
    sent += 1
  }

  async function sendAll(shipment: number): Promise<void> {
    const count = Math.floor(events / SHIPMENTS) + (shipment < events % SHIPMENTS ? 1 : 0)
    for (let event = 0; event < count; event += 1) {
      await send(shipment, event)
      // As slowly as the kills come: they meet events that are received and events that are delivered.
      while (sent / events > (killed + 1) / (kills + 1) && killed < kills) await pause(RETRY_PAUSE_MS)
    }
  }

  let killed = 0
  try {
    const sending = Promise.all(Array.from({ length: SHIPMENTS }, (_, shipment) => sendAll(shipment)))
    while (killed < kills) {
      const victim = gateways[killed % 2]
      await pause(Math.random() * LONGEST_LIFE_MS)
      await victim?.kill()
      await victim?.start()
      killed += 1
    }
    await sending
    await allArrived.promise
  } finally {
    clearTimeout(lastArrival)
    await Promise.all(gateways.map(({ kill }) => kill()))
    receiver.closeAllConnections()
    receiver.close()
    rmSync(place, { recursive: true, force: true })
  }
  const lists = [...arrivals.values()]
  return {
    events,
    kills: killed,
    arrived: lists.reduce((sum, { length }) => sum + length, 0),
    lost: events - arrived.size,
    outOfOrder: lists.reduce((sum, list) => sum + outOfOrder(list), 0),
  }
}

/** Counts the deliveries that follow neither the event before nor a copy of themselves. */
function outOfOrder(list: readonly number[]): number {
  return list.filter((event, i) => {
    const before = list[i - 1] ?? -1
    return event !== before && event !== before + 1
  }).length
}

/** Gives the shipments names: events of unnamed ones wait for a booking. */
async function nameShipments(storeUrl: string): Promise<void> {
  const store = await openStore(storeUrl)
  for (let i = 0; i < SHIPMENTS; i += 1) {
    await store.put({ names: [], shipment: { tenant: 'acme', id: `s-${i}`, own: `REF-${i}` } })
  }
  await store.close()
}

async function post(url: string, shipment: string, event: string): Promise<boolean> {
  const body = JSON.stringify({ shipment_id: shipment, event, event_date: '2024-08-10T08:00:00+0000' })
  const headers = { 'content-type': 'application/json' }
  const reply = await fetch(`${url}/webhooks/${SECRET}`, { method: 'POST', body, headers }).catch(() => undefined)
  await reply?.text().catch(() => undefined)
  return reply?.ok === true
}

/** Starts a gateway that can be killed, and started again on the same port. */
export async function startMortal({ env = {}, ...options }: Omit<GatewayProcessOptions, 'program' | 'imports'>) {
  const port = await freePort()
  const program = 'test/events/gateway-child.ts'
  let child: ChildProcess | undefined
  const start = async () => {
    child = (await startGatewayProcess({ ...options, program, env: { ...env, PORT: `${port}` } })).child
  }
  await start()
  return {
    url: `http://127.0.0.1:${port}`,
    start,
    kill: async () => {
      if (!child || child.signalCode !== null) return
      const gone = once(child, 'exit')
      child.kill('SIGKILL')
      await gone
    },
  }
}
