import { isCanceled } from '../calls/verify.ts'
import { NO_SHIPMENT } from '../service/account.ts'
import { isUuid, serviceId } from '../text/service-text.ts'
import {
  CannotTell,
  decide,
  described,
  done,
  type Finding,
  formOf,
  is,
  isDone,
  isRefused,
  isUnknown,
  member,
  namesIn,
  type Seen,
  textIn,
  textOf,
  typeName,
} from './seen.ts'
import { bookingBody, INSTRUCTIONS, OTHER_VIN, type TestShipment, TRIP, type Trial, updateBody, VIN } from './trial.ts'

/** Something that the gateway takes for granted about the service, and a way to try it. */
export interface Assumption {
  readonly id: string
  readonly sentence: string
  /** How it is tried. */
  readonly how: string
  /** The remedy of the operator if the service contradicts it: a setting, a mapping, or nothing. */
  readonly otherwise: string
  /** Every request that the check may send. */
  readonly requests: readonly string[]
  /** The most that trying it does at the service. A quote is not binding; a booking is canceled again. */
  readonly effect: 'reads' | 'quotes' | 'bookings'
  /** True if trying it is a burden or a risk that belongs on the stage address only. */
  readonly stageOnly: boolean
  readonly check: Check
}

type Check = (trial: Trial) => Promise<Finding>

/** Assumptions about one part of the service. */
export interface Area {
  readonly title: string
  readonly assumptions: readonly Assumption[]
}

/** Makes a row of the table. */
const assume = (
  id: string,
  sentence: string,
  how: string,
  otherwise: string,
  requests: readonly string[],
  check: Check,
  stageOnly = false,
): Assumption => {
  const makes = (pattern: RegExp) => requests.some((request) => pattern.test(request))
  const books = makes(/^(POST|PUT|DELETE) \/v2\/shipment|approve$/)
  const effect = books ? 'bookings' : makes(/quote/i) ? 'quotes' : 'reads'
  return { id, sentence, how, otherwise, requests, effect, stageOnly, check }
}

const TOKEN = ['POST /oauth2/token']
const ASK_BY_POST = ['POST /v2/quote']
const ASK_BY_GET = ['GET /v2/quote']
const ASK = [...ASK_BY_POST, ...ASK_BY_GET]
const CHANGE = 'PUT /v2/quote/{quote_id}'
const APPROVE = 'POST /v2/quote/{quote_id}/approve'
const BOOK = 'POST /v2/shipments'
const READ = 'GET /v2/shipments/{shipment_id}'
const UPDATE = 'PUT /v2/shipments/{shipment_id}'
const CANCEL = 'DELETE /v2/shipments/{shipment_id}'

/** Checks the reply to one request. */
const replies =
  (ask: (trial: Trial) => Promise<Seen>, isExpected: (reply: Seen) => boolean): Check =>
  async (trial) => {
    const reply = await ask(trial)
    return decide(isExpected(reply), described(reply))
  }

/** Checks the reply to a quote that several checks share. */
const quoted =
  (check: (reply: Seen) => Finding): Check =>
  async (trial) =>
    check((await trial.quote()).reply)

type OfShipment = (shipment: TestShipment, trial: Trial) => Finding | Promise<Finding>

/** Checks a booking that several checks share; they only read it. */
const booked =
  (check: OfShipment): Check =>
  async (trial) =>
    check(await trial.shipment(), trial)

/** Checks a booking of its own, which it changes. */
const bookedAnew =
  (check: OfShipment): Check =>
  async (trial) =>
    check(await trial.newShipment(), trial)

/** Decides by the id that a reply names, if it has one. */
const sameId = (named: string, id: string): Finding =>
  decide(named === '' || named === id, named === '' ? 'no id' : 'the same id', 'another id')

/** Reads a shipment that does not exist, which is harmless. */
const readNone = (trial: Trial, authorization?: string | null) =>
  trial.ask('GET', `/v2/shipments/${NO_SHIPMENT}`, { authorization })
const isLetIn = ({ status }: Seen) => status !== 401 && status !== 403

async function askToken(trial: Trial, authorization = trial.basic): Promise<Seen> {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  const body = 'grant_type=client_credentials'
  const reply = await trial.ask('POST', '/oauth2/token', { authorization, headers, body })
  if (is(404, 405)(reply)) throw new CannotTell('there is no token endpoint yet')
  return authorization === trial.basic ? done('it', reply) : reply
}

