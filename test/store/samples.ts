import type { Link, NewClaim, Store, Thing } from '../../src/store/store.ts'

/** A link with what a test does not care about filled in. */
export function link(given: Partial<Link> = {}): Link {
  return { tenant: 'acme', kind: 'quote', name: 'Q-1', vin: '', id: 'id-1', at: 1_000, ...given }
}

/** A thing with what a test does not care about filled in. */
export function thing(given: Partial<Thing> = {}): Thing {
  return { tenant: 'acme', id: 'id-1', own: 'Q-1', facts: { trailer: 'open', miles: 12 }, at: 1_000, ...given }
}

/** A claim with what a test does not care about filled in; its handle follows from tenant and key. */
export function newClaim(given: Partial<NewClaim> = {}): NewClaim {
  const { tenant = 'acme', key = 'REF-1' } = given
  return {
    tenant,
    key,
    handle: `bk_${tenant}_${key}`,
    body: 'hash',
    instance: 'gateway-1',
    credential: 'credential',
    reference: key,
    vin: '',
    expires: 0,
    createdAt: 1_000,
    ...given,
  }
}

/** Everything that a scan yields, in one list. */
export async function scanned(store: Store, options: Parameters<Store['scan']>[0] = {}): Promise<readonly Link[]> {
  const links: Link[] = []
  for await (const page of store.scan(options)) links.push(...page)
  return links
}
