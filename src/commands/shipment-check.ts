import { randomUUID } from 'node:crypto'
import type { BookedShipment } from '../bookings/settlement.ts'
import type { Config } from '../config/config.ts'
import { GatewayError } from '../errors.ts'
import { NoReply, type UpstreamReply } from '../service/exchange.ts'
import { openUpstream } from '../service/open.ts'
import { createService, isSuccess, readJson } from '../service/service.ts'
import type { Claim } from '../store/store.ts'
import { ownAccounts } from './accounts.ts'
import { CommandFailed } from './failures.ts'

/** Asks the service for the shipment of a booking; throws `CommandFailed` unless it is plainly that booking's. */
export async function checkShipment(
  claim: Claim,
  { shipment, number }: BookedShipment,
  config: Config,
): Promise<BookedShipment> {
  const reply = await read(claim.tenant, shipment, config)
  if (reply.status === 404 || reply.status === 410) throw unconfirmed(`the service knows no shipment ${shipment}`)
  if (!isSuccess(reply.status)) throw unconfirmed(`the service answers ${reply.status} for shipment ${shipment}`)
  const found = shipmentIn(reply)
  if (found?.id.toLowerCase() !== shipment.toLowerCase()) {
    throw unconfirmed(`the service answers something else than shipment ${shipment}`)
  }
  if (found.status === 'canceled') {
    throw unconfirmed(`shipment ${shipment} is canceled; settle the booking as --not-booked`)
  }
  if (claim.reference !== '' && found.reference !== '' && found.reference !== claim.reference) {
    throw unconfirmed(`shipment ${shipment} has the reference ${found.reference}, and the booking ${claim.reference}`)
  }
  if (number !== undefined && found.number !== '' && number !== found.number) {
    throw unconfirmed(`shipment ${shipment} has the number ${found.number}, not ${number}`)
  }
  return { shipment: found.id, number: number ?? (found.number || undefined) }
}

function unconfirmed(reason: string): CommandFailed {
  return new CommandFailed(`${reason}. Nothing is settled; --unchecked settles without asking the service`)
}

async function read(tenant: string, shipment: string, config: Config): Promise<UpstreamReply> {
  const accounts = await ownAccounts(config)
  if (accounts.length === 0) {
    throw unconfirmed('in client mode the gateway has no credential of its own to ask the service with')
  }
  const own = accounts.find((account) => account.tenant === tenant)
  if (!own) throw unconfirmed(`the booking belongs to ${tenant}, for whom the configuration has no credential`)
  const upstream = openUpstream(config)
  try {
    return await createService(config, upstream).send(
      { method: 'GET', path: `/v2/shipments/${encodeURIComponent(shipment)}`, namesAnId: true },
      {
        account: own.open(upstream, own.scheme),
        requestId: randomUUID(),
        deadline: performance.now() + config.UPSTREAM_TIMEOUT_MS,
      },
    )
  } catch (error) {
    if (error instanceof NoReply) throw unconfirmed(`the service does not answer (${error.silence})`)
    if (error instanceof GatewayError) throw unconfirmed(`the service cannot be asked: ${error.message}`)
    throw error
  } finally {
    await upstream.close()
  }
}

/** Reads the facts that tell a shipment; undefined where the reply is not one. */
function shipmentIn(reply: UpstreamReply) {
  const body = jsonIn(reply)
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return undefined
  const text = (name: string): string => {
    const value: unknown = Reflect.get(body, name)
    return typeof value === 'string' || typeof value === 'number' ? String(value).trim() : ''
  }
  return { id: text('id'), number: text('number'), status: text('status'), reference: text('external_id') }
}

function jsonIn(reply: UpstreamReply): unknown {
  try {
    return readJson(reply)
  } catch (error) {
    if (error instanceof GatewayError) return undefined
    throw error
  }
}