const access: readonly Assumption[] = [
  assume(
    'basic-accepted',
    'The service accepts Basic authentication.',
    'Reads a shipment that does not exist, with the credential as Basic authentication.',
    'Set V2_TOKEN=oauth2, or auto.',
    [READ],
    replies((trial) => readNone(trial, trial.basic), isLetIn),
  ),
  assume(
    'wrong-secret-401',
    'A wrong secret is answered with 401.',
    'Reads a shipment that does not exist, with a wrong secret.',
    'In client mode, a caller with a wrong secret gets the status of the service instead of 401; set TENANTS_FILE if callers must tell them apart.',
    [READ],
    replies((trial) => readNone(trial, trial.wrongCredential), is(401)),
  ),
  assume(
    'wrong-secret-before-404',
    'A wrong secret is refused before the service looks for a shipment: no 404 to a stranger.',
    'Reads a shipment that does not exist, with a wrong secret.',
    'In client mode, a 404 or 410 to a read counts as the proof of a credential, so a stranger would be accepted. Use V2_CLIENT_ID or TENANTS_FILE.',
    [READ],
    replies(
      (trial) => readNone(trial, trial.wrongCredential),
      (reply) => !isUnknown(reply) && !isDone(reply),
    ),
  ),
  assume(
    'challenge',
    'A 401 names the scheme that the service wants, in `WWW-Authenticate`.',
    'Reads a shipment that does not exist, with a wrong secret.',
    'V2_TOKEN=auto cannot notice when the service wants tokens. Set V2_TOKEN=basic or oauth2.',
    [READ],
    async (trial) => {
      const reply = await readNone(trial, trial.wrongCredential)
      if (reply.status !== 401) throw new CannotTell(`a wrong secret is answered ${described(reply)}`)
      const isThere = reply.headers['www-authenticate'] !== undefined
      return decide(isThere, '401 with a challenge', '401 without a challenge')
    },
  ),
  assume(
    'token-given',
    'The token endpoint, if there is one, gives an `access_token`.',
    'Asks POST /oauth2/token for a token with the `client_credentials` grant. The token is not kept.',
    'Keep V2_TOKEN=basic: the gateway cannot read the reply.',
    TOKEN,
    async (trial) => {
      const token = member((await askToken(trial)).body, 'access_token')
      return decide(typeof token === 'string' && /^[\x21-\x7e]+$/.test(token), `access_token: ${typeName(token)}`)
    },
  ),
  assume(
    'token-accepted',
    'The service accepts the tokens that it gives.',
    'Asks for a token, and reads a shipment that does not exist with it.',
    'Keep V2_TOKEN=basic.',
    [...TOKEN, READ],
    replies(async (trial) => {
      const token = member((await askToken(trial)).body, 'access_token')
      if (typeof token !== 'string') throw new CannotTell('no token is given')
      return readNone(trial, `Bearer ${token}`)
    }, isLetIn),
  ),
  assume(
    'token-wrong-secret',
    'The token endpoint refuses a wrong secret with 400, 401 or 403.',
    'Asks for a token with a wrong secret.',
    'A caller with a wrong secret is told that the service failed. Keep V2_TOKEN=basic, or set TENANTS_FILE.',
    TOKEN,
    replies((trial) => askToken(trial, trial.wrongCredential), is(400, 401, 403)),
  ),
]

/** Asks for a quote from nowhere, which the service must refuse. */
const wrongQuote = (trial: Trial) => trial.askQuote({ pickup: '' })

const errors: readonly Assumption[] = [
  assume(
    'unknown-shipment-404',
    'A read of an unknown id is answered with 404 or 410.',
    'Reads a shipment with an unknown UUID.',
    'In client mode no new credential is proven, and bookings wait: use V2_CLIENT_ID or TENANTS_FILE.',
    [READ],
    replies(readNone, isUnknown),
  ),
  assume(
    'unknown-number-404',
    'A read of an unknown number that is no UUID is answered with 404 or 410.',
    'Reads a shipment by the name `transload-no-such-number`.',
    'Callers get the refusal of the service for a number that they mistype. Import known numbers with xref import.',
    [READ],
    replies((trial) => trial.ask('GET', '/v2/shipments/transload-no-such-number'), isUnknown),
  ),
  assume(
    'unknown-path-404',
    'A path that does not exist is answered with 404 or 405.',
    'Reads /v2/transload-no-such-path.',
    'The gateway cannot find the right spelling by itself. Set V2_QUOTE_METHOD and V2_SHIPMENT_PATH.',
    ['GET /v2/transload-no-such-path'],
    replies((trial) => trial.ask('GET', '/v2/transload-no-such-path'), is(404, 405)),
  ),
  assume(
    'invalid-quote-4xx',
    'A quote with an invalid field is refused with a 4xx status.',
    'Asks for a quote with an empty `pickup`.',
    'Callers get a price for a trip that they did not ask for, or a 502. Tell the service.',
    ASK,
    replies(wrongQuote, isRefused),
  ),
]

const isQuote = (reply: Seen) => isDone(reply) && member(reply.body, 'price') !== undefined

/** Assumes that a quote takes each of several values of a field. */
const takesEach = (id: string, sentence: string, otherwise: string, field: string, values: readonly string[]) =>
  assume(id, sentence, `Asks for a quote with each ${field}: ${values.join(', ')}.`, otherwise, ASK, async (trial) => {
    const refused: string[] = []
    for (const value of values) {
      const reply = await trial.askQuote({ [field]: value })
      if (!isQuote(reply)) refused.push(`${value}: ${described(reply)}`)
    }
    return decide(refused.length === 0, `all ${values.length} are taken`, refused.join('; '))
  })

const takes = (change: Readonly<Record<string, string>>) => replies((trial) => trial.askQuote(change), isQuote)

