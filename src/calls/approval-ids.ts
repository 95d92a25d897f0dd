import { gatewayError } from '../errors.ts'
import { toGatewayError } from '../http/answers.ts'
import { vinKey, type Xref } from '../xref/xref.ts'
import { idAt, idsNamedIn, isSameId, NamedIds, type Shipment } from './verify.ts'

/*
 * The shipment of an approved quote has the quote's id. Where the reply to an approval names other ids, one of them may be that
 * of the shipment: they are kept, and the service is asked for each before a second shipment can be made.
 */

/** The most ids of one reply that are kept. */
const MAX_IDS = 4

/** Keeps the ids in a reply to an approval, or in the reply behind an error, that are not the quote's own. */
export async function keepIds(
  reply: unknown,
  quote: string,
  tenant: string,
  xref: Pick<Xref, 'setIdsInApproval'>,
): Promise<void> {
  const cause = reply instanceof Error ? toGatewayError(reply).cause : undefined
  const named = cause instanceof NamedIds ? cause.ids : idsNamedIn(reply)
  const others = [...new Set(named.filter((id) => !isSameId(id, quote)))].slice(0, MAX_IDS)
  if (others.length > 0) await xref.setIdsInApproval(tenant, quote, others)
}

/** The quote, and the names and the VIN by which a call knows it. */
export interface Asked {
  readonly quote: string
  readonly names: readonly string[]
  readonly vin: string | undefined
}

/**
 * Throws if a shipment that the reply to an approval named shows the reference or the VIN of something else: it must neither be
 * changed nor be told of as the quote's, and it proves that there is no other.
 */
export async function requireOfQuote(
  { id, body }: Shipment,
  { quote, names, vin }: Asked,
  tenant: string,
  xref: Pick<Xref, 'matches'>,
): Promise<void> {
  if (isSameId(id, quote)) return
  const reference = idAt(body, 'external_id')
  const isOurs =
    reference === undefined ||
    [...names, quote].includes(reference) ||
    (await xref.matches(tenant, reference)).some((match) => match.kind === 'quote' && match.id === quote)
  if (!isOurs) throw foreign('reference')
  const vehicles = Array.isArray(body['vehicles']) ? body['vehicles'] : []
  const vins = vehicles.flatMap((vehicle) => vinKey(idAt(vehicle, 'vin')) || [])
  if (vin !== undefined && vins.length > 0 && !vins.includes(vinKey(vin))) throw foreign('VIN')
}

const foreign = (what: string) =>
  gatewayError('reply-doubtful', { fault: `the approval named a shipment of another ${what}` })
