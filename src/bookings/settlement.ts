import type { Answer } from '../http/answers.ts'
import type { Catalog } from '../mapping/catalog.ts'
import type { Settings } from '../mapping/settings.ts'
import type { Claim, Store } from '../store/store.ts'
import { createXref } from '../xref/xref.ts'

/** What became of a booking whose outcome was not known. */
export type Settlement = 'not-booked' | { readonly shipment: string; readonly number: string | undefined }

export interface SettlementDeps {
  readonly store: Store
  readonly catalog: Catalog
  readonly settings: Settings
  /** Who settles, for the audit trail. */
  readonly instance: string
  readonly now: () => number
}

/**
 * Settles an unknown booking, so that the caller's next retry gets the right answer; undefined if it is not unknown,
 * or not any more.
 */
export async function settle(claim: Claim, settlement: Settlement, deps: SettlementDeps): Promise<Claim | undefined> {
  if (claim.state !== 'unknown') return undefined
  const { store, instance, now } = deps
  if (settlement === 'not-booked') {
    return store.change(claim, { state: 'freed', instance, at: now(), why: 'settled: not booked' })
  }
  const { shipment, number } = settlement
  // The numbers first: once the claim says booked, a caller may ask for them.
  const names = [claim.reference, number ?? ''].filter((name) => name !== '')
  const xref = createXref(store, 0, now)
  await xref.write(claim.tenant, {
    kind: 'shipment',
    id: shipment,
    names,
    vin: claim.vin,
    own: undefined,
    facts: undefined,
  })
  const reply = JSON.stringify(answerOf(settlement, deps))
  return store.change(claim, { state: 'booked', instance, at: now(), shipment, reply, why: 'settled: booked' })
}

/** The answer that the booking would have had. */
function answerOf(
  { shipment, number }: Exclude<Settlement, 'not-booked'>,
  { catalog, settings }: SettlementDeps,
): Answer {
  const body = { id: shipment, ...(number && { number }) }
  const compiled = [...catalog.actions.values()].find(({ action }) => action.service.notIdempotent)
  const reply = compiled?.reply(body, { settings, own: undefined }).reply ?? {}
  return {
    status: 200,
    headers: { 'Transload-Shipment-Id': shipment, ...(number && { 'Transload-Shipment-Number': number }) },
    body: JSON.stringify(reply),
  }
}
