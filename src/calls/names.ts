import type { Caller } from '../callers/caller.ts'
import type { Problem } from '../mapping/fields.ts'
import { type Draft, dropAt, placeOf } from '../mapping/paths.ts'
import type { KnownFacts } from '../mapping/request.ts'
import type { Xref } from '../xref/xref.ts'
import type { Found, Named } from './find.ts'
import type { Version1 } from './read-request.ts'

/** How the call names the thing it is about; undefined where it does not. */
export function namedIn(intake: Version1): Named | undefined {
  const { finds, service } = intake.compiled.action
  const names = namesIn(intake, finds?.by ?? [])
  if (names.length === 0) return undefined
  const manner = { newestWillDo: service.method === 'GET', changesVin: service.mergeInto === 'current' }
  return { names, vin: vinOf(intake), ...manner }
}

/** What is remembered of a quote. */
export interface Recalled {
  readonly facts: KnownFacts
  readonly own: string | undefined
}

/** The remembered quote that a field of the call may name. */
export async function recall(
  intake: Version1,
  { tenant }: Pick<Caller, 'tenant'>,
  xref: Xref,
): Promise<Recalled | undefined> {
  const { action } = intake.compiled
  if (action.finds) return undefined
  for (const [, name] of namesIn(intake, action.recalls ?? [])) {
    const quote = (await xref.known(tenant, name)).find(({ kind }) => kind === 'quote')
    // Who gave a quote no number was given its id for one.
    const id = quote?.id ?? name
    const { own, facts } = await xref.memory(tenant, id)
    if (quote || facts) return { facts: { ...facts, quote_id: id }, own }
  }
  return undefined
}

/** The facts of the quote that was found. */
export function quoteFacts({ id, facts, own }: Found): Recalled {
  return { facts: { ...facts, quote_id: id }, own }
}

/** A call that has to name something and names nothing. */
export function unnamed(intake: Version1): readonly Problem[] {
  const { compiled, fields } = intake
  const { finds } = compiled.action
  // A name that was sent and cannot be used is a problem of its own already.
  const named = finds?.by.some((field) => fields.values[compiled.fields.slotOf(field) ?? -1] !== undefined)
  if (!finds || named) return []
  const field = finds.by[0] ?? ''
  return [{ field, code: 'required', message: `${finds.by.join(' or ')} is required to name the ${finds.kind}` }]
}

/** The fields among these that were sent, with their values. */
export function namesIn(
  intake: Version1,
  fields: readonly string[],
): readonly (readonly [field: string, value: string])[] {
  return fields.flatMap((field) => {
    const value = intake.sent(field)
    return value === undefined ? [] : [[field, value] as const]
  })
}

/** The VIN that chooses, or tells apart, among several shipments of one name. */
export function vinOf(intake: Version1): string | undefined {
  const { finds, keeps } = intake.compiled.action
  const field = finds?.disambiguateBy ?? keeps?.disambiguateBy
  return field && intake.sent(field)
}

/** The caller's own number for the thing: of a quote the one it sent, of a shipment the one that is on record. */
export function ownNumber(intake: Version1, found: Found | undefined): string | undefined {
  const { finds } = intake.compiled.action
  return finds?.kind === 'shipment' ? found?.own : (intake.sent('ShipmentNumber') ?? found?.own)
}

/** A field that was needed to find the shipment is no change to it. */
export function withoutName(intake: Version1, body: Draft, by: string | undefined): Draft {
  const row = intake.compiled.action.request.find((candidate) => candidate.kind === 'move' && candidate.v1 === by)
  if (row?.kind !== 'move') return body
  const rest = structuredClone(body)
  dropAt(rest, placeOf(row.v2))
  return rest
}
