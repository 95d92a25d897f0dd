import { NO_SHIPMENT } from '../service/acceptance.ts'
import { type About, aboutBooking, aboutChange, BOOK, READ } from './about.ts'
import { type Area, type Assumption, CannotTell, contradicted, decide, type Finding } from './assumption.ts'
import { OTHER_VIN, updateBody, VIN } from './samples.ts'
import { described, isDone, isUnknown, member, namesIn, type Seen, textOf, typeName } from './seen.ts'
import type { TestShipment, Trial } from './trial.ts'

const UPDATE = 'PUT /v2/shipments/{shipment_id}'

/** Assumptions about reading a shipment. */
export const reads: Area = {
  title: 'Reads of shipments',
  assumptions: [
    aboutBooking(
      {
        id: 'read-is-shipment',
        sentence: 'A read answers the shipment itself, with the `id` that was asked for.',
        how: 'Books, and reads the shipment.',
        otherwise: 'Every read, update and cancellation ends in a 502. Tell the service: this cannot be set.',
      },
      ({ read, id }) => {
        const shown = textOf(member(read.body, 'id'))
        return decide(
          shown.toLowerCase() === id.toLowerCase(),
          shown === '' ? namesIn(read.body) : shown === id ? 'the same id' : 'another id',
        )
      },
    ),
    aboutBooking(
      {
        id: 'read-by-number',
        sentence: "A read by the service's own number finds the shipment.",
        how: 'Books, and reads the shipment by its `number`.',
        otherwise: 'Callers cannot use numbers that the cross-reference does not know. Import them with xref import.',
      },
      async ({ created }, trial) => {
        const number = textOf(member(created.body, 'number'))
        if (number === '') throw new CannotTell('the shipment has no number')
        const reply = await trial.readShipment(number)
        return decide(isDone(reply), described(reply))
      },
    ),
    aboutBooking(
      {
        id: 'read-by-reference-is-no-other',
        sentence: 'A read by an `external_id` finds nothing, or a shipment that has it.',
        how: 'Books, reads by the `external_id`, and compares.',
        otherwise:
          'Callers with numbers that the cross-reference does not know get a 502. Import them with xref import.',
      },
      async ({ reference }, trial) => {
        const reply = await trial.readShipment(reference)
        if (!isDone(reply)) return decide(isUnknown(reply), described(reply))
        const isSame = textOf(member(reply.body, 'external_id')) === reference
        return decide(isSame, isSame ? 'a shipment that has it' : 'another shipment')
      },
    ),
    aboutBooking(
      {
        id: 'no-etag',
        sentence: 'A read shows no `ETag`.',
        how: 'Books, reads the shipment, and looks for the header.',
        otherwise:
          'Nothing: the gateway sends it back as `If-Match`, which protects updates from changes made elsewhere.',
      },
      ({ read }) => decide(read.headers['etag'] === undefined, read.headers['etag'] === undefined ? 'none' : 'an ETag'),
    ),
    aboutBooking(
      {
        id: 'vehicles-have-ids',
        sentence: 'Every vehicle of a shipment has an id.',
        how: 'Books, and reads the shipment.',
        otherwise:
          'Updates that change the vehicle end in a 502, because the service would add a second one. Tell the service.',
      },
      ({ read }) => {
        const id = member(read.body, 'vehicles', 0, 'id')
        return decide(textOf(id) !== '', `id: ${typeName(id)}`)
      },
    ),
    {
      id: 'vehicles-in-order',
      sentence: 'The vehicles of a shipment come back in the order in which they were sent.',
      how: 'Books two vehicles, and compares the VIN of the first one.',
      otherwise: 'Callers that read a shipment of several vehicles see another one first. Let them send `VinNo`.',
      effect: 'bookings',
      requests: [BOOK, READ],
      check: async (trial) => {
        const { read } = await trial.newShipment({
          vehicles: [
            { vin: VIN, type: 'van' },
            { vin: OTHER_VIN, type: 'van' },
          ],
        })
        const isFirst = textOf(member(read.body, 'vehicles', 0, 'vin')) === VIN
        return decide(isFirst, isFirst ? 'in order' : 'in another order')
      },
    },
  ],
}

/** Sends a shipment back, with changes, as an update. */
async function put(
  trial: Trial,
  { id, reference, read }: TestShipment,
  change: object = {},
  headers = {},
): Promise<Seen> {
  const body = { ...updateBody(read.body), ...change }
  return trial.ask('PUT', trial.shipmentPath(id), { body, headers, reference })
}

const aboutUpdate = (about: About, check: (shipment: TestShipment, trial: Trial) => Promise<Finding>): Assumption =>
  aboutChange(UPDATE, about, check)