const quotes: readonly Assumption[] = [
  assume(
    'quote-by-post',
    'POST /v2/quote with a JSON body gives a quote.',
    'Asks for a quote by POST.',
    'Set V2_QUOTE_METHOD=GET; auto finds out by itself.',
    ASK_BY_POST,
    replies((trial) => trial.ask('POST', '/v2/quote', { body: TRIP }), isQuote),
  ),
  assume(
    'quote-by-get',
    'GET /v2/quote with a query gives a quote.',
    'Asks for a quote by GET.',
    'Set V2_QUOTE_METHOD=POST; auto finds out by itself.',
    ASK_BY_GET,
    replies((trial) => trial.ask('GET', `/v2/quote?${new URLSearchParams(TRIP)}`), isQuote),
  ),
  assume(
    'quote-is-object',
    'The reply to a quote is the quote itself, as a JSON object with `price`.',
    'Asks for a quote.',
    'Every quote ends in a 502. Change the places of quote.get in a mapping of your own (MAPPINGS_DIR).',
    ASK,
    async (trial) => {
      const reply = done('a quote', await trial.askQuote())
      return decide(isQuote(reply), namesIn(reply))
    },
  ),
  assume(
    'quote-returns-shipment-id',
    'A quote returns its id as `shipment_id`.',
    'Asks for a quote.',
    'No number resolves after a quote. Change the id of quote.get in a mapping of your own (MAPPINGS_DIR).',
    ASK,
    quoted((reply) => decide(textIn(reply, 'shipment_id') !== '', namesIn(reply))),
  ),
  assume(
    'quote-id-is-uuid',
    'The id of a quote is a UUID.',
    'Asks for a quote.',
    'A caller that uses it as a number is understood only while the cross-reference knows it. Raise QUOTE_MEMORY.',
    ASK,
    quoted((reply) => {
      const id = textIn(reply, 'shipment_id')
      return decide(isUuid(id), 'a UUID', id === '' ? 'no id' : 'another form')
    }),
  ),
  assume(
    'price-is-number',
    'The price of a quote is a JSON number.',
    'Asks for a quote.',
    'Nothing, if it is a string of digits; else change the codec of `price` in a mapping of your own (MAPPINGS_DIR).',
    ASK,
    quoted(({ body }) => {
      const type = typeName(member(body, 'price'))
      return decide(type === 'a number', type)
    }),
  ),
  assume(
    'quote-repeats',
    'The same quote may be asked for again.',
    'Asks for the same quote twice.',
    'The gateway repeats a quote after a lost connection or a 503, which the service would refuse. Tell the service.',
    ASK,
    async (trial) => {
      const both = [await trial.askQuote(), await trial.askQuote()]
      return decide(both.every(isQuote), both.map(described).join(', then '))
    },
  ),
  takesEach(
    'vehicle-types-known',
    'A quote takes each of the seven vehicle types.',
    'Map the codes of callers to the types that are taken: `vehicle_types` in LOOKUPS_FILE, and DEFAULT_VEHICLE_TYPE.',
    'vehicle_type',
    ['car', 'suv', 'van', 'truck', 'truck_ext', 'work_van', 'service_body'],
  ),
  takesEach(
    'transport-types-known',
    'A quote takes both transport types.',
    'Set DEFAULT_TRANSPORT_TYPE to one that is taken, and change the choice in a mapping of your own (MAPPINGS_DIR).',
    'transport_type',
    ['open', 'enclosed'],
  ),
  assume(
    'quote-zip-leading-zero',
    'A quote takes a postal code with a leading zero, as a string.',
    'Asks for a quote to `02134`.',
    'Trips in New England have no price. Change the codec of `delivery` in a mapping of your own (MAPPINGS_DIR).',
    ASK,
    takes({ delivery: '02134' }),
  ),
  assume(
    'quote-zip-plus-four',
    'A quote takes a postal code with its extension.',
    'Asks for a quote to `33166-1234`.',
    'Callers must leave the extension out, or a mapping of your own cuts it (MAPPINGS_DIR).',
    ASK,
    takes({ delivery: '33166-1234' }),
  ),
  assume(
    'quote-unknown-field',
    'A quote with a field that the service does not know is not refused.',
    'Asks for a quote with a further field, `transload_test`.',
    'A mapping of your own must not send fields that version 2 lacks.',
    ASK,
    takes({ transload_test: 'x' }),
  ),
]

const changeQuote = (trial: Trial, id: string) =>
  trial.ask('PUT', `/v2/quote/${encodeURIComponent(id)}`, { body: { ...TRIP, transport_type: 'enclosed' } })

const quoteUpdates: readonly Assumption[] = [
  assume(
    'quote-id-updates',
    'The id that a quote returns is the id that an update takes.',
    'Asks for a quote, and updates it with the same facts and `enclosed`.',
    'Updates of quotes end in a 404. Change the id of quote.get in a mapping of your own (MAPPINGS_DIR).',
    [...ASK, CHANGE],
    replies(async (trial) => changeQuote(trial, (await trial.newQuote()).id), isDone),
  ),
  assume(
    'quote-update-keeps-id',
    'An update keeps the id of a quote.',
    'Updates a quote, and compares the id in the reply, if there is one.',
    'Updates of quotes end in a 502. Change the places of quote.update in a mapping of your own (MAPPINGS_DIR).',
    [...ASK, CHANGE],
    async (trial) => {
      const { id } = await trial.newQuote()
      return sameId(textIn(done('an update', await changeQuote(trial, id)), 'shipment_id'), id)
    },
  ),
  assume(
    'quote-update-twice',
    'A quote may be updated more than once.',
    'Updates a quote twice.',
    'The second update of callers ends in the refusal of the service. Tell the callers.',
    [...ASK, CHANGE],
    async (trial) => {
      const { id } = await trial.newQuote()
      const [first, second] = [await changeQuote(trial, id), await changeQuote(trial, id)]
      return decide(isDone(second), `${described(done('an update', first))}, then ${described(second)}`)
    },
  ),
]

