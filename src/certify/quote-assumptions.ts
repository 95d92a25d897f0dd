import { isUuid } from '../text/service-text.ts'
import { type About, ASK } from './about.ts'
import { type Area, type Assumption, CannotTell, confirmed, contradicted, decide } from './assumption.ts'
import { TRIP } from './samples.ts'
import { described, isDone, member, namesIn, type Seen, textOf, typeName } from './seen.ts'
import type { Trial } from './trial.ts'

const VEHICLE_TYPES = ['car', 'suv', 'van', 'truck', 'truck_ext', 'work_van', 'service_body']
const TRANSPORT_TYPES = ['open', 'enclosed']

const isQuote = (reply: Seen) => isDone(reply) && member(reply.body, 'price') !== undefined

/** Makes an assumption about the reply to a quote, which all of them share. */
function aboutReply(about: Omit<About, 'how'>, check: (reply: Seen) => ReturnType<typeof decide>): Assumption {
  return {
    ...about,
    how: 'Asks for a quote.',
    effect: 'quotes',
    requests: ASK,
    check: async (trial) => check((await trial.quote()).reply),
  }
}

/** Makes an assumption that the service takes each of several values of a field in a quote. */
function takesEach(about: Omit<About, 'how'>, field: string, values: readonly string[]) {
  return {
    ...about,
    how: `Asks for a quote with each ${field}: ${values.join(', ')}.`,
    effect: 'quotes',
    requests: ASK,
    check: async (trial: Trial) => {
      const refused: string[] = []
      for (const value of values) {
        const reply = await trial.askQuote({ [field]: value })
        if (!isQuote(reply)) refused.push(`${value}: ${described(reply)}`)
      }
      return refused.length === 0 ? confirmed(`all ${values.length} are taken`) : contradicted(refused.join('; '))
    },
  } as const
}

/** Makes an assumption that the service takes a quote with one changed field. */
function takes(about: About, change: Readonly<Record<string, string>>): Assumption {
  return {
    ...about,
    effect: 'quotes',
    requests: ASK,
    check: async (trial) => {
      const reply = await trial.askQuote(change)
      return decide(isQuote(reply), described(reply))
    },
  }
}