async function vehiclesAfter(trial: Trial, { id }: TestShipment): Promise<number> {
  const vehicles = member((await trial.readShipment(id)).body, 'vehicles')
  return Array.isArray(vehicles) ? vehicles.length : 0
}

/** Assumptions about updating a shipment. */
export const updates: Area = {
  title: 'Updates of shipments',
  assumptions: [
    aboutUpdate(
      {
        id: 'update-takes-whole',
        sentence: 'An update takes a shipment as it was read, without what only the service sets.',
        how: 'Books, reads the shipment, and sends it back with other `instructions`.',
        otherwise:
          'Updates are refused. Mark the refused places as set by the service in a mapping of your own (MAPPINGS_DIR).',
      },
      async (shipment, trial) => {
        const reply = await put(trial, shipment, { instructions: 'Transload test: changed' })
        if (!isDone(reply)) return contradicted(described(reply))
        const after = textOf(member((await trial.readShipment(shipment.id)).body, 'instructions'))
        return decide(
          after === 'Transload test: changed',
          after === 'Transload test: changed' ? 'changed' : 'not changed',
        )
      },
    ),
    aboutUpdate(
      {
        id: 'vehicle-with-id-stays',
        sentence: 'A vehicle that is sent with its id stays one vehicle.',
        how: 'Books, sends the shipment back, and counts the vehicles.',
        otherwise: 'Updates double vehicles. Do not let callers update, and tell the service.',
      },
      async (shipment, trial) => {
        const reply = await put(trial, shipment)
        if (!isDone(reply)) throw new CannotTell(`an update is answered ${described(reply)}`)
        const count = await vehiclesAfter(trial, shipment)
        return decide(count === 1, count === 1 ? 'one vehicle' : `${count} vehicles`)
      },
    ),
    aboutUpdate(
      {
        id: 'vehicle-without-id-is-new',
        sentence: 'A vehicle that is sent without its id becomes a second one.',
        how: 'Books, sends the shipment back without the id of its vehicle, and counts the vehicles.',
        otherwise: 'Nothing: the gateway always sends the ids.',
      },
      async (shipment, trial) => {
        const reply = await put(trial, shipment, { vehicles: [{ vin: OTHER_VIN, type: 'van' }] })
        if (!isDone(reply)) return contradicted(described(reply))
        const count = await vehiclesAfter(trial, shipment)
        return decide(count === 2, `${count} vehicles`)
      },
    ),
    aboutUpdate(
      {
        id: 'update-names-shipment',
        sentence: 'The reply to an update names no other shipment.',
        how: 'Books, sends the shipment back, and compares the id in the reply, if there is one.',
        otherwise: 'Updates end in a 502 although they were carried out. Tell the service.',
      },
      async (shipment, trial) => {
        const reply = await put(trial, shipment)
        if (!isDone(reply)) throw new CannotTell(`an update is answered ${described(reply)}`)
        const named = textOf(member(reply.body, 'id'))
        return decide(
          named === '' || named === shipment.id,
          named === '' ? 'no id' : named === shipment.id ? 'the same id' : 'another id',
        )
      },
    ),
    aboutUpdate(
      {
        id: 'if-match-obeyed',
        sentence: 'Where a read shows an `ETag`, an update with an outdated one is refused with 412.',
        how: 'Books, sends the shipment back, and sends it again with the `ETag` of before as `If-Match`.',
        otherwise: 'An update can overwrite a change that was made elsewhere. Tell the service.',
      },
      async (shipment, trial) => {
        const etag = shipment.read.headers['etag']
        if (typeof etag !== 'string') throw new CannotTell('a read shows no ETag')
        const changed = await put(trial, shipment, { instructions: 'Transload test: changed' })
        if (!isDone(changed)) throw new CannotTell(`an update is answered ${described(changed)}`)
        const reply = await put(trial, shipment, { instructions: 'Transload test: again' }, { 'if-match': etag })
        return decide(reply.status === 412, described(reply))
      },
    ),
    {
      id: 'update-unknown-404',
      sentence: 'An update of an unknown shipment is answered with 404 or 410, and makes none.',
      how: `Updates a shipment with an unknown UUID.`,
      otherwise: 'Nothing: the gateway reads a shipment before it updates it.',
      effect: 'bookings',
      requests: [UPDATE],
      check: async (trial) => {
        const body = { instructions: 'Transload test' }
        const reply = await trial.ask('PUT', trial.shipmentPath(NO_SHIPMENT), { body })
        return decide(isUnknown(reply), described(reply))
      },
    },
  ],
}