const KIB = 1024
const BODY_SIZES_KIB = [1, 16, 64, 255]
/** The longest value that the gateway takes from a caller. */
const VALUE_CHARACTERS = 4096
const READS_IN_A_ROW = 20

/** Sizes, rates and the transport, found without a load that anybody would notice. */
const limits: readonly Assumption[] = [
  assume(
    'body-256-kib',
    'A body of nearly 256 KiB is not refused for its size.',
    `Sends invalid quotes of ${BODY_SIZES_KIB.join(', ')} KiB, one each, up to the first that is refused for its size.`,
    'Set BODY_LIMIT_BYTES to the largest size that was taken: callers then get a clear 413.',
    ASK_BY_POST,
    async (trial) => {
      const invalid = { ...TRIP, pickup: '', transload_test: '' }
      let largest = 0
      for (const size of BODY_SIZES_KIB) {
        const padding = 'x'.repeat(size * KIB - JSON.stringify(invalid).length)
        const body = { ...invalid, transload_test: padding }
        const { status } = await trial.ask('POST', '/v2/quote', { body })
        if (status === 413 || status >= 500) {
          return decide(false, `${status} at ${size} KiB; ${largest} KiB are taken`)
        }
        largest = size
      }
      return decide(true, `${largest} KiB are taken`)
    },
    true,
  ),
  assume(
    'value-4-kib',
    'A text of 4,096 characters is taken in a booking.',
    'Books with `instructions` of 4,096 characters, and reads the shipment.',
    'Long instructions of callers are refused or cut. Limit the field in a mapping of your own (MAPPINGS_DIR).',
    [BOOK, READ],
    async (trial) => {
      const reply = await trial.book({ instructions: 'x'.repeat(VALUE_CHARACTERS) })
      if (!isDone(reply)) return decide(false, described(reply))
      const shown = textIn(reply, 'instructions').length
      return decide(shown === VALUE_CHARACTERS, `${shown} characters come back`)
    },
  ),
  assume(
    'reads-in-a-row',
    `${READS_IN_A_ROW} reads in a row are not limited.`,
    `Reads a shipment that does not exist ${READS_IN_A_ROW} times, one after the other, up to the first 429.`,
    'Set the `limits` of tenants in TENANTS_FILE below the rate that the service takes.',
    [READ],
    async (trial) => {
      for (let no = 1; no <= READS_IN_A_ROW; no += 1) {
        if ((await readNone(trial)).status === 429) return decide(false, `429 at read ${no}`)
      }
      return decide(true, 'none is limited')
    },
    true,
  ),
]

const booksAt = (path: string) =>
  replies(
    (trial) => {
      const reference = trial.nextReference()
      return trial.ask('POST', path, { body: bookingBody(reference), reference })
    },
    (reply) => isDone(reply) && serviceId(member(reply.body, 'id')) !== undefined,
  )

const books = (change: Readonly<Record<string, unknown>>) => replies((trial) => trial.book(change), isDone)

/** Books a second time under the reference of a first one, which has to make a second shipment. */
const booksAgain = (change: Readonly<Record<string, unknown>>) =>
  bookedAnew(async ({ id, reference }, trial) => {
    const second = await trial.book({ external_id: reference, ...change })
    if (!isDone(second)) return decide(false, `the second one is answered ${described(second)}`)
    return decide(textIn(second, 'id') !== id, 'two ids', 'the same id twice')
  })

