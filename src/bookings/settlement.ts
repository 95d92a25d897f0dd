import type { Answer } from '../answer.ts'
import type { Catalog } from '../mapping/catalog.ts'
import type { Draft } from '../mapping/paths.ts'
import type { Settings } from '../mapping/row.ts'
import { NAMES_OF } from '../store/pruning.ts'
import type { AuditEntry, Claim, ClaimState, GivenBy, Link, LinkToId, Store } from '../store/store.ts'
import { headerText } from '../text/service-text.ts'

/** The shipment that a booking made. */
export interface BookedShipment {
  readonly shipment: string
  readonly number: string | undefined
  /**
   * The shipment as the service shows it, for an answer with more than its numbers.
   * @default the numbers alone
   */
  readonly body?: Readonly<Draft>
}

/** The operator's decision on a booking with an unknown outcome. */
export type Settlement = 'not-booked' | BookedShipment

/** The result of an attempt to settle or reopen a booking. */
export type SettlementResult =
  | { readonly outcome: 'changed'; readonly claim: Claim }
  /** The booking is not in a state that allows it, or was changed in the meantime. */
  | { readonly outcome: 'wrong-state'; readonly state: ClaimState }
  /** Another booking has the shipment. */
  | { readonly outcome: 'taken'; readonly by: string }

export interface SettlementDeps {
  readonly store: Store
  readonly catalog: Catalog
  readonly settings: Settings
  /** The person or the gateway that settles, for the audit trail. */
  readonly instance: string
  /**
   * How the gateway itself found the shipment.
   * @default an operator settles
   */
  readonly healedBy?: HealedBy
}

/** How a gateway finds the shipment of a booking with an unknown outcome: by an event of the service, or by a sweep. */
export const HEALED_BY = ['webhook', 'sweep'] as const
export type HealedBy = (typeof HEALED_BY)[number]

/** The audit trail's reasons for settlements. A booking can be reopened only if one of them is its last entry. */
const SETTLED_AS_BOOKED = 'settled: booked'
const SETTLED_AS_NOT_BOOKED = 'settled: not booked'
const HEALED = 'healed: '
const REOPENED = 'reopened'

/** Returns how a gateway found the shipment of a booking, from its audit trail; undefined if none did. */
export function healedBy(audit: readonly AuditEntry[]): HealedBy | undefined {
  const last = audit.findLast(({ to }) => to === 'booked')
  return HEALED_BY.find((how) => last?.why === HEALED + how)
}

/** Tells if an operator took back the last settlement; then only an operator settles the booking again. */
export const isReopened = (audit: readonly AuditEntry[]): boolean => audit.at(-1)?.why === REOPENED

/** Settles an unknown booking: the caller's next retry is answered from the settlement. */
export function settle(claim: Claim, settlement: Settlement, deps: SettlementDeps): Promise<SettlementResult> {
  const { store, instance, healedBy: how } = deps
  return alone(claim, store, async () => {
    if (claim.state !== 'unknown') return { outcome: 'wrong-state', state: claim.state }
    // Of a settlement that was interrupted.
    await takeBackNames(claim, store)
    if (settlement === 'not-booked') {
      const change = { state: 'freed', instance, why: SETTLED_AS_NOT_BOOKED } as const
      return resultOf(await store.change(claim, change), claim, store)
    }
    const { shipment } = settlement
    const holder = (await holdersOf(claim.tenant, shipment, store)).find(({ handle }) => handle !== claim.handle)
    if (holder) return { outcome: 'taken', by: holder.handle }
    // The names come first: once the claim says booked, a caller may ask for them.
    await giveNames(claim, { ...settlement, quoteNumber: await quoteNumberOf(claim, store) }, store)
    const reply = JSON.stringify(answerOf(settlement, deps))
    const change = { state: 'booked', instance, shipment, reply, why: how ? HEALED + how : SETTLED_AS_BOOKED } as const
    const settled = await store.change(claim, change)
    if (!settled) await takeBackNames(claim, store)
    return resultOf(settled, claim, store)
  })
}

/**
 * Takes back a settlement that was wrong: the booking is unknown again, and its names stand for what they stood for before.
 * No other booking can be reopened.
 */
export function reopen(
  claim: Claim,
  { store, instance }: Pick<SettlementDeps, 'store' | 'instance'>,
): Promise<SettlementResult> {
  return alone(claim, store, async () => {
    const why = (await store.audit(claim.handle)).at(-1)?.why ?? ''
    if (why !== SETTLED_AS_BOOKED && why !== SETTLED_AS_NOT_BOOKED && !why.startsWith(HEALED)) {
      return { outcome: 'wrong-state', state: claim.state }
    }
    // The names come first: an interrupted attempt can be repeated.
    await takeBackNames(claim, store)
    const change = { state: 'unknown', instance, shipment: '', reply: '', why: REOPENED } as const
    return resultOf(await store.change(claim, change), claim, store)
  })
}

/** How long a settlement waits for another one of the same booking. */
const WAIT_MS = 10_000

