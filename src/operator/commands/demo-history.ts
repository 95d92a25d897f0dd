import { setTimeout as pause } from 'node:timers/promises'
import { request } from 'undici'
import { bookingExample } from '../../../mappings/booking-rows.ts'
import { quoteExample } from '../../../mappings/quote-rows.ts'
import { hashSecret } from '../../edge/callers/hashes.ts'
import type { Fault } from '../../labs/demo/sandbox.ts'
import type { DemoRequest } from '../../labs/demo/service.ts'
import { type CallCount, DAY_MS, type NameCount, type Use } from '../../outside/store/scoreboard.ts'
import type { Store } from '../../outside/store/store.ts'

/*
 * A past for the demo, so that its pages have something to show: seven tenants, ninety days of counts, and bookings, doubts and events
 * that were really called. The clock of the store says when each was.
 */

/** How many calls a tenant makes on a day, by the days that are left until today. */
type Story = (left: number) => Partial<Record<Use, number>>

const weekly = (left: number, base: number, swing: number) => base + Math.round(swing * Math.abs(Math.sin(left / 2.2)))

const STORIES: Readonly<Record<string, Story>> = {
  demo: (left) => ({ 'version-1': weekly(left, 20, 15) }),
  'acme-motors': (left) => ({ 'version-1': weekly(left, 90, 60), 'version-2': left < 40 ? 120 - 3 * left : 0 }),
  'bay-auctions': (left) => ({ 'version-1': weekly(left, 150, 80) }),
  'coast-rentals': (left) => ({ 'version-1': left > 36 ? 40 : 0, 'version-2': left > 60 ? 0 : 55 }),
  'delta-dealers': (left) => ({ 'version-1': left > 11 ? weekly(left, 30, 20) : 0, 'version-2': left > 30 ? 0 : 20 }),
  'elm-fleet': (left) => ({ 'version-1': weekly(left, 60, 40), 'version-2': left < 20 ? 10 : 0 }),
  'fox-logistics': () => ({}),
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

/** Adds the counts of ninety days. */
export async function addCounts(store: Store): Promise<void> {
  const today = Math.floor(store.now() / DAY_MS)
  const calls: CallCount[] = []
  const names: NameCount[] = []
  const past = Array.from({ length: DAYS - 1 }, (_, i) => DAYS - 1 - i)
  for (const [tenant, story] of Object.entries(STORIES)) {
    for (const use of ['version-1', 'version-2'] as const) {
      const days = past.map((left) => ({ left, count: story(left)[use] ?? 0 })).filter(({ count }) => count > 0)
      const [all, last = 0] = [days.reduce((sum, { count }) => sum + count, 0), days.at(-1)?.left]
      if (all === 0) continue
      for (const { left, count } of days) {
        const call = (action: string, share: number, outcome = 'done') =>
          calls.push({ tenant, day: today - left, use, action, outcome, calls: Math.ceil(count * share) })
        if (use === 'version-2') {
          call('', 1)
          continue
        }
        call('quote.get', 0.6)
        call('shipment.create', 0.25)
        call('shipment.get', 0.1)
        if (left % 9 === 0) call('quote.get', 0.03, 'untranslatable')
        if (tenant === 'bay-auctions' && left < 7) call('shipment.create', 0.1, 'service-failed')
      }
      const at = { firstAt: (today - DAYS) * DAY_MS, lastAt: (today - last) * DAY_MS }
      const name = (kind: NameCount['kind'], text: string, count = all, action = '', example = '') =>
        names.push({ tenant, kind, action, name: text, count, example, ...at })
      name('use', use)
      if (use === 'version-2') continue
      for (const [kind, action, field] of FIELDS) name(kind, field, all, action)
      name('agent', 'OldShop/3.2 (libcurl)')
      name('network', '192.0.2.0/24')
      name('error', 'untranslatable', days.filter(({ left }) => left % 9 === 0).length, '', 'demo-request-17')
      if (tenant !== 'elm-fleet') name('unknown', 'PickUpZipCode', 2 * days.length)
    }
  }
  const days = [...past.map((left) => today - left), today]
  await store.addCounts({ instance: 'history', no: 1, days, calls, names })
}

const FIELDS = [
  ...['ActionName', 'TempShipFromPostalCode', 'TempShipToPostalCode', 'EquipmentType'].map(
    (field) => ['used', 'quote.get', field] as const,
  ),
  ...['ReferenceNumber', 'VinNo', 'PickupZip', 'PickupPhNo.', 'DeliveryZip'].map(
    (field) => ['used', 'shipment.create', field] as const,
  ),
  ['unused', 'quote.get', 'CSR'],
  ['lossy', 'shipment.create', 'PickupPhNo.'],
  ['assumed', 'quote.get', 'vehicle_type'],
] as const

const CALLS = 500
const LOST_EVERY = 83
const HISTORY_MS = 3 * DAY_MS

/** The clock of a store whose past is being made. */
export interface Clock {
  behindMs: number
}

/** Makes the calls of the last days, each at its time, and the events whose callbacks went wrong. */
export async function makeHistory(url: string, secret: string, store: Store, clock: Clock): Promise<void> {
  for (let no = 0; no < CALLS; no += 1) {
    clock.behindMs = Math.round(HISTORY_MS * (1 - no / CALLS) ** 2)
    await makeCall(url, secret, no)
  }
  clock.behindMs = 0
  for (const tenant of ['acme-motors', 'bay-auctions', 'elm-fleet']) {
    for (const [no, event] of ['shipment.assigned', 'shipment.picked_up', 'shipment.delivered'].entries()) {
      clock.behindMs = 7_200_000 - no * 1_800_000
      const shipment = `6f1e4c1e-7a55-4b0c-9a3f-2f9d1c0b7e1${no}`
      const date = new Date(store.now()).toISOString()
      const payload = JSON.stringify({ shipment_id: shipment, event, event_date: date })
      await store.takeEvent({ tenant, shipment, event, date, digest: `${no}`, payload, deliver: true })
    }
  }
  clock.behindMs = 0
}

/** Goes on with calls until it is stopped. */
export async function keepCalling(url: string, secret: string, everyMs: number, signal: AbortSignal): Promise<void> {
  for (let no = CALLS + 1; !signal.aborted; no += 1) {
    await pause(everyMs, undefined, { signal, ref: false }).catch(() => undefined)
    if (!signal.aborted) await makeCall(url, secret, no).catch(() => undefined)
  }
}

async function makeCall(url: string, secret: string, no: number): Promise<void> {
  const [, acme = '', bay = '', , , elm = ''] = HISTORY_TENANTS
  const tenant = [acme, bay, bay, elm][no % 4] ?? acme
  const isLost = no % LOST_EVERY === LOST_EVERY - 1
  const reference = `${tenant.split('-', 1)[0]?.toUpperCase()}-${9000 + no}${isLost ? '-LOST' : ''}`
  const vin = `1FTEW1EP${String(no % 10)}KFA${String(10_000 + no).slice(0, 5)}`
  const booking = { ...bookingExample, ReferenceNumber: reference, ShipmentNumber: '', VinNo: vin }
  const quote = { ...quoteExample, ShipmentNumber: `Q-${no}` }
  const isBooking = isLost || no % 5 === 0
  const wrong = no % 22 === 1 ? { TempShipFromPostalCode: '59999' } : no % 17 === 2 ? { EquipmentType: 'ZEPPELIN' } : {}
  const path = isBooking ? 'createShipment.php' : 'getShippingQuote.php'
  const { body } = await request(`${url}/${path}`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${tenant}:${secret}`)}`, 'user-agent': 'OldShop/3.2 (libcurl)' },
    body: JSON.stringify(isBooking ? booking : { ...quote, ...wrong }),
  })
  await body.dump()
}