const bookings: readonly Assumption[] = [
  assume(
    'shipments-plural',
    'POST /v2/shipments makes a shipment.',
    'Books with the path /v2/shipments.',
    'Set V2_SHIPMENT_PATH=/v2/shipment; auto finds out by itself.',
    [BOOK],
    booksAt('/v2/shipments'),
  ),
  assume(
    'shipment-singular',
    'POST /v2/shipment makes a shipment, too.',
    'Books with the path /v2/shipment.',
    'Set V2_SHIPMENT_PATH=/v2/shipments; auto finds out by itself.',
    ['POST /v2/shipment'],
    booksAt('/v2/shipment'),
  ),
  assume(
    'booking-returns-id',
    'The reply to a booking is the shipment, with an `id` that is a UUID.',
    'Books.',
    'Without an `id`, every booking is unknown until someone settles it. Change the id of shipment.create in a mapping of your own (MAPPINGS_DIR).',
    [BOOK],
    async (trial) => {
      const reply = done('a booking', await trial.book())
      const id = serviceId(member(reply.body, 'id')) ?? ''
      return decide(isUuid(id), 'a UUID', id === '' ? namesIn(reply) : 'an id of another form')
    },
  ),
  assume(
    'minimal-booking',
    'A booking needs no more than what version 1 requires.',
    'Books with a `customer_name`, two ZIP codes, a VIN and a transport type, and nothing else.',
    'Require the further fields in a mapping of your own (MAPPINGS_DIR), or callers get the refusal of the service.',
    [BOOK],
    books({
      customer: { customer_name: 'Transload Test' },
      pickup: { zipcode: 75234 },
      delivery: { zipcode: 2134 },
      vehicles: [{ vin: VIN }],
      instructions: undefined,
    }),
  ),
  assume(
    'booking-unknown-field',
    'A booking with a field that the service does not know is not refused.',
    'Books with a further field, `transload_test`.',
    'A mapping of your own must not send fields that version 2 lacks.',
    [BOOK],
    books({ transload_test: 'x' }),
  ),
  assume(
    'external-id-twice',
    'An `external_id` may come twice: one reference often covers several vehicles.',
    'Books two vehicles under one `external_id`, and compares the ids.',
    'The second vehicle of a reference is refused or lost. Send the VIN with the reference, by a mapping of your own (MAPPINGS_DIR).',
    [BOOK, READ],
    booksAgain({ vehicles: [{ vin: OTHER_VIN }] }),
  ),
  assume(
    'refused-makes-nothing',
    'A booking that is refused with a 4xx status has made nothing.',
    'Books without a customer, and looks for a shipment with its `external_id`, if reads find those.',
    'Callers that repeat a refused booking book twice. Leave that status out of BOOKING_REFUSED_STATUSES.',
    [BOOK, READ],
    bookedAnew(async ({ reference }, trial) => {
      if (!isDone(await trial.readShipment(reference))) throw new CannotTell('reads do not find an `external_id`')
      const refused = await trial.book({ customer: undefined })
      if (!isRefused(refused)) throw new CannotTell(`a wrong booking is answered ${described(refused)}`)
      const found = await trial.readShipment(refused.reference)
      return decide(isUnknown(found), `${refused.status}, and then ${described(found)}`)
    }),
  ),
  assume(
    'external-id-kept',
    'A shipment shows the `external_id` that it was booked with.',
    'Books, reads the shipment, and compares `external_id`.',
    'Events cannot settle unknown bookings: settle them with bookings settle.',
    [BOOK, READ],
    booked(({ read, reference }) => {
      const value = member(read.body, 'external_id')
      return decide(value === reference, 'unchanged', value === undefined ? 'missing' : 'changed')
    }),
  ),
]

/** Assumes that a value comes back as it was sent. */
const comesBack = (
  id: string,
  sentence: string,
  otherwise: string,
  path: readonly (string | number)[],
  expected: string | number,
) =>
  assume(
    id,
    sentence,
    `Books, reads the shipment, and compares \`${path.join('.')}\`.`,
    otherwise,
    [BOOK, READ],
    booked(({ read }) => {
      const value = member(read.body, ...path)
      const isSame = typeName(value) === typeName(expected) && textOf(value) === textOf(expected)
      return decide(isSame, 'unchanged', value === undefined ? 'missing' : `${typeName(value)}, changed`)
    }),
  )

const OWN_MAPPING = 'Change its codec in a mapping of your own (MAPPINGS_DIR).'

const keptValues: readonly Assumption[] = [
  comesBack(
    'zip-is-integer',
    'A ZIP code comes back as the integer that was sent.',
    OWN_MAPPING,
    ['delivery', 'zipcode'],
    2134,
  ),
  comesBack('year-is-integer', 'A year comes back as an integer.', OWN_MAPPING, ['vehicles', 0, 'year'], 2023),
  comesBack(
    'phone-is-digits',
    'A telephone number comes back as digits.',
    OWN_MAPPING,
    ['pickup', 'contact_phone'],
    '2145550101',
  ),
  comesBack('state-unchanged', 'A state comes back as two capital letters.', OWN_MAPPING, ['pickup', 'state'], 'TX'),
  comesBack(
    'vin-unchanged',
    'A VIN comes back as it was sent.',
    `A \`VinNo\` may choose no vehicle, and an event may settle no booking. ${OWN_MAPPING}`,
    ['vehicles', 0, 'vin'],
    VIN,
  ),
  comesBack(
    'transport-type-unchanged',
    'The transport type comes back as it was sent.',
    `An update sends the other form back. ${OWN_MAPPING}`,
    ['transport_type'],
    'open',
  ),
  comesBack(
    'text-is-utf-8',
    'Text outside ASCII comes back unchanged.',
    'Names and addresses of callers are damaged. Tell the service.',
    ['instructions'],
    INSTRUCTIONS,
  ),
  comesBack(
    'customer-shown',
    'A shipment shows its customer.',
    'An update would clear the customer. Tell the service, and do not let callers update.',
    ['customer', 'customer_name'],
    'Transload Test',
  ),
]

/** Assumes something of a date that comes back. */
const datedBack = (id: string, sentence: string, otherwise: string, sent: string, check: (value: unknown) => Finding) =>
  assume(
    id,
    sentence,
    `Books with \`pickup.available_pickup_dttm\` as \`${sent}\`, and reads the shipment.`,
    otherwise,
    [BOOK, READ],
    async (trial) => {
      const { read } = await trial.newShipment({ pickup: { zipcode: 75234, available_pickup_dttm: sent } })
      const value = member(read.body, 'pickup', 'available_pickup_dttm')
      if (value === undefined) throw new CannotTell('the shipment does not show the date')
      return check(value)
    },
  )

