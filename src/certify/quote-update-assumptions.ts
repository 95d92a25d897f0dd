import { NO_SHIPMENT } from '../service/acceptance.ts'
import { ASK } from './about.ts'
import { type Area, CannotTell, decide } from './assumption.ts'
import { TRIP } from './samples.ts'
import { described, isDone, isUnknown, member, namesIn, type Seen, textOf } from './seen.ts'
import type { Trial } from './trial.ts'

const UPDATE = 'PUT /v2/quote/{quote_id}'

/** Assumptions about changing a quote. */
export const quoteUpdates: Area = {
  title: 'Updates of quotes',
  assumptions: [
    {
      id: 'quote-id-updates',
      sentence: 'The id that a quote returns is the id that an update takes.',
      how: 'Asks for a quote, and updates it with the same facts and `enclosed`.',
      otherwise: 'Updates of quotes end in a 404. Change the id of quote.get in a mapping of your own (MAPPINGS_DIR).',
      effect: 'quotes',
      requests: [...ASK, UPDATE],
      check: async (trial) => {
        const reply = await updated(trial)
        return decide(isDone(reply), described(reply))
      },
    },
    {
      id: 'quote-update-price',
      sentence: 'The reply to an update of a quote has the new price.',
      how: 'Updates a quote.',
      otherwise: 'Nothing: `Cost` is empty then, and `Message` says so.',
      effect: 'quotes',
      requests: [...ASK, UPDATE],
      check: async (trial) => {
        const reply = await updated(trial)
        if (!isDone(reply)) throw new CannotTell(`an update is answered ${described(reply)}`)
        return decide(member(reply.body, 'price') !== undefined, namesIn(reply.body))
      },
    },
    {
      id: 'quote-update-keeps-id',
      sentence: 'An update keeps the id of a quote.',
      how: 'Updates a quote, and compares the id in the reply, if there is one.',
      otherwise:
        'Updates of quotes end in a 502. Change the places of quote.update in a mapping of your own (MAPPINGS_DIR).',
      effect: 'quotes',
      requests: [...ASK, UPDATE],
      check: async (trial) => {
        const { id } = await trial.newQuote()
        const reply = await update(trial, id)
        if (!isDone(reply)) throw new CannotTell(`an update is answered ${described(reply)}`)
        const named = textOf(member(reply.body, 'shipment_id'))
        return decide(
          named === '' || named === id,
          named === '' ? 'no id' : named === id ? 'the same id' : 'another id',
        )
      },
    },
    {
      id: 'quote-update-twice',
      sentence: 'A quote may be updated more than once.',
      how: 'Updates a quote twice.',
      otherwise: 'The second update of callers ends in the refusal of the service. Tell the callers.',
      effect: 'quotes',
      requests: [...ASK, UPDATE],
      check: async (trial) => {
        const { id } = await trial.newQuote()
        const replies = [await update(trial, id), await update(trial, id)]
        if (!replies.slice(0, 1).every(isDone))
          throw new CannotTell(`an update is answered ${replies.map(described)[0]}`)
        return decide(replies.every(isDone), replies.map(described).join(', then '))
      },
    },
    {
      id: 'quote-update-unknown-404',
      sentence: 'An update of an unknown quote is answered with 404 or 410.',
      how: 'Updates a quote with an unknown UUID.',
      otherwise: 'Callers get the refusal of the service instead of a 404. Nothing to set.',
      effect: 'quotes',
      requests: [UPDATE],
      check: async (trial) => {
        const reply = await update(trial, NO_SHIPMENT)
        return decide(isUnknown(reply), described(reply))
      },
    },
  ],
}

const update = (trial: Trial, id: string) =>
  trial.ask('PUT', `/v2/quote/${encodeURIComponent(id)}`, { body: { ...TRIP, transport_type: 'enclosed' } })

async function updated(trial: Trial): Promise<Seen> {
  return update(trial, (await trial.newQuote()).id)
}
