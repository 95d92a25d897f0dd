import { gatewayError } from '../errors.ts'
import { refusal } from '../service/failures.ts'
import { isSuccess, type Sending, type Service } from '../service/service.ts'
import { isPlainId } from '../text/service-text.ts'
import { vinKey, type Xref } from '../xref/xref.ts'
import {
  chooseShipment,
  type Found,
  foundId,
  foundMatch,
  lookUp,
  NOTHING_FOUND,
  type SeveralMatches,
} from './look-up.ts'
import { namingOf, numberUnknown } from './names.ts'
import type { Version1 } from './read-request.ts'
import { shipmentRead } from './service-request.ts'
import { idAt, isGone, type Shipment, shipmentIfRead, shipmentNamed } from './verify.ts'

/** The dependencies of a search. */
export interface FindDeps {
  readonly xref: Xref
  readonly service: Service
}

/** Finds what a call names: in the cross-reference, else as an id, else by asking the service. */
export function findTarget(
  request: Version1,
  tenant: string,
  sending: Sending,
  deps: FindDeps,
): Found | Promise<Found> {
  const { target, quoteNamedBy } = request.compiled.action
  return target || quoteNamedBy ? find(request, tenant, sending, deps) : NOTHING_FOUND
}

async function find(request: Version1, tenant: string, sending: Sending, deps: FindDeps): Promise<Found> {
  const known = await lookUp(request, tenant, deps.xref)
  if (known && 'shipments' in known) return chooseLive(known, request, tenant, sending, deps)
  if (known?.isVinUnknown) await requireVin(known, request, sending, deps.service)
  return known ?? askForNamed(request, tenant, sending, deps)
}

/** Throws if a cancellation sends a VIN that is not one of the shipment's. */
async function requireVin({ id = '' }: Found, request: Version1, sending: Sending, service: Service): Promise<void> {
  const { vin, newestWillDo, changesVin } = namingOf(request) ?? {}
  if (vin === undefined || newestWillDo || changesVin) return
  const vehicles = shipmentIfRead(await service.send(shipmentRead(id), sending), id)?.body['vehicles']
  const vins = (Array.isArray(vehicles) ? vehicles : []).flatMap((vehicle) => vinKey(idAt(vehicle, 'vin')) || [])
  if (vins.length > 0 && !vins.includes(vinKey(vin)))
    throw gatewayError('several-matches/vin', { vins: vins.join(', ') })
}

/** The most shipments of one name that are read; beyond it, the caller has to send the VIN. */
const MAX_READS = 10

/**
 * Chooses among several shipments of one name those that are not canceled. Throws if they are still several; their VINs
 * are listed only to a credential that the service accepts for them.
 */
async function chooseLive(
  several: SeveralMatches,
  request: Version1,
  tenant: string,
  sending: Sending,
  { xref, service }: FindDeps,
): Promise<Found> {
  const { shipments, name } = several
  const ids = new Set(shipments.map(({ id }) => id))
  const gone = new Set<string>()
  for (const id of ids.size > MAX_READS ? [...ids].slice(0, 1) : ids) {
    const reply = await service.send(shipmentRead(id), sending)
    if (reply.status === 401 || reply.status === 403) throw refusal(reply)
    if (isGone(reply, id)) gone.add(id)
  }
  const naming = namingOf(request)
  const live = shipments.filter(({ id }) => !gone.has(id))
  const chosen = naming && gone.size > 0 ? (chooseShipment(live, naming, name) ?? shipments[0]) : several
  if (!chosen || 'shipments' in chosen) throw severalMatches(chosen ?? several)
  const found = await foundMatch(chosen, name, tenant, xref)
  return several.isNamedByQuote ? { ...found, isNamedByQuote: true } : found
}

const severalMatches = ({ message, vins }: SeveralMatches) => gatewayError(message, { vins })

/** Asks the service for a shipment by the names of the call, and records the name that it knows. */
async function askForNamed(
  request: Version1,
  tenant: string,
  sending: Sending,
  { xref, service }: FindDeps,
): Promise<Found> {
  const kind = request.compiled.action.target?.kind
  const names = namingOf(request)?.names ?? []
  if (kind === 'shipment') {
    for (const [field, value] of names) {
      const shipment = isPlainId(value) ? await askFor(value, sending, service) : undefined
      if (!shipment) continue
      const { id } = shipment
      // The service knows the shipment by this name, and the cross-reference does not have it yet.
      const record = { kind, id, names: [], serviceNames: [value], vin: '', own: undefined, facts: undefined }
      await xref.write(tenant, record)
      return { ...(await foundId(id, field, tenant, xref)), isNamedByService: true, isShipment: true, shipment }
    }
  }
  throw numberUnknown(request)
}

/** Statuses that the service may return for something that is not an id. */
const NOT_FOUND = new Set([400, 404, 405, 410, 422])

async function askFor(name: string, sending: Sending, service: Service): Promise<Shipment | undefined> {
  const reply = await service.send(shipmentRead(name), sending)
  if (isSuccess(reply.status)) return shipmentNamed(reply, name)
  if (NOT_FOUND.has(reply.status)) return undefined
  throw refusal(reply)
}
