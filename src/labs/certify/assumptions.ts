import type { Draft, Place } from '../../language/mapping/paths.ts'
import { isSameThing, isUuid } from '../../language/text/service-text.ts'
import { NO_SHIPMENT } from '../../outside/service/account.ts'
import { isCanceled } from '../../outside/service/proofs.ts'
import {
  bookingBody,
  CannotTell,
  described,
  done,
  formOf,
  INSTRUCTIONS,
  is,
  isDone,
  isRefused,
  isUnknown,
  member,
  NotAnswered,
  namesInReply,
  OTHER_VIN,
  type ParsedReply,
  TRIP,
  type Trial,
  textIn,
  textOf,
  typeName,
  updated,
  VIN,
} from './trial.ts'

/** Something that the gateway assumes about the service, and a check of it. */
export type Assumption = ReturnType<typeof area>[number]

/**
 * The finding on an assumption: true if it holds. The seen text or reply can add detail; a reply is described by its status and type. A
 * reply alone confirms the assumption if it is a success.
 */
type Finding = boolean | ParsedReply | readonly [isKept: boolean, seen: ParsedReply | string, otherwise?: string]
type Check = (trial: Trial) => Promise<Finding>

/** The most that a check does at the service. A quote is not binding; a booking is canceled afterwards. */
type Effect = 'reads' | 'quotes' | 'bookings'

type Row = readonly [
  id: string,
  sentence: string,
  /** The operator's remedy if the service contradicts it: a setting, a mapping, or nothing. */
  otherwise: string,
  check: Check,
]

/** Makes the assumptions about a part of the service. */
const area = (title: string, effect: Effect, ...rows: readonly Row[]) =>
  rows.map(([id, sentence, otherwise, check]) => ({ area: title, id, sentence, otherwise, check, effect }))

/** Creates something at the service for a check. */
const given =
  <Thing>(make: (trial: Trial) => Promise<Thing>) =>
  (check: (thing: Thing, trial: Trial) => Finding | Promise<Finding>): Check =>
  async (trial) =>
    check(await make(trial), trial)

/** Checks the reply to one request. */
const replies = (ask: (trial: Trial) => Promise<ParsedReply>, isExpected: (reply: ParsedReply) => boolean) =>
  given(ask)((reply) => [isExpected(reply), reply])

/** A quote that several checks share, and a separate one for a check that changes it. */
const quoted = given((trial) => trial.quote())
const quotedAnew = given((trial) => trial.newQuote())

/** A booking that several checks share and only read, and a separate one for a check that changes it. */
const booked = given((trial) => trial.shipment())
const bookedAnew = given((trial) => trial.newShipment())

/** An approved quote, with the reply to the approval. */
const approved = given(async (trial) => {
  const quote = await trial.newQuote()
  return { ...quote, reply: done('an approval', await quote.approve()) }
})

/** Accepts the expected id in a reply, or none. */
const sameId = (named: string, id: string) => named === '' || named === id

/** Reads a shipment that does not exist, which is harmless. */
const readNone = (trial: Trial, authorization?: string | null) =>
  trial.ask('GET', `/v2/shipments/${NO_SHIPMENT}`, { authorization })
const readWithWrongSecret = (trial: Trial) => readNone(trial, trial.wrongCredential)
const isLetIn = (reply: ParsedReply) => !is(401, 403)(reply)

async function askToken(trial: Trial, authorization = trial.basic): Promise<ParsedReply> {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  const body = 'grant_type=client_credentials'
  const reply = await trial.ask('POST', '/oauth2/token', { authorization, headers, body })
  if (is(404, 405)(reply)) throw new CannotTell('there is no token endpoint yet')
  return authorization === trial.basic ? done('it', reply) : reply
}

const isQuote = (reply: ParsedReply) => isDone(reply) && textIn(reply, 'price') !== ''

