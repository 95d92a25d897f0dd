import { isUuid, serviceId } from '../text/service-text.ts'
import { type About, aboutBooking, BOOK, READ } from './about.ts'
import { type Area, type Assumption, CannotTell, contradicted, decide, type Finding } from './assumption.ts'
import { bookingBody, OTHER_VIN, VIN } from './samples.ts'
import { described, isDone, isRefused, isUnknown, member, namesIn, type Seen, textOf, typeName } from './seen.ts'
import type { TestShipment, Trial } from './trial.ts'

const STATUSES = ['new', 'posted', 'assigned', 'picked_up', 'delivered', 'hold', 'canceled']

/** Makes an assumption that the service refuses a booking. */
function refuses(about: About, change: object): Assumption {
  return {
    ...about,
    effect: 'bookings',
    requests: [BOOK],
    check: async (trial) => {
      const reply = await trial.book(change)
      return decide(isRefused(reply), described(reply))
    },
  }
}

/** Assumptions about making a shipment. */
export const bookings: Area = {
  title: 'Bookings',
  assumptions: [
    {
      id: 'shipments-plural',
      sentence: 'POST /v2/shipments makes a shipment.',
      how: 'Books with the path /v2/shipments.',
      otherwise: 'Set V2_SHIPMENT_PATH=/v2/shipment; auto finds out by itself.',
      effect: 'bookings',
      requests: [BOOK],
      check: (trial) => booksAt(trial, '/v2/shipments'),
    },
    {
      id: 'shipment-singular',
      sentence: 'POST /v2/shipment makes a shipment, too.',
      how: 'Books with the path /v2/shipment.',
      otherwise: 'Set V2_SHIPMENT_PATH=/v2/shipments; auto finds out by itself.',
      effect: 'bookings',
      requests: ['POST /v2/shipment'],
      check: (trial) => booksAt(trial, '/v2/shipment'),
    },
    {
      id: 'booking-returns-id',
      sentence: 'The reply to a booking is the shipment, with an `id` that is a UUID.',
      how: 'Books.',
      otherwise:
        'Without an `id`, every booking is unknown until someone settles it. Change the id of shipment.create in a mapping of your own (MAPPINGS_DIR).',
      effect: 'bookings',
      requests: [BOOK],
      check: async (trial) => {
        const reply = await trial.book()
        if (!isDone(reply)) throw new CannotTell(`a booking is answered ${described(reply)}`)
        const id = serviceId(member(reply.body, 'id')) ?? ''
        return decide(isUuid(id), id === '' ? namesIn(reply.body) : isUuid(id) ? 'a UUID' : 'an id of another form')
      },
    },
    aboutBooking(
      {
        id: 'booking-returns-number',
        sentence: 'The reply to a booking has a `number` that people can use.',
        how: 'Books.',
        otherwise: 'Nothing: a `Message` then shows the id.',
      },
      ({ created }) => decide(textOf(member(created.body, 'number')) !== '', typeName(member(created.body, 'number'))),
    ),
    aboutBooking(
      {
        id: 'booking-status-new',
        sentence: 'A new shipment has the status `new`.',
        how: 'Books.',
        otherwise: 'Nothing: callers see the status of the service, except for `canceled`.',
      },
      ({ created }) => {
        const status = member(created.body, 'status')
        return decide(
          status === 'new',
          status === 'new'
            ? 'new'
            : STATUSES.includes(textOf(status))
              ? textOf(status)
              : `${typeName(status)}, not in the list`,
        )
      },
    ),
    aboutBooking(
      {
        id: 'booking-returns-price',
        sentence: 'A shipment has a `price`.',
        how: 'Books, and reads the shipment.',
        otherwise: 'Nothing: `Cost` is empty where callers read the shipment.',
      },
      ({ read }) => decide(member(read.body, 'price') !== undefined, typeName(member(read.body, 'price'))),
    ),
    {
      id: 'minimal-booking',
      sentence: 'A booking needs no more than what version 1 requires.',
      how: 'Books with a `customer_name`, two ZIP codes, a VIN and a transport type, and nothing else.',
      otherwise:
        'Require the further fields in a mapping of your own (MAPPINGS_DIR), or callers get the refusal of the service.',
      effect: 'bookings',
      requests: [BOOK],
      check: async (trial) => {
        const reply = await trial.book({
          customer: { customer_name: 'Transload Test' },
          pickup: { zipcode: 75234 },
          delivery: { zipcode: 2134 },
          vehicles: [{ vin: VIN }],
          instructions: undefined,
        })
        return decide(isDone(reply), described(reply))
      },
    },
    refuses(
      {
        id: 'booking-needs-customer',
        sentence: 'A booking without a customer is refused with a 4xx status.',
        how: 'Books without `customer`.',
        otherwise:
          'Nothing: the gateway requires `BillToName` or a remembered customer. A mapping of your own may drop that (MAPPINGS_DIR).',
      },
      { customer: undefined },
    ),
    refuses(
      {
        id: 'booking-needs-pickup',
        sentence: 'A booking without a pickup is refused with a 4xx status.',
        how: 'Books without `pickup`.',
        otherwise: 'Nothing: the gateway requires `PickupZip` or `PickupCity`.',
      },
      { pickup: undefined },
    ),
    refuses(
      {
        id: 'booking-needs-vehicles',
        sentence: 'A booking without vehicles is refused with a 4xx status.',
        how: 'Books without `vehicles`.',
        otherwise: 'Nothing: the gateway requires `VinNo`, or `Year` with `Make` and `Model`.',
      },
      { vehicles: undefined },
    ),
    refuses(
      {
        id: 'zip-string-refused',
        sentence: 'A ZIP code as a string is refused in a booking.',
        how: 'Books with `pickup.zipcode` as the string `75234`.',
        otherwise: 'Nothing: the gateway sends integers.',
      },
      { pickup: { zipcode: '75234', city: 'Dallas', state: 'TX' } },
    ),
    {
      id: 'booking-unknown-field',
      sentence: 'A booking with a field that the service does not know is not refused.',
      how: 'Books with a further field, `transload_test`.',
      otherwise: 'A mapping of your own must not send fields that version 2 lacks.',
      effect: 'bookings',
      requests: [BOOK],
      check: async (trial) => {
        const reply = await trial.book({ transload_test: 'x' })
        return decide(isDone(reply), described(reply))
      },
    },
    {
      id: 'external-id-twice',
      sentence: 'An `external_id` may come twice: one reference often covers several vehicles.',
      how: 'Books two vehicles under one `external_id`, and compares the ids.',
      otherwise:
        'The second vehicle of a reference is refused or lost. Send the VIN with the reference, by a mapping of your own (MAPPINGS_DIR).',
      effect: 'bookings',
      requests: [BOOK, READ],
      check: async (trial) => {
        const first = await trial.newShipment()
        return secondOf(first, await trial.book({ external_id: first.reference, vehicles: [{ vin: OTHER_VIN }] }))
      },
    },
    {
      id: 'booking-repeats',
      sentence: 'Booking is not idempotent: the same booking twice makes two shipments.',
      how: 'Sends the same booking twice, and compares the ids.',
      otherwise:
        'Nothing: the gateway never sends a booking twice. BOOKING_REFUSED_STATUSES decides about a refusal of the second one.',
      effect: 'bookings',
      requests: [BOOK, READ],
      check: async (trial) => {
        const first = await trial.newShipment()
        return secondOf(first, await trial.book({ external_id: first.reference }))
      },
    },
    {
      id: 'refused-makes-nothing',
      sentence: 'A booking that is refused with a 4xx status has made nothing.',
      how: 'Books without a customer, and looks for a shipment with its `external_id`, if reads find those.',
      otherwise: 'Callers that repeat a refused booking book twice. Leave that status out of BOOKING_REFUSED_STATUSES.',
      effect: 'bookings',
      requests: [BOOK, READ],
      check: async (trial) => {
        const known = await trial.newShipment()
        if (!isDone(await trial.readShipment(known.reference)))
          throw new CannotTell('reads do not find an `external_id`')
        const refused = await trial.book({ customer: undefined })
        if (!isRefused(refused)) throw new CannotTell(`a wrong booking is answered ${described(refused)}`)
        const found = await trial.readShipment(refused.reference)
        return decide(isUnknown(found), `${refused.status}, and then ${described(found)}`)
      },
    },
    aboutBooking(
      {
        id: 'external-id-kept',
        sentence: 'A shipment shows the `external_id` that it was booked with.',
        how: 'Books, reads the shipment, and compares `external_id`.',
        otherwise: 'Events cannot settle unknown bookings: settle them with bookings settle.',
      },
      ({ read, reference }) => {
        const value = member(read.body, 'external_id')
        return decide(
          value === reference,
          value === undefined ? 'missing' : value === reference ? 'unchanged' : 'changed',
        )
      },
    ),
  ],
}

async function booksAt(trial: Trial, path: string): Promise<Finding> {
  const reference = trial.nextReference()
  const reply = await trial.ask('POST', path, { body: bookingBody(reference), reference })
  return decide(isDone(reply) && serviceId(member(reply.body, 'id')) !== undefined, described(reply))
}

function secondOf(first: TestShipment, second: Seen): Finding {
  if (!isDone(second)) return contradicted(`the second one is answered ${described(second)}`)
  const isOther = textOf(member(second.body, 'id')) !== first.id
  return decide(isOther, isOther ? 'two ids' : 'the same id twice')
}
