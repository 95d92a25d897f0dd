import { holdersOf } from '../bookings/settlement.ts'
import { isGone } from '../calls/verify.ts'
import { refusal } from '../service/failures.ts'
import { isSuccess } from '../service/service.ts'
import type { HealingDeps } from './healing.ts'
import { readShipment } from './read-shipment.ts'

/** The events after which a booking's shipment may be canceled; another carrier may take over what one has canceled. */
export const CANCELLATIONS: ReadonlySet<string> = new Set(['shipment.canceled', 'shipment.canceled_by_carrier'])

/**
 * Frees the key of the booking that has a shipment, if a read shows that the shipment is canceled: the service cancels
 * shipments by itself, too. Rejects if the service cannot be asked now.
 */
export type FreeCanceled = (tenant: string, shipment: string) => Promise<void>

/** Makes the function that frees keys after events. */
export function createFreeCanceled(deps: Omit<HealingDeps, 'unknownBookings' | 'catalog' | 'onHealed'>): FreeCanceled {
  const { store, credentials, instance, log } = deps
  return async (tenant, shipment) => {
    const own = credentials.ownCaller(tenant)
    const holders = own ? await holdersOf(tenant, shipment, store) : []
    if (!own || holders.length === 0) return
    for (const claim of holders) {
      // The event may spell the id in another case than the service knows it by.
      const reply = await readShipment(claim.shipment, own, deps)
      if (!isGone(reply, claim.shipment)) {
        if (isSuccess(reply.status)) continue
        throw refusal(reply)
      }
      const freed = await store.change(claim, { state: 'freed', instance, why: 'canceled' })
      if (freed) log.info({ booking: claim.handle, tenant, shipment }, 'a booking was canceled at the service')
    }
  }
}