/** Assumes that a quote accepts each of several values of a field. */
const takesEach = (id: string, sentence: string, otherwise: string, field: string, values: readonly string[]): Row => [
  id,
  sentence,
  otherwise,
  async (trial) => {
    const refused: string[] = []
    for (const value of values) {
      const reply = await trial.askQuote({ [field]: value })
      if (!isQuote(reply)) refused.push(`${value}: ${described(reply)}`)
    }
    return [refused.length === 0, `all ${values.length} are accepted`, refused.join('; ')]
  },
]

const asks = (change: Readonly<Record<string, string>>, isExpected = isQuote) =>
  replies((trial) => trial.askQuote(change), isExpected)

const booksAt = (path: string) =>
  replies(
    (trial) => trial.bookAt(path),
    (reply) => isDone(reply) && textIn(reply, 'id') !== '',
  )

const books =
  (change: Draft): Check =>
  (trial) =>
    trial.book(change)

/** Assumes that a value comes back as it was sent. */
const comesBack = (id: string, sentence: string, otherwise: string, path: Place, expected: string | number): Row => [
  id,
  sentence,
  otherwise,
  booked(({ read }) => {
    const value = member(read.body, ...path)
    const isSame = typeName(value) === typeName(expected) && textOf(value) === textOf(expected)
    return [isSame, 'unchanged', value === undefined ? 'missing' : `${typeName(value)}, changed`]
  }),
]

const OWN_MAPPING = 'Change its codec in your own mapping.'

/** Assumes something of a date that comes back. */
const datedBack = (
  id: string,
  sentence: string,
  otherwise: string,
  sent: string,
  check: (value: unknown) => Finding,
): Row => [
  id,
  sentence,
  otherwise,
  async (trial) => {
    const { read } = await trial.newShipment({ pickup: { zipcode: 75234, available_pickup_dttm: sent } })
    const value = member(read.body, 'pickup', 'available_pickup_dttm')
    if (value === undefined) throw new CannotTell('the shipment does not show the date')
    return check(value)
  },
]

const isMoment = (expected: string) => (value: unknown) => Date.parse(textOf(value)) === Date.parse(expected)

const CHANGED = { instructions: 'Transload test: changed' }

