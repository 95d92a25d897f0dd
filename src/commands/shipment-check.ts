import { randomUUID } from 'node:crypto'
import type { BookedShipment } from '../bookings/settlement.ts'
import { idAt, isCanceled, shipmentWithId } from '../calls/verify.ts'
import type { Config } from '../config/config.ts'
import { GatewayError } from '../errors.ts'
import { NoReply, type UpstreamReply } from '../service/exchange.ts'
import { openUpstream } from '../service/open.ts'
import { createService, isSuccess } from '../service/service.ts'
import type { Claim } from '../store/store.ts'
import { scalarText } from '../text/json.ts'
import { FIELD_LIMIT, shownText } from '../text/service-text.ts'
import { ownAccounts } from './accounts.ts'
import { CommandFailed } from './failures.ts'

/**
 * Reads the shipment of a booking from the service; throws `CommandFailed` unless it clearly belongs to the booking.
 */
export async function checkShipment(
  claim: Claim,
  { shipment, number }: BookedShipment,
  config: Config,
): Promise<BookedShipment> {
  const reply = await read(claim.tenant, shipment, config)
  if (reply.status === 404 || reply.status === 410) throw unconfirmed(`the service knows no shipment ${shipment}`)
  if (!isSuccess(reply.status)) throw unconfirmed(`the service answers ${reply.status} for shipment ${shipment}`)
  const found = identityIn(reply, shipment)
  if (!found) throw unconfirmed(`the service answers something else than shipment ${shipment}`)
  if (found.isCanceled) throw unconfirmed(`shipment ${shipment} is canceled; settle the booking as --not-booked`)
  if (claim.reference !== '' && found.reference !== '' && found.reference !== claim.reference) {
    throw unconfirmed(`shipment ${shipment} has the reference ${found.reference}, and the booking ${claim.reference}`)
  }
  if (number !== undefined && found.number !== undefined && number !== found.number) {
    throw unconfirmed(`shipment ${shipment} has the number ${found.number}, not ${number}`)
  }
  return { shipment: found.id, number: number ?? found.number }
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

/** Returns the identifying fields of a reply; undefined if the reply is not the shipment with this id. */
function identityIn(reply: UpstreamReply, wanted: string) {
  try {
    const { id, body } = shipmentWithId(reply, wanted)
    const reference = shownText(scalarText(body['external_id']) ?? '', FIELD_LIMIT)
    return { id, number: idAt(body, 'number'), isCanceled: isCanceled(body), reference }
  } catch (error) {
    if (error instanceof GatewayError) return undefined
    throw error
  }
}
