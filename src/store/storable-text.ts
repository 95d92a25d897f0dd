import type { Store, XrefWrite } from './store.ts'

/** Tells if every engine keeps this text as it is: PostgreSQL refuses NUL, and half a surrogate pair is not UTF-8. */
export function isStorableText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}

/** Tells if a field of a record is text that an engine would refuse or, worse, change. */
function hasBadText(record: object): boolean {
  return Object.values(record).some((value) => typeof value === 'string' && !isStorableText(value))
}

const badText = () => new RangeError('Text with a NUL character or an unpaired surrogate cannot be stored.')

function checkText(record: object): void {
  if (hasBadText(record)) throw badText()
}

const hasBadName = ({ links, thing }: XrefWrite) => links.some(hasBadText) || (thing !== undefined && hasBadText(thing))

const areStorable = (one: string, other: string) => isStorableText(one) && isStorableText(other)

const NO_LINKS = Promise.resolve([])
const NO_THING = Promise.resolve(undefined)

/**
 * Wraps an engine: all engines then treat unstorable text alike. Writes reject it, and reads find nothing. Facts need
 * no check, because JSON escapes such text.
 */
export function withTextChecks(store: Store): Store {
  return {
    ...store,
    async unlink(links) {
      links.forEach(checkText)
      return store.unlink(links)
    },
    // Not `async`, because every call reads and writes.
    put: (write) => (hasBadName(write) ? Promise.reject(badText()) : store.put(write)),
    links: (tenant, name) => (areStorable(tenant, name) ? store.links(tenant, name) : NO_LINKS),
    thing: (tenant, id) => (areStorable(tenant, id) ? store.thing(tenant, id) : NO_THING),
    async load(links, options) {
      links.forEach(checkText)
      return store.load(links, options)
    },
    async claim(wanted) {
      checkText(wanted)
      return store.claim(wanted)
    },
    async change(claim, change, names) {
      checkText(change)
      if (names && hasBadName(names)) throw badText()
      return areStorable(claim.tenant, claim.key) ? store.change(claim, change, names) : undefined
    },
    async findClaim(tenant, key) {
      return areStorable(tenant, key) ? store.findClaim(tenant, key) : undefined
    },
    async claimByHandle(handle) {
      return isStorableText(handle) ? store.claimByHandle(handle) : undefined
    },
    async claimsOfShipment(tenant, shipment) {
      return shipment !== '' && areStorable(tenant, shipment) ? store.claimsOfShipment(tenant, shipment) : []
    },
    async listClaims(options) {
      return isStorableText(options.tenant ?? '') ? store.listClaims(options) : []
    },
    async audit(handle) {
      return isStorableText(handle) ? store.audit(handle) : []
    },
    async renewLease(instance, maxAgeMs) {
      checkText({ instance })
      return store.renewLease(instance, maxAgeMs)
    },
    async endLease(instance) {
      checkText({ instance })
      return store.endLease(instance)
    },
    async orphanClaims(silentForMs, by) {
      checkText({ by })
      return store.orphanClaims(silentForMs, by)
    },
    async addCounts(batch) {
      batch.calls.forEach(checkText)
      batch.names.forEach(checkText)
      return store.addCounts(batch)
    },
    async callCounts(tenant, fromDay) {
      return isStorableText(tenant) ? store.callCounts(tenant, fromDay) : []
    },
    async nameCounts(tenant) {
      return isStorableText(tenant) ? store.nameCounts(tenant) : []
    },
    noteUses: async (tenant, names) =>
      isStorableText(tenant) ? store.noteUses(tenant, names.filter(isStorableText)) : undefined,
    async exclusive(key, waitMs, work) {
      checkText({ key })
      return store.exclusive(key, waitMs, work)
    },
    async takeEvent(event) {
      checkText(event)
      return store.takeEvent(event)
    },
    async findEvent(id) {
      return isStorableText(id) ? store.findEvent(id) : undefined
    },
    async eventsOfShipment(tenant, shipment) {
      return areStorable(tenant, shipment) ? store.eventsOfShipment(tenant, shipment) : []
    },
    async shipmentsWithEvents(tenant, since, limit) {
      return isStorableText(tenant) ? store.shipmentsWithEvents(tenant, since, limit) : []
    },
    async listEvents(filter) {
      return isStorableText(filter.tenant ?? '') ? store.listEvents(filter) : []
    },
    async keepBody(event, body) {
      checkText(body)
      return store.keepBody(event, body)
    },
    async finishTry(event, outcome) {
      checkText(outcome)
      return store.finishTry(event, outcome)
    },
    replayEvents: async (ids) => store.replayEvents(ids.filter(isStorableText)),
    skipEvents: async (ids) => store.skipEvents(ids.filter(isStorableText)),
  }
}