/** Every assumption about the service that can be checked, in the order of the checks. */
export const assumptions: readonly Assumption[] = [
  ...area(
    'Credentials',
    'reads',
    [
      'basic-accepted',
      'The service accepts Basic authentication.',
      'Set V2_TOKEN=oauth2, or auto.',
      replies((trial) => readNone(trial, trial.basic), isLetIn),
    ],
    [
      'wrong-secret-401',
      'A wrong secret gets 401.',
      "In client mode, a wrong secret gets the service's status instead of 401. If callers need a 401, set TENANTS_FILE.",
      replies(readWithWrongSecret, is(401)),
    ],
    [
      'wrong-secret-before-404',
      'A wrong secret is rejected before the service looks for a shipment.',
      'In client mode, a stranger would be accepted, because 404 and 410 count as proof. Set V2_CLIENT_ID or TENANTS_FILE.',
      replies(readWithWrongSecret, (reply) => !isUnknown(reply) && !isDone(reply)),
    ],
    [
      'challenge',
      'A 401 names the required scheme in `WWW-Authenticate`.',
      'V2_TOKEN=auto does not work. Set V2_TOKEN=basic or oauth2.',
      given(readWithWrongSecret)((reply) => {
        if (reply.status !== 401) throw new CannotTell(`a wrong secret is answered ${described(reply)}`)
        return reply.headers['www-authenticate'] !== undefined
      }),
    ],
    [
      'token-given',
      'The token endpoint, if there is one, returns an `access_token`.',
      'Keep V2_TOKEN=basic.',
      async (trial) => {
        const token = member((await askToken(trial)).body, 'access_token')
        return [typeof token === 'string' && /^[\x21-\x7e]+$/.test(token), `access_token: ${typeName(token)}`]
      },
    ],
    [
      'second-token-keeps-first',
      'A second token leaves the first one valid.',
      'Gateways that share a credential end the tokens of one another. Run one gateway, or keep V2_TOKEN=basic.',
      replies(async (trial) => {
        const [first] = [await askToken(trial), await askToken(trial)].map(({ body }) => member(body, 'access_token'))
        if (typeof first !== 'string') throw new CannotTell('no token is given')
        return readNone(trial, `Bearer ${first}`)
      }, isLetIn),
    ],
    [
      'token-wrong-secret',
      'The token endpoint rejects a wrong secret with 400, 401 or 403.',
      'A wrong secret looks like a failure of the service. Keep V2_TOKEN=basic, or set TENANTS_FILE.',
      replies((trial) => askToken(trial, trial.wrongCredential), is(400, 401, 403)),
    ],
  ),
  ...area(
    'Errors',
    'reads',
    [
      'unknown-shipment-404',
      'A read of an unknown id gets 404 or 410.',
      'In client mode, no new credential is accepted. Set V2_CLIENT_ID or TENANTS_FILE.',
      replies(readNone, isUnknown),
    ],
    [
      'unknown-number-404',
      'A read of an unknown number that is not a UUID gets 404 or 410.',
      "A mistyped number gets the service's error. Import known numbers with xref import.",
      replies((trial) => trial.ask('GET', '/v2/shipments/transload-no-such-number'), isUnknown),
    ],
    [
      'unknown-path-404',
      'An unknown path gets 404 or 405.',
      'Set V2_QUOTE_METHOD and V2_SHIPMENT_PATH.',
      replies((trial) => trial.ask('GET', '/v2/transload-no-such-path'), is(404, 405)),
    ],
  ),
  ...area(
    'Quotes',
    'quotes',
    [
      'quote-by-post',
      'POST /v2/quote with a JSON body returns a quote.',
      'Set V2_QUOTE_METHOD=GET, or auto.',
      replies((trial) => trial.ask('POST', '/v2/quote', { body: TRIP }), isQuote),
    ],
    [
      'quote-by-get',
      'GET /v2/quote with a query returns a quote.',
      'Set V2_QUOTE_METHOD=POST, or auto.',
      replies((trial) => trial.ask('GET', `/v2/quote?${new URLSearchParams(TRIP)}`), isQuote),
    ],
    [
      'quote-is-object',
      'The reply to a quote is a JSON object with `price`.',
      'Every quote gets 502. Change the places of quote.get in your own mapping.',
      async (trial) => {
        const reply = done('a quote', await trial.askQuote())
        return [isQuote(reply), namesInReply(reply)]
      },
    ],
    [
      'quote-returns-shipment-id',
      'A quote returns its id as `shipment_id`.',
      'Quotes cannot be found by number. Tell the service.',
      quoted(({ reply }) => [textIn(reply, 'shipment_id') !== '', namesInReply(reply)]),
    ],
    [
      'quote-id-is-uuid',
      "A quote's id is a UUID.",
      'Callers can use it as a number only while the gateway remembers it. Raise QUOTE_MEMORY.',
      quoted(({ reply }) => isUuid(textIn(reply, 'shipment_id'))),
    ],
    [
      'price-is-number',
      "A quote's price is a JSON number.",
      'A string of digits works. Otherwise, change the codec of `price` in your own mapping.',
      quoted(({ reply }) => {
        const type = typeName(member(reply.body, 'price'))
        return [type === 'a number', type]
      }),
    ],
    takesEach(
      'vehicle-types-known',
      'A quote accepts all seven vehicle types.',
      'Map codes to accepted types: `vehicle_types` in LOOKUPS_FILE, and DEFAULT_VEHICLE_TYPE.',
      'vehicle_type',
      ['car', 'suv', 'van', 'truck', 'truck_ext', 'work_van', 'service_body'],
    ),
    takesEach(
      'transport-types-known',
      'A quote accepts both transport types.',
      'Set DEFAULT_TRANSPORT_TYPE, and map the other type in your own mapping.',
      'transport_type',
      ['open', 'enclosed'],
    ),
    [
      'quote-zip-leading-zero',
      'A quote accepts a postal code with a leading zero, as a string.',
      'Trips to New England get no price. Change the codec of `delivery` in your own mapping.',
      asks({ delivery: '02134' }),
    ],
    [
      'quote-zip-plus-four',
      'A quote accepts a ZIP+4.',
      'Callers must omit the extension, or cut it in your own mapping.',
      asks({ delivery: '33166-1234' }),
    ],
    [
      'invalid-quote-4xx',
      'A quote with an invalid field gets a 4xx status.',
      'Callers get a price for a different trip, or 502. Tell the service.',
      asks({ pickup: '' }, isRefused),
    ],
  ),
  ...area(
    'Updates of quotes',
    'quotes',
    [
      'quote-id-updates',
      'An update accepts the id that the quote returned.',
      'Updates of quotes get 404. Tell the service.',
      quotedAnew(({ change }) => change()),
    ],
    [
      'quote-update-keeps-id',
      "An update keeps the quote's id.",
      'Updates of quotes get 502. Tell the service.',
      quotedAnew(async ({ id, change }) => sameId(textIn(done('an update', await change()), 'shipment_id'), id)),
    ],
  ),
  ...area(
    'Bookings',
    'bookings',
    [
      'shipments-plural',
      'POST /v2/shipments makes a shipment.',
      'Set V2_SHIPMENT_PATH=/v2/shipment, or auto.',
      booksAt('/v2/shipments'),
    ],
    [
      'shipment-singular',
      'POST /v2/shipment also makes a shipment.',
      'Set V2_SHIPMENT_PATH=/v2/shipments, or auto.',
      booksAt('/v2/shipment'),
    ],
    [
      'booking-returns-id',
      'The reply to a booking is the shipment, with a UUID as `id`.',
      'Without an `id`, every booking is unknown. Tell the service.',
      async (trial) => {
        const reply = done('a booking', await trial.book())
        const id = textIn(reply, 'id')
        return [isUuid(id), 'a UUID', id === '' ? namesInReply(reply) : 'an id of another form']
      },
    ],
    [
      'minimal-booking',
      'A booking needs no more fields than version 1 requires.',
      'Require the missing fields in your own mapping.',
      books({
        customer: { customer_name: 'Transload Test' },
        pickup: { zipcode: 75234 },
        delivery: { zipcode: 2134 },
        vehicles: [{ vin: VIN }],
        instructions: undefined,
      }),
    ],
    [
      'external-id-twice',
      'Two bookings can have the same `external_id`: one reference often covers several vehicles.',
      'The second vehicle is refused or in doubt. Add the VIN to the reference in your own mapping.',
      bookedAnew(async ({ id, reference }, trial) => {
        const second = await trial.book({ external_id: reference, vehicles: [{ vin: OTHER_VIN }] })
        if (!isDone(second)) return [false, `the second one is answered ${described(second)}`]
        return textIn(second, 'id') !== id
      }),
    ],
    [
      'refused-makes-nothing',
      'A booking that gets a 4xx status was not made.',
      'Retries book twice. Remove that status from BOOKING_REFUSED_STATUSES.',
      bookedAnew(async ({ reference }, trial) => {
        if (!isDone(await trial.readShipment(reference))) throw new CannotTell('reads do not find an `external_id`')
        const refused = await trial.book({ customer: undefined })
        if (!isRefused(refused)) throw new CannotTell(`a wrong booking is answered ${described(refused)}`)
        const found = await trial.readShipment(refused.reference)
        return [isUnknown(found), `${refused.status}, and then ${described(found)}`]
      }),
    ],
    [
      'external-id-kept',
      'A shipment shows the `external_id` of its booking.',
      'Events cannot settle unknown bookings. Use bookings settle.',
      booked(({ read, reference }) => textIn(read, 'external_id') === reference),
    ],
  ),
  ...area(
    'Values that come back',
    'bookings',
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
      'A phone number comes back as digits.',
      OWN_MAPPING,
      ['pickup', 'contact_phone'],
      '2145550101',
    ),
    comesBack(
      'state-unchanged',
      'A state comes back as two uppercase letters.',
      OWN_MAPPING,
      ['pickup', 'state'],
      'TX',
    ),
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
      'Names and addresses are damaged. Tell the service.',
      ['instructions'],
      INSTRUCTIONS,
    ),
    comesBack(
      'customer-shown',
      'A shipment shows its customer.',
      'An update clears the customer. Tell the service, and do not let callers update.',
      ['customer', 'customer_name'],
      'Transload Test',
    ),
  ),
  ...area(
    'Dates',
    'bookings',
    datedBack(
      'date-form',
      'A date-time comes back as `2024-08-10T08:00:00+0000`, with or without milliseconds.',
      'Callers see the other form. Convert it in your own mapping.',
      '2030-08-10T08:00:00+0000',
      (value) => [/^0000-00-00T00:00:00(\.000)?[+-]0000$/.test(formOf(value)), formOf(value)],
    ),
    datedBack(
      'date-offset-obeyed',
      'A date-time with an offset comes back as the same moment.',
      "An update moves the shipment's dates. Tell the service.",
      '2030-08-10T08:00:00-0500',
      isMoment('2030-08-10T13:00:00Z'),
    ),
  ),
  ...area(
    'Reads of shipments',
    'bookings',
    [
      'read-is-shipment',
      'A read returns the shipment, with the requested `id`.',
      'Every read, update and cancel gets 502. Tell the service.',
      booked(({ read, id }) => {
        const shown = textIn(read, 'id')
        return [isSameThing(shown, id), '', shown === '' ? namesInReply(read) : 'another id']
      }),
    ],
    [
      'read-by-number',
      "A read by the service's own number finds the shipment.",
      'Callers can use only numbers that the gateway knows. Import others with xref import.',
      booked(async ({ read }, trial) => {
        const number = textIn(read, 'number')
        if (number === '') throw new CannotTell('the shipment has no number')
        return trial.readShipment(number)
      }),
    ],
    [
      'read-by-reference-is-no-other',
      'A read by `external_id` finds nothing, or a shipment that has it.',
      'Numbers that the gateway does not know get 502. Import them with xref import.',
      booked(async ({ reference }, trial) => {
        const reply = await trial.readShipment(reference)
        if (!isDone(reply)) return [isUnknown(reply), reply]
        return textIn(reply, 'external_id') === reference
      }),
    ],
    [
      'vehicles-have-ids',
      'Every vehicle has an id.',
      'Updates get 502. Tell the service.',
      booked(({ read }) => {
        const id = member(read.body, 'vehicles', 0, 'id')
        return [textOf(id) !== '', `id: ${typeName(id)}`]
      }),
    ],
    [
      'vehicles-in-order',
      'Vehicles come back in the order in which they were sent.',
      'Reads show another vehicle first. Let callers send `VinNo`.',
      async (trial) => {
        const vehicles = [VIN, OTHER_VIN].map((vin) => ({ vin, type: 'van' }))
        const { read } = await trial.newShipment({ vehicles })
        return textIn(read, 'vehicles', 0, 'vin') === VIN
      },
    ],
  ),
  ...area(
    'Updates of shipments',
    'bookings',
    [
      'update-takes-whole',
      'An update accepts a shipment as read, without fields that only the service sets.',
      'Updates are refused. Mark the refused places with `setByService` in your own mapping.',
      bookedAnew(async ({ update, readAgain }) => {
        const reply = await update(CHANGED)
        if (!isDone(reply)) return reply
        return textIn(await readAgain(), 'instructions') === CHANGED.instructions
      }),
    ],
    [
      'vehicle-with-id-stays',
      'A vehicle sent with its id is not added again.',
      'Updates duplicate vehicles. Do not let callers update, and tell the service.',
      bookedAnew(async ({ update, readAgain }) => {
        done('an update', await update())
        const vehicles = member((await readAgain()).body, 'vehicles')
        return Array.isArray(vehicles) && vehicles.length === 1
      }),
    ],
    [
      'update-names-shipment',
      'The reply to an update has no other id.',
      'Updates get 502 although they were made. Tell the service.',
      bookedAnew(async ({ id, update }) => sameId(textIn(done('an update', await update()), 'id'), id)),
    ],
    [
      'if-match-obeyed',
      'If a read shows an `ETag`, an update with an old one gets 412.',
      'An update can overwrite another change. Tell the service.',
      bookedAnew(async ({ read, update }) => {
        const etag = read.headers['etag']
        if (typeof etag !== 'string') throw new CannotTell('a read shows no ETag')
        done('an update', await update(CHANGED))
        const reply = await update({ instructions: 'Transload test: again' }, { 'if-match': etag })
        return [reply.status === 412, reply]
      }),
    ],
  ),
  ...area(
    'Approvals',
    'bookings',
    [
      'approve-takes-empty-object',
      'An approval accepts an empty object as its body.',
      'Approvals are refused. Change quote.approve in your own mapping.',
      quotedAnew(({ approve }) => approve()),
    ],
    [
      'approved-quote-is-shipment',
      "An approved quote becomes a shipment with the quote's id.",
      'If an approval makes no shipment, set APPROVAL_BOOKS=no. If the id differs, bookings can double: tell the service.',
      approved(({ id }, trial) => trial.readShipment(id)),
    ],
    [
      'approve-names-quote',
      "The reply to an approval has no id but the quote's.",
      'Approvals get 502 although they were made. Change quote.approve in your own mapping.',
      approved(({ id, reply }) => {
        const others = ['id', 'shipment_id', 'quote_id'].filter((key) => !['', id].includes(textIn(reply, key)))
        return [others.length === 0, 'no other id', `another id as ${others.join(', ')}`]
      }),
    ],
    [
      'approve-twice-makes-one',
      'A second approval makes no second shipment.',
      'A repeated approval can book twice. Tell the service.',
      approved(async ({ id, approve }) => {
        const again = await approve()
        const isSame = !isDone(again) || ['', id].includes(textIn(again, 'shipment_id'))
        return [isSame, again, `${described(again)}, with another id`]
      }),
    ],
    [
      'approved-takes-booking',
      "An approved quote's shipment accepts a booking's fields as an update.",
      'Bookings of approved quotes fail. Set APPROVAL_BOOKS=no, and cancel the shipments that approvals make.',
      approved(async ({ id }, trial) => {
        const known = done('a read of its shipment', await trial.readShipment(id)).body
        const reference = trial.nextReference()
        const body = updated(known, { ...bookingBody(reference), vehicles: [{ vin: OTHER_VIN }] }, 0)
        return trial.ask('PUT', trial.shipmentPath(id), { body, makes: [reference] })
      }),
    ],
    [
      'quote-id-books',
      "A booking accepts a `quote_id`, and gets the quote's price.",
      'Keep SEND_QUOTE_ID=false. If approvals make no shipment, set APPROVAL_BOOKS=no.',
      quotedAnew(async ({ id, reply: quote }, trial) => {
        const reply = await trial.book({ quote_id: id, vehicles: [{ vin: OTHER_VIN, type: 'car' }] })
        if (!isDone(reply)) return reply
        const isSame = textIn(reply, 'price') === textIn(quote, 'price')
        return [isSame, `${described(reply)}, at ${isSame ? 'the price of the quote' : 'another price'}`]
      }),
    ],
  ),
  ...area(
    'Cancellations',
    'bookings',
    [
      'delete-cancels',
      'DELETE of a new shipment succeeds.',
      'Callers cannot cancel. Tell the service, and have it cancel the test bookings.',
      bookedAnew(({ cancel }) => cancel()),
    ],
    [
      'changes-at-once',
      'A booking, an update and a cancellation are done when they are answered: none gets 202.',
      'Bookings stay unknown until a read shows them, and updates get 502 before they are done. Register for events.',
      bookedAnew(async ({ created, update, cancel }) => {
        const replies = [created, done('an update', await update()), done('a cancellation', await cancel())]
        const statuses = replies.map(({ status }) => status)
        return [!statuses.includes(202), statuses.join(', ')]
      }),
    ],
    [
      'canceled-is-shown',
      'A canceled shipment has the status `canceled`, or is no longer found.',
      'Cancels get 502 although they were made. Callers must read the shipment.',
      bookedAnew(async ({ cancel, readAgain }) => {
        done('a cancellation', await cancel())
        const read = await readAgain()
        if (isUnknown(read)) return [true, read]
        return isCanceled({ status: member(read.body, 'status') })
      }),
    ],
    [
      'cancel-again',
      'A second DELETE succeeds, or gets 400, 404, 409, 410 or 422.',
      'A second cancel gets an error. Tell the service.',
      bookedAnew(async ({ cancel }) => {
        done('a cancellation', await cancel())
        const second = await cancel()
        return [isDone(second) || is(400, 404, 409, 410, 422)(second), second]
      }),
    ],
    [
      'reference-free-after-cancel',
      "A canceled shipment's `external_id` can be booked again.",
      'Callers cannot reuse the reference of a canceled booking. Tell them.',
      bookedAnew(async ({ id, reference, cancel }, trial) => {
        done('a cancellation', await cancel())
        const reply = await trial.book({ external_id: reference })
        const isOther = textIn(reply, 'id') !== id
        return [isDone(reply) && isOther, `${described(reply)}${isOther ? '' : ', with the same id'}`]
      }),
    ],
  ),
]

