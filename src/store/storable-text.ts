import type { Store } from './store.ts'

/** Whether every engine keeps this text as it is: PostgreSQL refuses NUL, and half a surrogate pair is no UTF-8. */
function sound(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}

/** Rejects what an engine would refuse or, worse, store as another text. */
function demand(record: object): void {
  for (const value of Object.values(record)) {
    if (typeof value === 'string' && !sound(value)) {
      throw new RangeError('Text with a NUL character or half a character cannot be stored.')
    }
  }
}

/**
 * The same store for sound text alone, so that engines differ in nothing: unsound text is refused in writes and found
 * nowhere in reads. Facts need no check, for JSON escapes what is unsound.
 */
export function forSoundText(store: Store): Store {
  return {
    ...store,
    async put(write) {
      write.links.forEach(demand)
      if (write.thing) demand(write.thing)
      return store.put(write)
    },
    async links(tenant, name) {
      return sound(tenant) && sound(name) ? store.links(tenant, name) : []
    },
    async thing(tenant, id) {
      return sound(tenant) && sound(id) ? store.thing(tenant, id) : undefined
    },
    async load(links, options) {
      links.forEach(demand)
      return store.load(links, options)
    },
    async claim(wanted) {
      demand(wanted)
      return store.claim(wanted)
    },
    async change(claim, change) {
      demand(change)
      return sound(claim.tenant) && sound(claim.key) ? store.change(claim, change) : undefined
    },
    async findClaim(tenant, key) {
      return sound(tenant) && sound(key) ? store.findClaim(tenant, key) : undefined
    },
    async claimByHandle(handle) {
      return sound(handle) ? store.claimByHandle(handle) : undefined
    },
    async claimsOfShipment(tenant, shipment) {
      return shipment !== '' && sound(tenant) && sound(shipment) ? store.claimsOfShipment(tenant, shipment) : []
    },
    async listClaims(options) {
      return sound(options.tenant ?? '') ? store.listClaims(options) : []
    },
    async audit(handle) {
      return sound(handle) ? store.audit(handle) : []
    },
    async beat(instance) {
      demand({ instance })
      return store.beat(instance)
    },
    async leave(instance) {
      demand({ instance })
      return store.leave(instance)
    },
    async orphan(silentForMs, by) {
      demand({ by })
      return store.orphan(silentForMs, by)
    },
  }
}
