import { setTimeout as pause } from 'node:timers/promises'
import { request } from 'undici'
import { bookingExample } from '../../../mappings/booking-rows.ts'
import { quoteExample } from '../../../mappings/quote-rows.ts'
import { hashSecret } from '../../edge/callers/hashes.ts'
import type { Fault } from '../../labs/demo/sandbox.ts'
import type { DemoRequest } from '../../labs/demo/service.ts'
import { DAY_MS } from '../../outside/store/scoreboard.ts'
import type { Store } from '../../outside/store/store.ts'
import { isoTime } from '../words.ts'

/*
 * A past for the demo, so that its pages have something to show: seven tenants, and the calls of ninety days with their bookings,
 * doubts and events. All of them are really made; the clock of the store says when each was.
 */

/** How many calls of each version a tenant makes on a day, by the days that are left until today. */
type Story = (left: number) => readonly [version1: number, version2?: number]

const weekly = (left: number, base: number, swing: number) => base + Math.round(swing * Math.abs(Math.sin(left / 2.2)))

const STORIES: Readonly<Record<string, Story>> = {
  demo: (left) => [weekly(left, 1, 1)],
  'acme-motors': (left) => [weekly(left, 3, 3), left < 40 ? 5 - left / 8 : 0],
  'bay-auctions': (left) => [weekly(left, 5, 4)],
  'coast-rentals': (left) => [left > 36 ? 2 : 0, left > 60 ? 0 : 2],
  'delta-dealers': (left) => [left > 11 ? weekly(left, 1, 1) : 0, left > 30 ? 0 : 1],
  'elm-fleet': (left) => [weekly(left, 2, 2), left < 20 ? 1 : 0],
  'fox-logistics': () => [0],
}

const DAYS = 90
export const HISTORY_TENANTS = Object.keys(STORIES)

/** Returns the tenants file; all have one secret, and their callbacks go wrong in different ways. */
export async function historyTenants(secret: string, secretFile: string, callbackUrl: string): Promise<object> {
  const local = { callback_allow_http: true, callback_networks: ['127.0.0.0/8'] }
  const more: Readonly<Record<string, object>> = {
    'acme-motors': { callback_url: callbackUrl, ...local },
    'bay-auctions': { callback_url: 'http://10.0.0.5/events', callback_allow_http: true },
    'elm-fleet': { callback_url: 'http://127.0.0.1:1/events', ...local },
    'delta-dealers': { brownouts: 'none' },
  }
  const tenants = HISTORY_TENANTS.map(async (name) => ({
    name,
    credentials: [{ id: name, secret_hash: await hashSecret(secret) }],
    v2: { client_id: name, client_secret: { file: secretFile } },
    ...more[name],
  }))
  return { tenants: await Promise.all(tenants) }
}

/** Fails what the history says failed: some bookings are never answered, and one ZIP code is too much for the service. */
export function historyFault({ method, target, body }: DemoRequest): Fault | undefined {
  if (method === 'POST' && target === '/v2/shipments' && body.includes('-LOST')) return { kind: 'reset-before' }
  return target.includes('59999') || body.includes('59999') ? { kind: 'status', status: 500 } : undefined
}

/** The clock of a store whose past is being made. */
export interface Clock {
  behindMs: number
}

/** On each of the last days, these tenants have a booking that is never answered. */
const DOUBTED = ['acme-motors', 'bay-auctions']
const DOUBTED_DAYS = 3
/** How often a demo with a history stores its counts: its pages show nothing else. */
export const COUNTS_EVERY_MS = 500
/** More than the calls of a day, which have numbers. */
const MOST_OF_A_DAY = 100

/** Makes the calls of ninety days, and the events whose callbacks went wrong. */
export async function makeHistory({ call, callVersion2 }: Callers, store: Store, clock: Clock): Promise<void> {
  for (let left = DAYS - 1; left >= 0; left -= 1) {
    clock.behindMs = left * DAY_MS
    const calls: Promise<void>[] = []
    const add = (tenant: string, isLost: boolean) =>
      calls.push(call(tenant, (DAYS - left) * MOST_OF_A_DAY + calls.length, isLost))
    if (left < DOUBTED_DAYS) for (const tenant of DOUBTED) add(tenant, true)
    for (const [tenant, story] of Object.entries(STORIES)) {
      const [version1, version2 = 0] = story(left)
      for (let i = 0; i < version1; i += 1) add(tenant, false)
      for (let i = 0; i < version2; i += 1) calls.push(callVersion2(tenant))
    }
    await Promise.all(calls)
  }
  // Pages show what is counted once it is stored.
  while ((await store.watchedDays()).length < DAYS) await pause(COUNTS_EVERY_MS)
  for (const tenant of ['acme-motors', 'bay-auctions', 'elm-fleet']) {
    for (const [no, event] of ['shipment.assigned', 'shipment.picked_up', 'shipment.delivered'].entries()) {
      clock.behindMs = 7_200_000 - no * 1_800_000
      const shipment = `6f1e4c1e-7a55-4b0c-9a3f-2f9d1c0b7e1${no}`
      const date = isoTime(store.now())
      const payload = JSON.stringify({ shipment_id: shipment, event, event_date: date })
      await store.takeEvent({ tenant, shipment, event, date, digest: `${no}`, payload, deliver: true })
    }
  }
  clock.behindMs = 0
}

/** Above the numbers of calls of the history. */
const FIRST_LATER = 50_000

/** Goes on with calls until it is stopped. */
export async function keepCalling({ call }: Callers, everyMs: number, signal: AbortSignal): Promise<void> {
  for (let no = FIRST_LATER; !signal.aborted; no += 1) {
    await pause(everyMs, undefined, { signal, ref: false }).catch(() => undefined)
    if (!signal.aborted) await call(no % 2 ? 'acme-motors' : 'bay-auctions', no).catch(() => undefined)
  }
}

type Callers = ReturnType<typeof openCallers>

/** Opens the callers of a gateway; all have one secret. */
export function openCallers(url: string, secret: string) {
  async function post(tenant: string, path: string, content: object): Promise<void> {
    const headers = { authorization: `Basic ${btoa(`${tenant}:${secret}`)}`, 'user-agent': 'OldShop/3.2 (libcurl)' }
    const { body } = await request(url + path, { method: 'POST', headers, body: JSON.stringify(content) })
    await body.dump()
  }
  return {
    /** Calls with version 1: every fifth call is a booking, and some ask for what cannot be had. */
    call(tenant: string, no: number, isLost = false): Promise<void> {
      const common = tenant === 'elm-fleet' ? {} : { PickUpZipCode: '10314' }
      if (isLost || no % 5 === 0) {
        const ReferenceNumber = `${tenant.split('-', 1)[0]?.toUpperCase()}-${9000 + no}${isLost ? '-LOST' : ''}`
        const VinNo = `1FTEW1EP${no % 10}KFA${10_000 + no}`
        return post(tenant, '/createShipment.php', { ...common, ...bookingExample, ReferenceNumber, VinNo })
      }
      const isFailing = tenant === 'bay-auctions' && no % 9 === 1
      const wrong = isFailing ? { TempShipFromPostalCode: '59999' } : no % 17 === 2 ? { EquipmentType: 'ZEPPELIN' } : {}
      const quote = { ...common, ...quoteExample, ShipmentNumber: `Q-${no}`, ...wrong }
      return post(tenant, '/getShippingQuote.php', quote)
    },
    callVersion2: (tenant: string) => post(tenant, '/v2/quote', { pickup: '10314', delivery: '33166' }),
  }
}