/** The outcomes of an assumption. One that needs test bookings is `not tried` unless the operator allows them. */
export const verdicts = ['confirmed', 'contradicted', 'cannot tell', 'not tried'] as const

/** The outcome of one assumption. */
export interface Result {
  readonly id: string
  readonly verdict: (typeof verdicts)[number]
  /** The gateway's own description of the reply, if it adds detail: statuses, types and forms, never a value of the service. */
  readonly seen: string
}

/** After this many checks in a row without a reply, the service counts as unreachable. */
const MOST_WITHOUT_REPLY = 5

/** Checks assumptions one after the other. Throws `NotAnswered` if the service is unreachable, because the rest would only wait. */
export async function* tryAll(
  assumptions: readonly Assumption[],
  trial: Trial,
  mayBook: boolean,
): AsyncGenerator<readonly [Assumption, Result]> {
  let withoutReply = 0
  for (const assumption of assumptions) {
    const { id } = assumption
    try {
      yield [assumption, await resultOf(assumption, trial, mayBook)]
      withoutReply = 0
    } catch (error) {
      if (!(error instanceof CannotTell)) throw error
      yield [assumption, { id, verdict: 'cannot tell', seen: error.message }]
      withoutReply = error instanceof NotAnswered ? withoutReply + 1 : 0
      if (withoutReply === MOST_WITHOUT_REPLY) throw error
    }
  }
}

async function resultOf({ id, effect, check }: Assumption, trial: Trial, mayBook: boolean): Promise<Result> {
  if (effect === 'bookings' && !mayBook) return { id, verdict: 'not tried', seen: 'needs --bookings and --stage' }
  const found = await check(trial)
  const [isKept, kept, otherwise = kept] =
    typeof found === 'boolean' ? [found, ''] : 'status' in found ? [isDone(found), found] : found
  const seen = isKept ? kept : otherwise
  return { id, verdict: isKept ? 'confirmed' : 'contradicted', seen: typeof seen === 'string' ? seen : described(seen) }
}