const isMoment = (expected: string) => (value: unknown) => {
  const moment = Date.parse(textOf(value).replace(/([+-]\d{2})(\d{2})$/, '$1:$2'))
  if (Number.isNaN(moment)) return decide(false, formOf(value))
  return decide(moment === Date.parse(expected), 'the same moment', 'another moment')
}

const dates: readonly Assumption[] = [
  datedBack(
    'date-form',
    'A date-time comes back as `2024-08-10T08:00:00+0000`, with or without milliseconds.',
    'Events and fields of callers show the other form. A mapping of your own can convert it (MAPPINGS_DIR).',
    '2030-08-10T08:00:00+0000',
    (value) => decide(/^0000-00-00T00:00:00(\.000)?[+-]0000$/.test(formOf(value)), formOf(value)),
  ),
  datedBack(
    'date-offset-obeyed',
    'A date-time with an offset comes back as the same moment.',
    'An update moves the dates of a shipment. Tell the service.',
    '2030-08-10T08:00:00-0500',
    isMoment('2030-08-10T13:00:00Z'),
  ),
  datedBack(
    'date-without-offset-is-utc',
    'A date-time without an offset is UTC.',
    'A mapping of your own that sends dates must send an offset (MAPPINGS_DIR).',
    '2030-08-10T08:00:00',
    isMoment('2030-08-10T08:00:00Z'),
  ),
]

const reads: readonly Assumption[] = [
  assume(
    'read-is-shipment',
    'A read answers the shipment itself, with the `id` that was asked for.',
    'Books, and reads the shipment.',
    'Every read, update and cancellation ends in a 502. Tell the service: this cannot be set.',
    [BOOK, READ],
    booked(({ read, id }) => {
      const shown = textIn(read, 'id')
      return decide(
        shown.toLowerCase() === id.toLowerCase(),
        shown === id ? 'the same id' : 'another id',
        shown === '' ? namesIn(read) : 'another id',
      )
    }),
  ),
  assume(
    'read-by-number',
    "A read by the service's own number finds the shipment.",
    'Books, and reads the shipment by its `number`.',
    'Callers cannot use numbers that the cross-reference does not know. Import them with xref import.',
    [BOOK, READ],
    booked(async ({ created }, trial) => {
      const number = textIn(created, 'number')
      if (number === '') throw new CannotTell('the shipment has no number')
      const reply = await trial.readShipment(number)
      return decide(isDone(reply), described(reply))
    }),
  ),
  assume(
    'read-by-reference-is-no-other',
    'A read by an `external_id` finds nothing, or a shipment that has it.',
    'Books, reads by the `external_id`, and compares.',
    'Callers with numbers that the cross-reference does not know get a 502. Import them with xref import.',
    [BOOK, READ],
    booked(async ({ reference }, trial) => {
      const reply = await trial.readShipment(reference)
      if (!isDone(reply)) return decide(isUnknown(reply), described(reply))
      return decide(textIn(reply, 'external_id') === reference, 'a shipment that has it', 'another shipment')
    }),
  ),
  assume(
    'vehicles-have-ids',
    'Every vehicle of a shipment has an id.',
    'Books, and reads the shipment.',
    'Updates that change the vehicle end in a 502, because the service would add a second one. Tell the service.',
    [BOOK, READ],
    booked(({ read }) => {
      const id = member(read.body, 'vehicles', 0, 'id')
      return decide(textOf(id) !== '', `id: ${typeName(id)}`)
    }),
  ),
  assume(
    'vehicles-in-order',
    'The vehicles of a shipment come back in the order in which they were sent.',
    'Books two vehicles, and compares the VIN of the first one.',
    'Callers that read a shipment of several vehicles see another one first. Let them send `VinNo`.',
    [BOOK, READ],
    async (trial) => {
      const vehicles = [VIN, OTHER_VIN].map((vin) => ({ vin, type: 'van' }))
      const { read } = await trial.newShipment({ vehicles })
      return decide(textIn(read, 'vehicles', 0, 'vin') === VIN, 'in order', 'in another order')
    },
  ),
]

/** Sends a shipment back, with changes, as an update. */
const put = (trial: Trial, { id, reference, read }: TestShipment, change: object = {}, headers = {}) =>
  trial.ask('PUT', trial.shipmentPath(id), { body: { ...updateBody(read.body), ...change }, headers, reference })

async function vehiclesAfter(trial: Trial, { id }: TestShipment): Promise<number> {
  const vehicles = member((await trial.readShipment(id)).body, 'vehicles')
  return Array.isArray(vehicles) ? vehicles.length : 0
}

const CHANGED = { instructions: 'Transload test: changed' }

