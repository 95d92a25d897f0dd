import { GatewayError } from '../errors.ts'
import { refusal } from '../service/failures.ts'
import { isSuccess, type Sending, type Service } from '../service/service.ts'
import type { Xref } from '../xref/xref.ts'
import { type Found, foundId, lookUp, NOTHING_FOUND, type SeveralMatches } from './look-up.ts'
import { namingOf } from './names.ts'
import type { Version1 } from './read-request.ts'
import { shipmentRead } from './service-request.ts'
import { type Shipment, shipmentNamed } from './verify.ts'

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
  if (known && 'newest' in known) throw await severalMatches(known, sending, deps.service)
  return known ?? askForNamed(request, tenant, sending, deps)
}

/** Lists the VINs only to a credential that the service accepts for one of the shipments. */
async function severalMatches(
  { message, newest }: SeveralMatches,
  sending: Sending,
  service: Service,
): Promise<GatewayError> {
  const reply = await service.send(shipmentRead(newest), sending)
  return reply.status === 401 || reply.status === 403 ? refusal(reply) : new GatewayError('several-matches', message)
}

/** A value that the service may be asked for; any other could be more than one segment of a path. */
const PLAIN = /^(?!\.+$)[A-Za-z0-9._-]{1,64}$/

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
      const shipment = PLAIN.test(value) ? await askFor(value, sending, service) : undefined
      if (!shipment) continue
      const { id } = shipment
      // The service knows it by that name, and nobody here has used it before.
      const record = { kind, id, names: [], serviceNames: [value], vin: '', own: undefined, facts: undefined }
      await xref.write(tenant, record)
      return { ...(await foundId(id, field, tenant, xref)), isShipment: true, shipment }
    }
  }
  const all = names.map(([field, value]) => `${field} ${value}`).join(' or ')
  throw new GatewayError('number-unknown', `No ${kind} is known by ${all}. Check the number.`)
}

/** Statuses that the service may return for something that is not an id. */
const NOT_FOUND = new Set([400, 404, 405, 410, 422])

async function askFor(name: string, sending: Sending, service: Service): Promise<Shipment | undefined> {
  const reply = await service.send(shipmentRead(name), sending)
  if (isSuccess(reply.status)) return shipmentNamed(reply, name)
  if (NOT_FOUND.has(reply.status)) return undefined
  throw refusal(reply)
}