/** Runs work on a claim that was not changed since it was read, while no other settlement of it runs. */
function alone(claim: Claim, store: Store, work: () => Promise<SettlementResult>): Promise<SettlementResult> {
  return store.exclusive(`settlement ${claim.handle}`, WAIT_MS, async () => {
    const current = await store.claimByHandle(claim.handle)
    return current?.version === claim.version ? work() : resultOf(undefined, claim, store)
  })
}

async function resultOf(changed: Claim | undefined, before: Claim, store: Store): Promise<SettlementResult> {
  if (changed) return { outcome: 'changed', claim: changed }
  const current = await store.claimByHandle(before.handle)
  return { outcome: 'wrong-state', state: current?.state ?? before.state }
}

/** Returns the bookings that have a shipment. */
export async function holdersOf(
  tenant: string,
  shipment: string,
  store: Pick<Store, 'claimsOfShipment'>,
): Promise<readonly Claim[]> {
  return (await store.claimsOfShipment(tenant, shipment)).filter(({ state }) => state === 'booked')
}

/** Returns the answer that the booking would have had. */
function answerOf(
  { shipment, number, body = { id: shipment, ...(number && { number }) } }: BookedShipment,
  { catalog, settings }: SettlementDeps,
): Answer {
  const compiled = [...catalog.actions.values()].find(({ action }) => action.service.notIdempotent)
  const reply = compiled?.reply(body, { settings, own: undefined }).reply ?? {}
  return {
    status: 200,
    headers: {
      'Transload-Shipment-Id': headerText(shipment),
      ...(number && { 'Transload-Shipment-Number': headerText(number) }),
    },
    body: JSON.stringify(reply),
  }
}

type NamesStore = Pick<Store, 'links' | 'put' | 'unlink' | 'thing'>

/** A name that a settlement gave to its shipment. */
interface SettledName extends LinkToId {
  /** The shipment that had the name until then. */
  readonly before?: Pick<Link, 'id' | 'at'> | undefined
}

/** The shipment of a settlement. */
interface Settled {
  readonly shipment: string
  readonly number: string | undefined
  /** The caller's number of the quote that the booking refers to. */
  readonly quoteNumber?: string | undefined
}

/**
 * Gives the reference of a booking, the number of its quote and that of its shipment to that shipment, and records what they stood for, in one
 * durable step.
 */
async function giveNames(
  claim: Claim,
  { shipment: id, number, quoteNumber }: Settled,
  store: NamesStore,
): Promise<void> {
  const { tenant, vin, reference } = claim
  const givers = new Map<string, GivenBy>()
  if (number !== undefined) givers.set(number, 'service')
  if (quoteNumber !== undefined) givers.set(quoteNumber, 'caller')
  if (reference !== '') givers.set(reference, 'caller')
  const names: SettledName[] = []
  for (const [name, givenBy] of givers) {
    const link = { tenant, kind: 'shipment', name, vin, id, givenBy } as const
    const found = await currentOf(link, store)
    names.push({ ...link, ...(found && { before: { id: found.id, at: found.at } }) })
  }
  const links = names.map(({ before: _, ...link }) => link)
  await store.put({ links, thing: recordOf(claim, JSON.stringify(names)) })
}

/** Gives the names of a settlement back to what they stood for, except those that were given to something else since. */
async function takeBackNames(claim: Claim, store: NamesStore): Promise<void> {
  const names = await namesOf(claim, store)
  for (const { before, ...link } of names) {
    const found = await currentOf(link, store)
    if (found && found.id !== link.id) continue
    // Otherwise its time could not go back, and it would count as the newest of several.
    await store.unlink([link])
    if (before) await store.put({ links: [{ ...link, ...before }] })
  }
  if (names.length > 0) await store.put({ links: [], thing: recordOf(claim, '') })
}

const recordId = ({ handle }: Claim) => NAMES_OF + handle

const recordOf = (claim: Claim, own: string) => ({ tenant: claim.tenant, id: recordId(claim), own, facts: null })

async function namesOf(claim: Claim, store: NamesStore): Promise<readonly SettledName[]> {
  const record = (await store.thing(claim.tenant, recordId(claim)))?.own ?? ''
  // `giveNames` wrote it.
  return record === '' ? [] : (JSON.parse(record) as SettledName[])
}

async function currentOf({ tenant, name, kind, vin, givenBy }: LinkToId, store: NamesStore): Promise<Link | undefined> {
  const links = await store.links(tenant, name)
  return links.find((link) => link.kind === kind && link.vin === vin && link.givenBy === givenBy)
}

/**
 * Returns the caller's own number of the quote that a booking refers to, which stands for the booking, too. Undefined if
 * there is none, it is the reference, or another booking of this VIN has it.
 */
async function quoteNumberOf(
  { tenant, reference, vin }: Claim,
  store: Pick<Store, 'links' | 'thing' | 'claimsOfShipment'>,
): Promise<string | undefined> {
  const quote = (await store.links(tenant, reference)).find(({ kind }) => kind === 'quote')
  const number = quote && (await store.thing(tenant, quote.id))?.own
  if (!number || number === reference) return undefined
  for (const link of await store.links(tenant, number)) {
    if (link.kind !== 'shipment' || link.givenBy !== 'caller' || link.vin !== vin) continue
    const claims = await store.claimsOfShipment(tenant, link.id)
    if (claims.some(({ state }) => state === 'booked')) return undefined
  }
  return number
}
