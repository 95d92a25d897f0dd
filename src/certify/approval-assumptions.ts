import { ASK, BOOK, READ } from './about.ts'
import { type Area, CannotTell, contradicted, decide } from './assumption.ts'
import { bookingBody, OTHER_VIN, updateBody } from './samples.ts'
import { described, isDone, member, textOf } from './seen.ts'
import type { Trial } from './trial.ts'

const UPDATE = 'PUT /v2/shipments/{shipment_id}'
const APPROVE = 'POST /v2/quote/{quote_id}/approve'

/** Assumptions about accepting a quote, which may make a shipment. */
export const approvals: Area = {
  title: 'Approvals',
  assumptions: [
    {
      id: 'approve-takes-empty-object',
      sentence: 'An approval takes an empty object as its body.',
      how: 'Approves a quote, with `{}`.',
      otherwise: 'Approvals are refused. Change the request of quote.approve in a mapping of your own (MAPPINGS_DIR).',
      effect: 'bookings',
      requests: [...ASK, APPROVE],
      check: async (trial) => {
        const reply = await approve(trial, (await trial.newQuote()).id)
        return decide(isDone(reply), described(reply))
      },
    },
    {
      id: 'approved-quote-is-shipment',
      sentence: "An approved quote becomes a shipment, and the quote's id is the shipment's.",
      how: 'Approves a quote, and reads a shipment with the id of the quote.',
      otherwise:
        'Set APPROVAL_BOOKS=no if an approval makes no shipment. If it makes one with another id, bookings can double: tell the service.',
      effect: 'bookings',
      requests: [...ASK, APPROVE, READ],
      check: async (trial) => {
        const { id } = await approved(trial)
        const reply = await trial.readShipment(id)
        return decide(isDone(reply), described(reply))
      },
    },
    {
      id: 'approve-names-quote',
      sentence: "The reply to an approval names no other id than the quote's.",
      how: 'Approves a quote, and compares the ids in the reply.',
      otherwise:
        'Approvals end in a 502 although the quote is approved. Change the reply of quote.approve in a mapping of your own (MAPPINGS_DIR).',
      effect: 'bookings',
      requests: [...ASK, APPROVE],
      check: async (trial) => {
        const { id, reply } = await approved(trial)
        const named = ['id', 'shipment_id', 'quote_id'].filter((key) => textOf(member(reply.body, key)) !== '')
        const others = named.filter((key) => textOf(member(reply.body, key)) !== id)
        return decide(others.length === 0, others.length === 0 ? 'no other id' : `another id as ${others.join(', ')}`)
      },
    },
    {
      id: 'approve-twice-makes-one',
      sentence: 'A second approval makes no second shipment.',
      how: 'Approves a quote twice, and compares the ids in both replies.',
      otherwise:
        'An approval that is repeated before the service shows its shipment, or under another id, books twice. Tell the service.',
      effect: 'bookings',
      requests: [...ASK, APPROVE],
      check: async (trial) => {
        const { id } = await approved(trial)
        const again = await approve(trial, id)
        const named = textOf(member(again.body, 'shipment_id'))
        const isSame = !isDone(again) || named === '' || named === id
        return decide(isSame, `${described(again)}${isSame ? '' : ', with another id'}`)
      },
    },
    {
      id: 'approved-takes-booking',
      sentence: 'The shipment of an approved quote takes the fields of a booking as an update.',
      how: 'Approves a quote, reads its shipment, and updates it with a booking and the ids of its vehicles.',
      otherwise:
        'Bookings of approved quotes end in an error. Set APPROVAL_BOOKS=no, and cancel the shipments of approvals at the service.',
      effect: 'bookings',
      requests: [...ASK, APPROVE, READ, UPDATE],
      check: async (trial) => {
        const { id } = await approved(trial)
        const read = await trial.readShipment(id)
        if (!isDone(read)) throw new CannotTell(`a read of its shipment is answered ${described(read)}`)
        const reference = trial.nextReference()
        const { vehicles } = updateBody(read.body)
        const [vehicle] = Array.isArray(vehicles) ? vehicles : []
        const body = {
          ...updateBody(read.body),
          ...bookingBody(reference),
          vehicles: [{ ...Object(vehicle), vin: OTHER_VIN }],
        }
        const reply = await trial.ask('PUT', trial.shipmentPath(id), { body, reference })
        return decide(isDone(reply), described(reply))
      },
    },
    {
      id: 'quote-id-books',
      sentence: "A booking takes the `quote_id` of a quote, and gets the quote's price.",
      how: 'Asks for a quote, and books with its id.',
      otherwise: 'Set SEND_QUOTE_ID=false, which is the default, and APPROVAL_BOOKS=no if approvals make no shipment.',
      effect: 'bookings',
      requests: [...ASK, BOOK],
      check: async (trial) => {
        const { id, reply: quote } = await trial.newQuote()
        const reply = await trial.book({ quote_id: id, vehicles: [{ vin: OTHER_VIN, type: 'car' }] })
        if (!isDone(reply)) return contradicted(described(reply))
        const isSame = textOf(member(reply.body, 'price')) === textOf(member(quote.body, 'price'))
        return decide(isSame, `${described(reply)}, ${isSame ? 'at the price of the quote' : 'at another price'}`)
      },
    },
  ],
}

const approve = (trial: Trial, id: string) =>
  trial.ask('POST', `/v2/quote/${encodeURIComponent(id)}/approve`, { body: {} })

async function approved(trial: Trial) {
  const { id } = await trial.newQuote()
  const reply = await approve(trial, id)
  if (!isDone(reply)) throw new CannotTell(`an approval is answered ${described(reply)}`)
  return { id, reply }
}