const updates: readonly Assumption[] = [
  assume(
    'update-takes-whole',
    'An update takes a shipment as it was read, without what only the service sets.',
    'Books, reads the shipment, and sends it back with other `instructions`.',
    'Updates are refused. Mark the refused places as set by the service in a mapping of your own (MAPPINGS_DIR).',
    [BOOK, READ, UPDATE],
    bookedAnew(async (shipment, trial) => {
      const reply = await put(trial, shipment, CHANGED)
      if (!isDone(reply)) return decide(false, described(reply))
      const after = textIn(await trial.readShipment(shipment.id), 'instructions')
      return decide(after === CHANGED.instructions, 'changed', 'not changed')
    }),
  ),
  assume(
    'vehicle-with-id-stays',
    'A vehicle that is sent with its id stays one vehicle.',
    'Books, sends the shipment back, and counts the vehicles.',
    'Updates double vehicles. Do not let callers update, and tell the service.',
    [BOOK, READ, UPDATE],
    bookedAnew(async (shipment, trial) => {
      done('an update', await put(trial, shipment))
      const count = await vehiclesAfter(trial, shipment)
      return decide(count === 1, 'one vehicle', `${count} vehicles`)
    }),
  ),
  assume(
    'update-names-shipment',
    'The reply to an update names no other shipment.',
    'Books, sends the shipment back, and compares the id in the reply, if there is one.',
    'Updates end in a 502 although they were carried out. Tell the service.',
    [BOOK, READ, UPDATE],
    bookedAnew(async (shipment, trial) =>
      sameId(textIn(done('an update', await put(trial, shipment)), 'id'), shipment.id),
    ),
  ),
  assume(
    'if-match-obeyed',
    'Where a read shows an `ETag`, an update with an outdated one is refused with 412.',
    'Books, sends the shipment back, and sends it again with the `ETag` of before as `If-Match`.',
    'An update can overwrite a change that was made elsewhere. Tell the service.',
    [BOOK, READ, UPDATE],
    bookedAnew(async (shipment, trial) => {
      const etag = shipment.read.headers['etag']
      if (typeof etag !== 'string') throw new CannotTell('a read shows no ETag')
      done('an update', await put(trial, shipment, CHANGED))
      const reply = await put(trial, shipment, { instructions: 'Transload test: again' }, { 'if-match': etag })
      return decide(reply.status === 412, described(reply))
    }),
  ),
]

const approve = (trial: Trial, id: string) =>
  trial.ask('POST', `/v2/quote/${encodeURIComponent(id)}/approve`, { body: {} })

async function approved(trial: Trial): Promise<{ id: string; reply: Seen }> {
  const { id } = await trial.newQuote()
  return { id, reply: done('an approval', await approve(trial, id)) }
}

const approvals: readonly Assumption[] = [
  assume(
    'approve-takes-empty-object',
    'An approval takes an empty object as its body.',
    'Approves a quote, with `{}`.',
    'Approvals are refused. Change the request of quote.approve in a mapping of your own (MAPPINGS_DIR).',
    [...ASK, APPROVE],
    replies(async (trial) => approve(trial, (await trial.newQuote()).id), isDone),
  ),
  assume(
    'approved-quote-is-shipment',
    "An approved quote becomes a shipment, and the quote's id is the shipment's.",
    'Approves a quote, and reads a shipment with the id of the quote.',
    'Set APPROVAL_BOOKS=no if an approval makes no shipment. If it makes one with another id, bookings can double: tell the service.',
    [...ASK, APPROVE, READ],
    replies(async (trial) => trial.readShipment((await approved(trial)).id), isDone),
  ),
  assume(
    'approve-names-quote',
    "The reply to an approval names no other id than the quote's.",
    'Approves a quote, and compares the ids in the reply.',
    'Approvals end in a 502 although the quote is approved. Change the reply of quote.approve in a mapping of your own (MAPPINGS_DIR).',
    [...ASK, APPROVE],
    async (trial) => {
      const { id, reply } = await approved(trial)
      const others = ['id', 'shipment_id', 'quote_id'].filter((key) => !['', id].includes(textIn(reply, key)))
      return decide(others.length === 0, 'no other id', `another id as ${others.join(', ')}`)
    },
  ),
  assume(
    'approve-twice-makes-one',
    'A second approval makes no second shipment.',
    'Approves a quote twice, and compares the ids in both replies.',
    'An approval that is repeated before the service shows its shipment, or under another id, books twice. Tell the service.',
    [...ASK, APPROVE],
    async (trial) => {
      const { id } = await approved(trial)
      const again = await approve(trial, id)
      const isSame = !isDone(again) || ['', id].includes(textIn(again, 'shipment_id'))
      return decide(isSame, described(again), `${described(again)}, with another id`)
    },
  ),
  assume(
    'approved-takes-booking',
    'The shipment of an approved quote takes the fields of a booking as an update.',
    'Approves a quote, reads its shipment, and updates it with a booking and the ids of its vehicles.',
    'Bookings of approved quotes end in an error. Set APPROVAL_BOOKS=no, and cancel the shipments of approvals at the service.',
    [...ASK, APPROVE, READ, UPDATE],
    replies(async (trial) => {
      const { id } = await approved(trial)
      const known = updateBody(done('a read of its shipment', await trial.readShipment(id)).body)
      const reference = trial.nextReference()
      const vehicles = [{ ...Object(member(known, 'vehicles', 0)), vin: OTHER_VIN }]
      const body = { ...known, ...bookingBody(reference), vehicles }
      return trial.ask('PUT', trial.shipmentPath(id), { body, reference })
    }, isDone),
  ),
  assume(
    'quote-id-books',
    "A booking takes the `quote_id` of a quote, and gets the quote's price.",
    'Asks for a quote, and books with its id.',
    'Set SEND_QUOTE_ID=false, which is the default, and APPROVAL_BOOKS=no if approvals make no shipment.',
    [...ASK, BOOK],
    async (trial) => {
      const { id, reply: quote } = await trial.newQuote()
      const reply = await trial.book({ quote_id: id, vehicles: [{ vin: OTHER_VIN, type: 'car' }] })
      const seen = described(reply)
      if (!isDone(reply)) return decide(false, seen)
      const isSame = textIn(reply, 'price') === textIn(quote, 'price')
      return decide(isSame, `${seen}, at the price of the quote`, `${seen}, at another price`)
    },
  ),
]

