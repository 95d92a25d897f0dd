import type { NewEvent } from '../../src/outside/store/events.ts'
import { type CallCount, type CountBatch, DAY_MS, type NameCount } from '../../src/outside/store/scoreboard.ts'
import type {
  Name,
  NewClaim,
  NewName,
  Quote,
  ScannedName,
  Store,
  StoredShipment,
} from '../../src/outside/store/store.ts'

/** The time of the samples, in milliseconds since 1970. */
export const SAMPLE_TIME = 1_000

/** Returns a name with defaults for what a test does not care about. */
export function named(given: Partial<Name> = {}): Name {
  const defaults = { tenant: 'acme', kind: 'quote', name: 'Q-1', id: 'id-1', givenBy: 'caller' } as const
  return { ...defaults, at: SAMPLE_TIME, ...given }
}

/** Returns a name to write now. */
export function newName(given: Partial<Name> = {}): NewName {
  const { at: _, ...timeless } = named(given)
  return timeless
}

/** Returns a quote with defaults for what a test does not care about; its time is that of the store when its facts are written. */
export function quote(given: Partial<Quote> = {}): Quote {
  const blank = { names: [], price: '', approval: '', idsInApproval: [] } as const
  const facts = { trailer: 'open', miles: 12 }
  return { tenant: 'acme', id: 'id-1', own: 'Q-1', ...blank, facts, at: SAMPLE_TIME, ...given }
}

/** Returns a shipment with defaults for what a test does not care about; its time is that of the store when it is written. */
export function shipment(given: Partial<StoredShipment> = {}): StoredShipment {
  const blank = { own: '', vehicles: [], formerVins: {}, state: 'live', quote: '' } as const
  return { tenant: 'acme', id: 'id-1', ...blank, at: SAMPLE_TIME, ...given }
}

/** Returns a claim with defaults for what a test does not care about; its handle follows from tenant and key. */
export function newClaim(given: Partial<NewClaim> = {}): NewClaim {
  const { tenant = 'acme', key = 'REF-1' } = given
  return {
    tenant,
    key,
    handle: `bk_${tenant}_${key}`,
    body: 'hash',
    instance: 'gateway-1',
    reference: key,
    vin: '',
    vehicle: '',
    request: '',
    isOfReference: false,
    ...given,
  }
}

/** Returns an event with defaults for what a test does not care about. */
export function newEvent(given: Partial<NewEvent> = {}): NewEvent {
  return {
    tenant: 'acme',
    shipment: 's-1',
    event: 'shipment.created',
    date: '2024-08-10T08:00:00+0000',
    digest: 'digest',
    payload: '{}',
    deliver: true,
    ...given,
  }
}

const DAY = 20_000

/** Returns a count of calls with defaults for what a test does not care about. */
export const callsOf = (given: Partial<CallCount> = {}): CallCount => ({
  ...({ tenant: 'acme', day: DAY, use: 'version-1', action: 'quote.get', outcome: 'done' } as const),
  calls: 1,
  ...given,
})

/** Returns a count of a name with defaults for what a test does not care about. */
export const usedName = (given: Partial<NameCount> = {}): NameCount => ({
  ...({ tenant: 'acme', kind: 'used', action: 'quote.get', name: 'LoadReference', count: 1, example: '' } as const),
  firstAt: DAY * DAY_MS,
  lastAt: DAY * DAY_MS,
  ...given,
})

/** Returns a batch of counts by its number. */
export const batch = (no: number, given: Partial<CountBatch> = {}): CountBatch => ({
  ...{ instance: 'g1', no, days: [DAY], calls: [], names: [] },
  ...given,
})

/** Returns everything that a scan yields, in one list. */
export async function scanned(
  store: Store,
  options: Parameters<Store['scan']>[0] = {},
): Promise<readonly ScannedName[]> {
  const names: ScannedName[] = []
  for await (const page of store.scan(options)) names.push(...page)
  return names
}
