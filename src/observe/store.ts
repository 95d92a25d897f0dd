import type { Store } from '../store/store.ts'
import { currentCall } from './call.ts'
import type { Meters } from './meters.ts'
import { type Gauge, gauge } from './metrics.ts'

/** A store whose operations are timed. */
interface ObservedStore {
  readonly store: Store
  /** The operations that are waiting for the store. */
  readonly pending: Gauge
}

/** Times every operation of a store: for the metrics, and for the call that waits for it. */
export function observeStore(store: Store, { countStore }: Pick<Meters, 'countStore'>): ObservedStore {
  let pending = 0

  function begin(operation: string): (error?: unknown) => void {
    const call = currentCall()
    const endSpan = call?.trace?.beginStore(operation)
    const startedAt = performance.now()
    pending += 1
    return (error) => {
      pending -= 1
      const ms = performance.now() - startedAt
      countStore(operation, ms)
      if (call) call.storeMs += ms
      endSpan?.(error)
    }
  }

  function timed<Args extends readonly unknown[], Result>(
    operation: string,
    work: (...args: Args) => Promise<Result>,
  ): (...args: Args) => Promise<Result> {
    return async (...args) => {
      const end = begin(operation)
      try {
        const result = await work(...args)
        end()
        return result
      } catch (error) {
        end(error)
        throw error
      }
    }
  }

  const observed: Store = {
    ...store,
    put: timed('put', store.put),
    unlink: timed('unlink', store.unlink),
    // Only a server makes these wait; other engines answer them at once, in this thread.
    ...(store.engine === 'postgres' && { links: timed('links', store.links), thing: timed('thing', store.thing) }),
    forget: timed('forget', store.forget),
    load: timed('load', store.load),
    claim: timed('claim', store.claim),
    change: timed('change', store.change),
    findClaim: timed('find-claim', store.findClaim),
    claimByHandle: timed('claim-by-handle', store.claimByHandle),
    claimsOfShipment: timed('claims-of-shipment', store.claimsOfShipment),
    listClaims: timed('list-claims', store.listClaims),
    audit: timed('audit', store.audit),
    renewLease: timed('renew-lease', store.renewLease),
    endLease: timed('end-lease', store.endLease),
    prune: timed('prune', store.prune),
    noteUses: timed('note-uses', store.noteUses),
    orphanClaims: timed('orphan-claims', store.orphanClaims),
    takeEvent: timed('take-event', store.takeEvent),
    eventsOfShipment: timed('events-of-shipment', store.eventsOfShipment),
    shipmentsWithEvents: timed('shipments-with-events', store.shipmentsWithEvents),
    leaseEvents: timed('lease-events', store.leaseEvents),
    finishTry: timed('finish-try', store.finishTry),
    // The work under the lock is not the store's time.
    exclusive: async (key, waitMs, work) => {
      let end: (() => void) | undefined = begin('lock')
      const ended = () => {
        end?.()
        end = undefined
      }
      try {
        return await store.exclusive(key, waitMs, (isHeld) => {
          ended()
          return work(isHeld)
        })
      } finally {
        ended()
      }
    },
  }
  return {
    store: observed,
    pending: gauge('transload_store_operations_under_way', 'Operations that wait for the store.', () => pending),
  }
}