/** Assumptions about getting a quote. */
export const quotes: Area = {
  title: 'Quotes',
  assumptions: [
    {
      id: 'quote-by-post',
      sentence: 'POST /v2/quote with a JSON body gives a quote.',
      how: 'Asks for a quote by POST.',
      otherwise: 'Set V2_QUOTE_METHOD=GET; auto finds out by itself.',
      effect: 'quotes',
      requests: ['POST /v2/quote'],
      check: async (trial) => {
        const reply = await trial.ask('POST', '/v2/quote', { body: TRIP })
        return decide(isQuote(reply), described(reply))
      },
    },
    {
      id: 'quote-by-get',
      sentence: 'GET /v2/quote with a query gives a quote.',
      how: 'Asks for a quote by GET.',
      otherwise: 'Set V2_QUOTE_METHOD=POST; auto finds out by itself.',
      effect: 'quotes',
      requests: ['GET /v2/quote'],
      check: async (trial) => {
        const reply = await trial.ask('GET', `/v2/quote?${new URLSearchParams(TRIP)}`)
        return decide(isQuote(reply), described(reply))
      },
    },
    {
      id: 'quote-is-object',
      sentence: 'The reply to a quote is the quote itself, as a JSON object with `price`.',
      how: 'Asks for a quote.',
      otherwise: 'Every quote ends in a 502. Change the places of quote.get in a mapping of your own (MAPPINGS_DIR).',
      effect: 'quotes',
      requests: ASK,
      check: async (trial) => {
        const reply = await trial.askQuote()
        if (!isDone(reply)) throw new CannotTell(`a quote is answered ${described(reply)}`)
        return decide(member(reply.body, 'price') !== undefined, namesIn(reply.body))
      },
    },
    aboutReply(
      {
        id: 'quote-returns-shipment-id',
        sentence: 'A quote returns its id as `shipment_id`.',
        otherwise:
          'No number resolves after a quote. Change the id of quote.get in a mapping of your own (MAPPINGS_DIR).',
      },
      ({ body }) => decide(textOf(member(body, 'shipment_id')) !== '', namesIn(body)),
    ),
    aboutReply(
      {
        id: 'quote-id-is-uuid',
        sentence: 'The id of a quote is a UUID.',
        otherwise:
          'A caller that uses it as a number is understood only while the cross-reference knows it. Raise QUOTE_MEMORY.',
      },
      ({ body }) => {
        const id = textOf(member(body, 'shipment_id'))
        return decide(isUuid(id), id === '' ? 'no id' : isUuid(id) ? 'a UUID' : 'another form')
      },
    ),
    aboutReply(
      {
        id: 'price-is-number',
        sentence: 'The price of a quote is a JSON number.',
        otherwise:
          'Nothing, if it is a string of digits; else change the codec of `price` in a mapping of your own (MAPPINGS_DIR).',
      },
      ({ body }) => {
        const price = member(body, 'price')
        return decide(typeName(price) === 'a number', typeName(price))
      },
    ),
    aboutReply(
      {
        id: 'price-in-cents',
        sentence: 'A price has at most two decimal digits.',
        otherwise: 'Nothing: a `Cost` is rounded half up.',
      },
      ({ body }) => {
        const digits = /^\d+(?:\.(\d+))?$/.exec(textOf(member(body, 'price')))
        if (!digits) return contradicted('no decimal number')
        const count = (digits[1] ?? '').length
        return decide(count <= 2, count <= 2 ? 'at most two' : `${count} decimal digits`)
      },
    ),
    {
      id: 'quote-repeats',
      sentence: 'The same quote may be asked for again.',
      how: 'Asks for the same quote twice.',
      otherwise:
        'The gateway repeats a quote after a lost connection or a 503, which the service would refuse. Tell the service.',
      effect: 'quotes',
      requests: ASK,
      check: async (trial) => {
        const replies = [await trial.askQuote(), await trial.askQuote()]
        return decide(replies.every(isQuote), replies.map(described).join(', then '))
      },
    },
    takesEach(
      {
        id: 'vehicle-types-known',
        sentence: 'A quote takes each of the seven vehicle types.',
        otherwise:
          'Map the codes of callers to the types that are taken: `vehicle_types` in LOOKUPS_FILE, and DEFAULT_VEHICLE_TYPE.',
      },
      'vehicle_type',
      VEHICLE_TYPES,
    ),
    takesEach(
      {
        id: 'transport-types-known',
        sentence: 'A quote takes both transport types.',
        otherwise:
          'Set DEFAULT_TRANSPORT_TYPE to one that is taken, and change the choice in a mapping of your own (MAPPINGS_DIR).',
      },
      'transport_type',
      TRANSPORT_TYPES,
    ),
    takes(
      {
        id: 'quote-zip-leading-zero',
        sentence: 'A quote takes a postal code with a leading zero, as a string.',
        how: 'Asks for a quote to `02134`.',
        otherwise:
          'Trips in New England have no price. Change the codec of `delivery` in a mapping of your own (MAPPINGS_DIR).',
      },
      { delivery: '02134' },
    ),
    takes(
      {
        id: 'quote-zip-plus-four',
        sentence: 'A quote takes a postal code with its extension.',
        how: 'Asks for a quote to `33166-1234`.',
        otherwise: 'Callers must leave the extension out, or a mapping of your own cuts it (MAPPINGS_DIR).',
      },
      { delivery: '33166-1234' },
    ),
    takes(
      {
        id: 'quote-unknown-field',
        sentence: 'A quote with a field that the service does not know is not refused.',
        how: 'Asks for a quote with a further field, `transload_test`.',
        otherwise: 'A mapping of your own must not send fields that version 2 lacks.',
      },
      { transload_test: 'x' },
    ),
  ],
}
