import { isCanceled } from '../calls/verify.ts'
import { NO_SHIPMENT } from '../service/acceptance.ts'
import { type About, aboutChange, BOOK, READ } from './about.ts'
import { type Area, type Assumption, CannotTell, decide, type Finding } from './assumption.ts'
import { described, isDone, isUnknown, member, textOf, typeName } from './seen.ts'
import type { TestShipment, Trial } from './trial.ts'

const CANCEL = 'DELETE /v2/shipments/{shipment_id}'

const aboutCancel = (about: About, check: (shipment: TestShipment, trial: Trial) => Promise<Finding>): Assumption =>
  aboutChange(CANCEL, about, check)

const cancel = (trial: Trial, id: string) => trial.ask('DELETE', trial.shipmentPath(id))

/** Assumptions about canceling a shipment. */
export const cancellations: Area = {
  title: 'Cancellations',
  assumptions: [
    aboutCancel(
      {
        id: 'delete-cancels',
        sentence: 'DELETE of a new shipment succeeds.',
        how: 'Books, and cancels the shipment.',
        otherwise: 'Callers cannot cancel. Tell the service, and cancel the test bookings there.',
      },
      async ({ id }, trial) => {
        const reply = await cancel(trial, id)
        return decide(isDone(reply), described(reply))
      },
    ),
    aboutCancel(
      {
        id: 'canceled-is-shown',
        sentence: 'A canceled shipment has the status `canceled`, or is not found any more.',
        how: 'Books, cancels the shipment, and reads it.',
        otherwise:
          'Cancellations end in a 502. Change `doneWhenStatus` of shipment.cancel in a mapping of your own (MAPPINGS_DIR).',
      },
      async ({ id }, trial) => {
        const reply = await cancel(trial, id)
        if (!isDone(reply)) throw new CannotTell(`a cancellation is answered ${described(reply)}`)
        const read = await trial.readShipment(id)
        if (isUnknown(read)) return decide(true, described(read))
        const status = member(read.body, 'status')
        const isShown = isCanceled({ status })
        return decide(isShown, isShown ? 'canceled' : `another status (${typeName(status)})`)
      },
    ),
    aboutCancel(
      {
        id: 'cancel-again',
        sentence: 'A second DELETE of a shipment succeeds, or is refused with 400, 404, 409, 410 or 422.',
        how: 'Books, and cancels the shipment twice.',
        otherwise: 'Callers that cancel twice get an error for what is done. Tell the service.',
      },
      async ({ id }, trial) => {
        const first = await cancel(trial, id)
        if (!isDone(first)) throw new CannotTell(`a cancellation is answered ${described(first)}`)
        const second = await cancel(trial, id)
        return decide(isDone(second) || [400, 404, 409, 410, 422].includes(second.status), described(second))
      },
    ),
    {
      id: 'reference-free-after-cancel',
      sentence: 'The `external_id` of a canceled shipment may be booked again.',
      how: 'Books, cancels the shipment, and books again with its `external_id`.',
      otherwise: 'A caller that cancels a booking cannot book again under its reference. Tell the callers.',
      effect: 'bookings',
      requests: [BOOK, READ, CANCEL],
      check: async (trial) => {
        const { id, reference } = await trial.newShipment()
        const canceled = await cancel(trial, id)
        if (!isDone(canceled)) throw new CannotTell(`a cancellation is answered ${described(canceled)}`)
        const reply = await trial.book({ external_id: reference })
        const isOther = textOf(member(reply.body, 'id')) !== id
        return decide(isDone(reply) && isOther, `${described(reply)}${isOther ? '' : ', with the same id'}`)
      },
    },
    {
      id: 'cancel-unknown-404',
      sentence: 'A DELETE of an unknown shipment is answered with 404 or 410.',
      how: `Cancels a shipment with an unknown UUID.`,
      otherwise: 'Nothing: a cancellation is believed only after a read.',
      effect: 'bookings',
      requests: [CANCEL],
      check: async (trial) => {
        const reply = await cancel(trial, NO_SHIPMENT)
        return decide(isUnknown(reply), described(reply))
      },
    },
  ],
}
