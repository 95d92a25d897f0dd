import { NO_SHIPMENT } from '../service/acceptance.ts'
import { type Area, CannotTell, confirmed, contradicted, decide } from './assumption.ts'
import { TRIP } from './samples.ts'
import { described, isDone, isUnknown, member, namesIn, textOf } from './seen.ts'

const ASK = ['POST /v2/quote', 'GET /v2/quote']
const READ = 'GET /v2/shipments/{shipment_id}'
const BOOK = 'POST /v2/shipments'
const KIB = 1024
const BODY_SIZES_KIB = [1, 16, 64, 255]
/** The longest value that the gateway takes from a caller. */
const VALUE_CHARACTERS = 4096
const READS_IN_A_ROW = 20

/** Assumptions about sizes, rates and the transport, found without a load that anybody would notice. */
export const limits: Area = {
  title: 'Limits',
  assumptions: [
    {
      id: 'body-256-kib',
      sentence: 'A body of nearly 256 KiB is not refused for its size.',
      how: `Sends invalid quotes of ${BODY_SIZES_KIB.join(', ')} KiB, one each, up to the first that is refused for its size.`,
      otherwise: 'Set BODY_LIMIT_BYTES to the largest size that was taken: callers then get a clear 413.',
      effect: 'quotes',
      stageOnly: true,
      requests: ['POST /v2/quote'],
      check: async (trial) => {
        let largest = 0
        for (const size of BODY_SIZES_KIB) {
          const body = JSON.stringify({ ...TRIP, pickup: '', transload_test: '' })
          const padded = body.replace(
            '"transload_test":""',
            `"transload_test":"${'x'.repeat(size * KIB - body.length)}"`,
          )
          const { status } = await trial.ask('POST', '/v2/quote', { body: padded })
          if (status === 413) return contradicted(`413 at ${size} KiB; ${largest} KiB are taken`)
          if (status >= 500) return contradicted(`${status} at ${size} KiB; ${largest} KiB are taken`)
          largest = size
        }
        return confirmed(`${largest} KiB are taken`)
      },
    },
    {
      id: 'value-4-kib',
      sentence: 'A text of 4,096 characters is taken in a booking.',
      how: 'Books with `instructions` of 4,096 characters, and reads the shipment.',
      otherwise:
        'Long instructions of callers are refused or cut. Limit the field in a mapping of your own (MAPPINGS_DIR).',
      effect: 'bookings',
      requests: [BOOK, READ],
      check: async (trial) => {
        const reply = await trial.book({ instructions: 'x'.repeat(VALUE_CHARACTERS) })
        if (!isDone(reply)) return contradicted(described(reply))
        const shown = textOf(member(reply.body, 'instructions')).length
        return decide(shown === VALUE_CHARACTERS, `${shown} characters come back`)
      },
    },
    {
      id: 'reads-in-a-row',
      sentence: `${READS_IN_A_ROW} reads in a row are not limited.`,
      how: `Reads a shipment that does not exist ${READS_IN_A_ROW} times, one after the other, up to the first 429.`,
      otherwise:
        'Set the `limits` of tenants in TENANTS_FILE, or SOURCE_CALLS_PER_SECOND, below the rate that the service takes.',
      effect: 'reads',
      stageOnly: true,
      requests: [READ],
      check: async (trial) => {
        for (let no = 1; no <= READS_IN_A_ROW; no += 1) {
          const { status } = await trial.ask('GET', `/v2/shipments/${NO_SHIPMENT}`)
          if (status === 429) return contradicted(`429 at read ${no}`)
        }
        return confirmed('none is limited')
      },
    },
    {
      id: 'reply-is-utf-8',
      sentence: 'A reply is UTF-8.',
      how: 'Asks for a quote, and decodes the reply.',
      otherwise: 'Nothing: a reply that is not UTF-8 is read as Windows-1252.',
      effect: 'quotes',
      requests: ASK,
      check: async (trial) => {
        const { reply } = await trial.quote()
        const isUtf8 = reply.bytes.equals(Buffer.from(reply.bytes.toString('utf8')))
        return decide(isUtf8, isUtf8 ? 'UTF-8' : 'not UTF-8')
      },
    },
  ],
}

/** A version-1 body, with an invented trip. */
const LEGACY_QUOTE = {
  ActionName: 'Get Rate',
  ShipmentNumber: 'TRANSLOAD-TEST',
  EquipmentType: 'OPEN AUTO',
  TempShipFromPostalCode: TRIP.pickup,
  TempShipToPostalCode: TRIP.delivery,
}

/** Assumptions about the service's own handling of version 1, against which translations can be compared. */
export const version1: Area = {
  title: "The service's own version 1",
  assumptions: [
    {
      id: 'version-1-body',
      sentence: 'A version-1 body at POST /v2/quote is answered in version 1.',
      how: 'Sends a version-1 request for a quote to POST /v2/quote.',
      otherwise: 'Nothing: the gateway translates. Its answers cannot be compared with those of the service.',
      effect: 'quotes',
      requests: ['POST /v2/quote'],
      check: async (trial) => {
        const reply = await trial.ask('POST', '/v2/quote', { body: LEGACY_QUOTE })
        return decide(
          isDone(reply) && member(reply.body, 'Cost') !== undefined,
          isDone(reply) ? namesIn(reply.body) : described(reply),
        )
      },
    },
    {
      id: 'version-1-path',
      sentence: 'The service answers the version-1 paths.',
      how: 'Sends a version-1 request for a quote to POST /getShippingQuote.php.',
      otherwise: 'Nothing: the gateway answers these paths itself.',
      effect: 'quotes',
      requests: ['POST /getShippingQuote.php'],
      check: async (trial) => {
        const reply = await trial.ask('POST', '/getShippingQuote.php', { body: LEGACY_QUOTE })
        if (isUnknown(reply)) return contradicted(described(reply))
        if (!isDone(reply)) throw new CannotTell(`it is answered ${described(reply)}`)
        return decide(member(reply.body, 'Cost') !== undefined, namesIn(reply.body))
      },
    },
  ],
}