const cancel = (trial: Trial, id: string) => trial.ask('DELETE', trial.shipmentPath(id))
const canceled = async (trial: Trial, id: string) => done('a cancellation', await cancel(trial, id))

const cancellations: readonly Assumption[] = [
  assume(
    'delete-cancels',
    'DELETE of a new shipment succeeds.',
    'Books, and cancels the shipment.',
    'Callers cannot cancel. Tell the service, and cancel the test bookings there.',
    [BOOK, READ, CANCEL],
    replies(async (trial) => cancel(trial, (await trial.newShipment()).id), isDone),
  ),
  assume(
    'canceled-is-shown',
    'A canceled shipment has the status `canceled`, or is not found any more.',
    'Books, cancels the shipment, and reads it.',
    'Cancellations end in a 502. Change `doneWhenStatus` of shipment.cancel in a mapping of your own (MAPPINGS_DIR).',
    [BOOK, READ, CANCEL],
    bookedAnew(async ({ id }, trial) => {
      await canceled(trial, id)
      const read = await trial.readShipment(id)
      if (isUnknown(read)) return decide(true, described(read))
      const status = member(read.body, 'status')
      return decide(isCanceled({ status }), 'canceled', `another status (${typeName(status)})`)
    }),
  ),
  assume(
    'cancel-again',
    'A second DELETE of a shipment succeeds, or is refused with 400, 404, 409, 410 or 422.',
    'Books, and cancels the shipment twice.',
    'Callers that cancel twice get an error for what is done. Tell the service.',
    [BOOK, READ, CANCEL],
    bookedAnew(async ({ id }, trial) => {
      await canceled(trial, id)
      const second = await cancel(trial, id)
      return decide(isDone(second) || is(400, 404, 409, 410, 422)(second), described(second))
    }),
  ),
  assume(
    'reference-free-after-cancel',
    'The `external_id` of a canceled shipment may be booked again.',
    'Books, cancels the shipment, and books again with its `external_id`.',
    'A caller that cancels a booking cannot book again under its reference. Tell the callers.',
    [BOOK, READ, CANCEL],
    bookedAnew(async ({ id, reference }, trial) => {
      await canceled(trial, id)
      const reply = await trial.book({ external_id: reference })
      const isOther = textIn(reply, 'id') !== id
      return decide(isDone(reply) && isOther, `${described(reply)}${isOther ? '' : ', with the same id'}`)
    }),
  ),
]

/** Every assumption about the service that can be tried, in the order in which they are. */
export const areas: readonly Area[] = [
  { title: 'Credentials', assumptions: access },
  { title: 'Errors', assumptions: errors },
  { title: 'Quotes', assumptions: quotes },
  { title: 'Updates of quotes', assumptions: quoteUpdates },
  { title: 'Limits', assumptions: limits },
  { title: 'Bookings', assumptions: bookings },
  { title: 'Values that come back', assumptions: keptValues },
  { title: 'Dates', assumptions: dates },
  { title: 'Reads of shipments', assumptions: reads },
  { title: 'Updates of shipments', assumptions: updates },
  { title: 'Approvals', assumptions: approvals },
  { title: 'Cancellations', assumptions: cancellations },
]

/** Every assumption, without its area. */
export const assumptions: readonly Assumption[] = areas.flatMap((area) => area.assumptions)

/** The assumptions that cannot be tried from outside, each with the reason: the operator has to ask the service. */
export const untriable: readonly (readonly [assumption: string, why: string])[] = [
  [
    'Callers update and approve quotes with `Update Rate`, `Approve Rate`, `Accept Rate` and the like as `ActionName`.',
    'It is about callers: the document shows `Get Rate` and `MakeBooking` alone.',
  ],
  [
    'Reads, updates and cancels of callers have the fields of a booking, and name the shipment by one of them.',
    'It is about callers: the document shows no such request.',
  ],
  ['The `ReferenceNumber` of a booking may be the number of its quote.', 'It is about callers.'],
  ['`BillTo…` of a quote is the customer of its booking.', 'It is about callers.'],
  ['The commodity codes are English names of kinds and models of vehicles.', 'It is about callers: no list is shown.'],
  [
    'Events come as the service describes them, and are sent again until they are answered.',
    'The interface has no way to register a receiver.',
  ],
  ['A credential does not see the shipments of another client.', 'It takes a second credential.'],
  ['A 429 has a `Retry-After`.', 'Provoking one would disturb others.'],
  ['A 503 says that nothing was booked.', 'The service cannot be made unavailable.'],
  [
    'A reply comes within UPSTREAM_TIMEOUT_MS.',
    'A few calls prove nothing; the metric `transload_service_seconds` shows it.',
  ],
  ['A quote is valid for as long as QUOTE_MEMORY remembers it.', 'It takes days.'],
  [
    'The status of a shipment moves from `new` to `delivered` through the known values.',
    'It takes a carrier. The log tells further values, once each.',
  ],
]
