import type { Store } from './store.ts'

/** Tells if every engine keeps this text as it is: PostgreSQL refuses NUL, and half a surrogate pair is not UTF-8. */
export function isStorableText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}

/** Throws for text that an engine would refuse or, worse, change. */
function checkText(record: object): void {
  for (const value of Object.values(record)) {
    if (typeof value === 'string' && !isStorableText(value)) {
      throw new RangeError('Text with a NUL character or an unpaired surrogate cannot be stored.')
    }
  }
}

/**
 * Wraps an engine so that all engines treat unstorable text alike: writes reject it, and reads find nothing. Facts need
 * no check, because JSON escapes such text.
 */
export function withTextChecks(store: Store): Store {
  return {
    ...store,
    async put(write) {
      write.links.forEach(checkText)
      if (write.thing) checkText(write.thing)
      return store.put(write)
    },
    async links(tenant, name) {
      return isStorableText(tenant) && isStorableText(name) ? store.links(tenant, name) : []
    },
    async thing(tenant, id) {
      return isStorableText(tenant) && isStorableText(id) ? store.thing(tenant, id) : undefined
    },
    async load(links, options) {
      links.forEach(checkText)
      return store.load(links, options)
    },
    async claim(wanted) {
      checkText(wanted)
      return store.claim(wanted)
    },
    async change(claim, change) {
      checkText(change)
      return isStorableText(claim.tenant) && isStorableText(claim.key) ? store.change(claim, change) : undefined
    },
    async findClaim(tenant, key) {
      return isStorableText(tenant) && isStorableText(key) ? store.findClaim(tenant, key) : undefined
    },
    async claimByHandle(handle) {
      return isStorableText(handle) ? store.claimByHandle(handle) : undefined
    },
    async claimsOfShipment(tenant, shipment) {
      return shipment !== '' && isStorableText(tenant) && isStorableText(shipment)
        ? store.claimsOfShipment(tenant, shipment)
        : []
    },
    async listClaims(options) {
      return isStorableText(options.tenant ?? '') ? store.listClaims(options) : []
    },
    async audit(handle) {
      return isStorableText(handle) ? store.audit(handle) : []
    },
    async beat(instance) {
      checkText({ instance })
      return store.beat(instance)
    },
    async leave(instance) {
      checkText({ instance })
      return store.leave(instance)
    },
    async orphan(silentForMs, by) {
      checkText({ by })
      return store.orphan(silentForMs, by)
    },
  }
}
