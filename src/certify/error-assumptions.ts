import { NO_SHIPMENT } from '../service/acceptance.ts'
import { serviceMessage } from '../service/error-message.ts'
import { type Area, CannotTell, contradicted, decide } from './assumption.ts'
import { described, isDone, isRefused, isUnknown, typeName } from './seen.ts'
import type { Trial } from './trial.ts'

const READ = 'GET /v2/shipments/{shipment_id}'

/** Asks for a quote from nowhere, which the service must refuse. */
const wrongQuote = (trial: Trial) => trial.askQuote({ pickup: '' })

/** Assumptions about refusals. */
export const errors: Area = {
  title: 'Errors',
  assumptions: [
    {
      id: 'unknown-shipment-404',
      sentence: 'A read of an unknown id is answered with 404 or 410.',
      how: 'Reads a shipment with an unknown UUID.',
      otherwise: 'In client mode no new credential is proven, and bookings wait: use V2_CLIENT_ID or TENANTS_FILE.',
      effect: 'reads',
      requests: [READ],
      check: async (trial) => {
        const reply = await trial.ask('GET', `/v2/shipments/${NO_SHIPMENT}`)
        return decide(isUnknown(reply), described(reply))
      },
    },
    {
      id: 'unknown-number-404',
      sentence: 'A read of an unknown number that is no UUID is answered with 404 or 410.',
      how: 'Reads a shipment by the name `transload-no-such-number`.',
      otherwise:
        'Callers get the refusal of the service for a number that they mistype. Import known numbers with xref import.',
      effect: 'reads',
      requests: [READ],
      check: async (trial) => {
        const reply = await trial.ask('GET', '/v2/shipments/transload-no-such-number')
        return decide(isUnknown(reply), described(reply))
      },
    },
    {
      id: 'unknown-path-404',
      sentence: 'A path that does not exist is answered with 404 or 405.',
      how: 'Reads /v2/transload-no-such-path.',
      otherwise: 'The gateway cannot find the right spelling by itself. Set V2_QUOTE_METHOD and V2_SHIPMENT_PATH.',
      effect: 'reads',
      requests: ['GET /v2/transload-no-such-path'],
      check: async (trial) => {
        const reply = await trial.ask('GET', '/v2/transload-no-such-path')
        return decide(reply.status === 404 || reply.status === 405, described(reply))
      },
    },
    {
      id: 'invalid-quote-4xx',
      sentence: 'A quote with an invalid field is refused with a 4xx status.',
      how: 'Asks for a quote with an empty `pickup`.',
      otherwise: 'Callers get a price for a trip that they did not ask for, or a 502. Tell the service.',
      effect: 'quotes',
      requests: ['POST /v2/quote', 'GET /v2/quote'],
      check: async (trial) => {
        const reply = await wrongQuote(trial)
        return decide(isRefused(reply), described(reply))
      },
    },
    {
      id: 'error-message',
      sentence: 'A refusal has a message that the gateway can find.',
      how: 'Asks for a quote with an empty `pickup`, and looks for a message in the body of the refusal.',
      otherwise: 'Callers get a general message. Nothing to set.',
      effect: 'quotes',
      requests: ['POST /v2/quote', 'GET /v2/quote'],
      check: async (trial) => {
        const reply = await wrongQuote(trial)
        if (isDone(reply)) throw new CannotTell(`an invalid quote is answered ${described(reply)}`)
        return decide(serviceMessage(reply.bytes) !== undefined, described(reply))
      },
    },
    {
      id: 'error-names-field',
      sentence: 'A refusal names the field that is wrong.',
      how: 'Asks for a quote with an empty `pickup`, and looks for the word `pickup` in the body of the refusal.',
      otherwise: 'A `Message` cannot tell callers which of their fields is wrong. Nothing to set.',
      effect: 'quotes',
      requests: ['POST /v2/quote', 'GET /v2/quote'],
      check: async (trial) => {
        const reply = await wrongQuote(trial)
        if (isDone(reply)) throw new CannotTell(`an invalid quote is answered ${described(reply)}`)
        const isNamed = /pickup/i.test(serviceMessage(reply.bytes) ?? '')
        return decide(
          isNamed,
          `${described(reply)}, ${isNamed ? 'which names the field' : 'which does not name the field'}`,
        )
      },
    },
    {
      id: 'broken-json-4xx',
      sentence: 'A body that is not JSON is refused with a 4xx status.',
      how: 'Sends half of a JSON object to POST /v2/quote.',
      otherwise: 'Callers of /v2/ get a 5xx for their own mistake. Nothing to set.',
      effect: 'quotes',
      requests: ['POST /v2/quote'],
      check: async (trial) => {
        const reply = await trial.ask('POST', '/v2/quote', { body: '{"pickup":' })
        if (reply.status === 404 || reply.status === 405) throw new CannotTell('the service takes quotes by GET only')
        return isDone(reply) ? contradicted(described(reply)) : decide(isRefused(reply), described(reply))
      },
    },
    {
      id: 'error-is-json',
      sentence: 'The body of a refusal is a JSON object.',
      how: 'Reads a shipment with an unknown UUID.',
      otherwise: 'A plain text is quoted to callers as it is, and HTML is not quoted. Nothing to set.',
      effect: 'reads',
      requests: [READ],
      check: async (trial) => {
        const reply = await trial.ask('GET', `/v2/shipments/${NO_SHIPMENT}`)
        return decide(typeName(reply.body) === 'an object', described(reply))
      },
    },
  ],
}
