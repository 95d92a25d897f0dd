import { scryptSync } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { request } from 'undici'
import { bookingExample } from '../../../mappings/booking-rows.ts'
import { quoteExample } from '../../../mappings/quote-rows.ts'
import type { Fault } from '../../labs/demo/sandbox.ts'
import type { Call } from '../../labs/demo/service.ts'
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
export function historyTenants(secret: string, secretFile: string, callbackUrl: string): object {
  const part = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '')
  const hashFor = (name: string) => {
    const salt = Buffer.alloc(12, name)
    return `$scrypt$ln=10,r=8,p=1$${part(salt)}$${part(scryptSync(secret, salt, 32, { N: 1024, r: 8, p: 1 }))}`
  }
  const local = { callback_allow_http: true, callback_networks: ['127.0.0.0/8'] }
  const more: Readonly<Record<string, object>> = {
    'acme-motors': { callback_url: callbackUrl, ...local },
    'bay-auctions': { callback_url: 'http://10.0.0.5/events', callback_allow_http: true },
    'elm-fleet': { callback_url: 'http://127.0.0.1:1/events', ...local },
    'delta-dealers': { brownouts: 'none' },
  }
  return {
    tenants: HISTORY_TENANTS.map((name) => ({
      name,
      credentials: [{ id: name, secret_hash: hashFor(name) }],
      v2: { client_id: name, client_secret: { file: secretFile } },
      ...more[name],
    })),
  }
}

/** Fails what the history says failed: some bookings are never answered, and one ZIP code is too much for the service. */
export function historyFault({ method, target, body }: Call): Fault | undefined {
  if (method === 'POST' && target === '/v2/shipments' && body.includes('-LOST')) return { kind: 'reset-before' }
  return target.includes('59999') || body.includes('59999') ? { kind: 'status', status: 500 } : undefined
}

/** Adds the counts of ninety days. */
export async function addCounts(store: Store): Promise<void> {
  const today = Math.floor(store.now() / DAY_MS)
  const calls: CallCount[] = []
  const names = new Map<string, NameCount>()
  const name = (one: Pick<NameCount, 'tenant' | 'kind' | 'name'> & Partial<NameCount>, day: number) => {
    const key = [one.tenant, one.kind, one.action, one.name].join()
    const at = { firstAt: (today - DAYS) * DAY_MS, lastAt: day * DAY_MS }
    names.set(key, { action: '', example: '', ...one, count: (names.get(key)?.count ?? 0) + (one.count ?? 1), ...at })
  }
  for (const [tenant, story] of Object.entries(STORIES)) {
    for (let left = DAYS - 1; left > 0; left -= 1) {
      const day = today - left
      for (const [use, count = 0] of Object.entries(story(left)) as [Use, number][]) {
        if (count === 0) continue
        const call = (action: string, share: number, outcome = 'done') =>
          calls.push({ tenant, day, use, action, outcome, calls: Math.ceil(count * share) })
        if (use === 'version-2') call('', 1)
        else {
          call('quote.get', 0.6)
          call('shipment.create', 0.25)
          call('shipment.get', 0.1)
          if (left % 9 === 0) call('quote.get', 0.03, 'untranslatable')
          if (tenant === 'bay-auctions' && left < 7) call('shipment.create', 0.1, 'service-failed')
          for (const [kind, action, field] of FIELDS) name({ tenant, kind, action, name: field, count }, day)
          name({ tenant, kind: 'agent', name: 'OldShop/3.2 (libcurl)', count }, day)
          name({ tenant, kind: 'network', name: '192.0.2.0/24', count }, day)
          if (left % 9 === 0) name({ tenant, kind: 'error', name: 'untranslatable', example: 'demo-request-17' }, day)
          if (tenant !== 'elm-fleet') name({ tenant, kind: 'unknown', name: 'PickUpZipCode', count: 2 }, day)
        }
        name({ tenant, kind: 'use', name: use, count }, day)
      }
    }
  }
  const days = Array.from({ length: DAYS }, (_, i) => today - DAYS + 1 + i)
  await store.addCounts({ instance: 'history', no: 1, days, calls, names: [...names.values()] })
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
