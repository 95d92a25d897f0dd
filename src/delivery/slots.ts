/** The result of a try, as far as its endpoint caused it; `none`: nothing was sent, or the gateway interrupted it. */
export type TryResult = 'delivered' | 'failed' | 'none'

/** Bounds the tries that are under way. */
export interface Slots {
  /** Returns how many more tries of a tenant may start now. */
  free(tenant: string): number
  take(tenant: string): void
  /** Frees a slot. Failed tries leave an endpoint fewer slots, down to one; each delivered event gives one back. */
  release(tenant: string, result: TryResult): void
  readonly underWay: () => number
}

export interface SlotOptions {
  /** The most tries of one tenant. @default 8 */
  readonly perTenant?: number
  /** The most tries of all tenants, besides one that every tenant has for itself. @default 64 */
  readonly shared?: number
}

const PER_TENANT = 8
const SHARED = 64

/** Makes the slots of a process. Every tenant has one of its own, which slow receivers of others cannot take. */
export function createSlots({ perTenant = PER_TENANT, shared = SHARED }: SlotOptions = {}): Slots {
  const taken = new Map<string, number>()
  const bounds = new Map<string, number>()
  const takenBy = (tenant: string) => taken.get(tenant) ?? 0
  const total = () => [...taken.values()].reduce((sum, count) => sum + count, 0)

  return {
    free(tenant) {
      const own = takenBy(tenant) === 0 ? 1 : 0
      const others = [...taken.values()].reduce((sum, count) => sum + Math.max(0, count - 1), 0)
      const left = (bounds.get(tenant) ?? perTenant) - takenBy(tenant)
      return Math.max(0, Math.min(left, own + shared - others))
    },
    take(tenant) {
      taken.set(tenant, takenBy(tenant) + 1)
    },
    release(tenant, result) {
      if (takenBy(tenant) <= 1) taken.delete(tenant)
      else taken.set(tenant, takenBy(tenant) - 1)
      if (result === 'none') return
      const bound = bounds.get(tenant) ?? perTenant
      const next = result === 'delivered' ? bound + 1 : Math.ceil(bound / 2)
      if (next >= perTenant) bounds.delete(tenant)
      else bounds.set(tenant, next)
    },
    underWay: total,
  }
}
