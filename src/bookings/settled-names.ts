import type { Answer } from '../answer.ts'
import { NAMES_OF } from '../store/kept-things.ts'
import type { Claim, GivenBy, Link, LinkToId, Store } from '../store/store.ts'

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
export async function giveNames(
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
export async function takeBackNames(claim: Claim, store: NamesStore): Promise<void> {
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
  return record === '' ? namesInReply(claim) : (JSON.parse(record) as SettledName[])
}

/** Returns the names of a settlement without a record: those of earlier versions had none. */
function namesInReply({ tenant, reference, vin, shipment: id, reply }: Claim): readonly SettledName[] {
  if (reply === '') return []
  // Only a settlement or the record of a booking writes it.
  const { headers } = JSON.parse(reply) as Answer
  const link = (name: string, givenBy: GivenBy) => ({ tenant, kind: 'shipment', name, vin, id, givenBy }) as const
  return [link(reference, 'caller'), link(String(headers['Transload-Shipment-Number'] ?? ''), 'service')]
}

async function currentOf({ tenant, name, kind, vin, givenBy }: LinkToId, store: NamesStore): Promise<Link | undefined> {
  const links = await store.links(tenant, name)
  return links.find((link) => link.kind === kind && link.vin === vin && link.givenBy === givenBy)
}
