import type { Link, NewClaim, Store, Thing } from '../../src/store/store.ts'

/** The time of the samples, in milliseconds since 1970. */
export const SAMPLE_TIME = 1_000

/** Returns a link with defaults for what a test does not care about. */
export function link(given: Partial<Link> = {}): Link {
  const defaults = { tenant: 'acme', kind: 'quote', name: 'Q-1', vin: '', id: 'id-1', givenBy: 'caller' } as const
  return { ...defaults, at: SAMPLE_TIME, ...given }
}

/** Returns a thing with defaults for what a test does not care about; its time is that of the store when it is written. */
export function thing(given: Partial<Thing> = {}): Thing {
  return { tenant: 'acme', id: 'id-1', own: 'Q-1', facts: { trailer: 'open', miles: 12 }, at: SAMPLE_TIME, ...given }
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
    ...given,
  }
}

/** Returns everything that a scan yields, in one list. */
export async function scanned(store: Store, options: Parameters<Store['scan']>[0] = {}): Promise<readonly Link[]> {
  const links: Link[] = []
  for await (const page of store.scan(options)) links.push(...page)
  return links
}
