import type { Config } from '../config/config.ts'
import { CannotTell } from './assumption.ts'
import { type Journal, type Made, OF_QUOTE } from './journal.ts'
import { described, isDone, isUnknown, member, type Seen, textOf } from './seen.ts'
import type { Trial } from './trial.ts'

/** The outcome of a clean-up. */
export interface CleanedUp {
  readonly canceled: number
  /** One line for everything that may be left at the service. */
  readonly left: readonly string[]
}

/** Cancels every test booking that a journal knows, and says what it could not cancel. */
export async function cleanUp(
  trial: Pick<Trial, 'ask'>,
  journal: Journal,
  { V2_SHIPMENT_PATH: spelling }: Pick<Config, 'V2_SHIPMENT_PATH'>,
): Promise<CleanedUp> {
  const spellings = spelling === 'auto' ? ['/v2/shipments', '/v2/shipment'] : [spelling]
  const left: string[] = []
  let canceled = 0
  for (const made of journal.left()) {
    try {
      const outcome = await cancel(made)
      if (outcome === 'canceled') canceled += 1
      journal.gone(made.reference, made.id)
    } catch (error) {
      if (!(error instanceof CannotTell)) throw error
      left.push(`${nameOf(made)}: ${error.message}`)
    }
  }
  return { canceled, left }

  async function cancel({ reference, id }: Made): Promise<'canceled' | 'gone'> {
    const found = await find(id ?? reference)
    if (!found) {
      if (id !== undefined) return 'gone'
      throw new CannotTell('the service does not find it, but no reply told its id; look for this reference')
    }
    const { path, reply } = found
    const external = textOf(member(reply.body, 'external_id'))
    // Only what this program made is canceled, whatever the service finds under a name.
    if (reference !== OF_QUOTE && external !== '' && external !== reference) {
      throw new CannotTell('the service shows another booking in its place')
    }
    if (isGone(reply)) return 'gone'
    const known = id ?? textOf(member(reply.body, 'id'))
    if (known === '') throw new CannotTell('the service shows it without an id')
    const target = id === undefined ? `${path.slice(0, path.lastIndexOf('/'))}/${encodeURIComponent(known)}` : path
    const answer = await trial.ask('DELETE', target)
    if (isDone(answer) || isUnknown(answer)) return 'canceled'
    const after = await trial.ask('GET', target)
    if (isUnknown(after) || isGone(after)) return 'canceled'
    throw new CannotTell(`the service answers its cancellation with ${described(answer)}`)
  }

  /** Reads a shipment in every spelling that the service may have; undefined if it knows none. */
  async function find(name: string): Promise<{ readonly path: string; readonly reply: Seen } | undefined> {
    for (const base of spellings) {
      const path = `${base}/${encodeURIComponent(name)}`
      const reply = await trial.ask('GET', path)
      if (isDone(reply)) return { path, reply }
      if (!isUnknown(reply)) throw new CannotTell(`the service answers a read of it with ${described(reply)}`)
    }
    return undefined
  }
}

/** A service may spell the status in another way. */
const isGone = ({ body }: Seen): boolean => /^cancel/i.test(textOf(member(body, 'status')))

const nameOf = ({ reference, id }: Made): string =>
  [reference === OF_QUOTE ? 'the shipment of an approved quote' : reference, id].filter(Boolean).join(' ')
