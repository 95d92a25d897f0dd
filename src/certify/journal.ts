import { appendFileSync, existsSync, readFileSync, rmSync } from 'node:fs'
import { z } from 'zod'
import type { Config } from '../config/config.ts'
import { CannotTell, described, isDone, isUnknown, type Seen, textIn } from './seen.ts'
import type { Trial } from './trial.ts'

/*
 * A file of what a run makes at the service. Each line is on the disk before the request that it is about is sent: after a
 * crash, the next run knows what to cancel.
 */

const line = z.object({
  /** The address of the service. */
  address: z.string(),
  /** The tenant whose credential made it. */
  tenant: z.string(),
  /** The reference of a booking, or `quote` for the quote that an approval may have booked. */
  reference: z.string(),
  /** The id of the shipment; undefined if no reply told it. */
  id: z.string().optional(),
  gone: z.boolean().optional(),
})
type Line = z.infer<typeof line>

/** Something that a run made, or may have made. */
type Made = Omit<Line, 'gone'>

/** The journal of one run. */
export interface Journal {
  /** Records a booking that is about to be sent. */
  readonly intend: (reference: string) => void
  /** Records a shipment that the service made, or is about to make under a known id. */
  readonly made: (reference: string, id: string) => void
  /** Records that nothing of a reference is left, or of one of its shipments. */
  readonly gone: (reference: string, id?: string) => void
  /** Returns what is left, the last first. */
  readonly left: () => readonly Made[]
}

/** The reference of a shipment that the approval of a quote may have made. */
export const OF_QUOTE = 'quote'

const OWNER_ONLY = 0o600
const keyOf = (reference: string, id = '') => `${reference}\n${id}`

/** Opens the journal of a file for an address and a tenant; the file is made with the first entry. */
export function openJournal(file: string, { address, tenant }: Pick<Made, 'address' | 'tenant'>): Journal {
  const all = existsSync(file) ? linesOf(readFileSync(file, 'utf8')) : []
  const own = all.filter((known) => known.address === address && known.tenant === tenant)
  const left = new Map<string, Made>()
  for (const known of own) apply(known)

  function apply({ gone, ...made }: Line): void {
    const { reference, id } = made
    if (gone) return void left.delete(keyOf(reference, id))
    // The id tells more than the intention.
    if (id !== undefined) left.delete(keyOf(reference))
    left.set(keyOf(reference, id), { ...made, id })
  }

  function write(entry: Pick<Line, 'reference' | 'id' | 'gone'>): void {
    const whole = { address, tenant, ...entry }
    appendFileSync(file, `${JSON.stringify(whole)}\n`, { mode: OWNER_ONLY, flush: true })
    apply(whole)
  }

  return {
    intend: (reference) => write({ reference }),
    made: (reference, id) => write({ reference, id }),
    gone(reference, id) {
      write({ reference, id, gone: true })
      if (left.size === 0 && own.length === all.length) rmSync(file, { force: true })
    },
    left: () => [...left.values()].reverse(),
  }
}

/** Reads the lines of a journal; the last one of a run that was killed may be cut off. */
function linesOf(text: string): readonly Line[] {
  return text.split('\n').flatMap((written) => {
    try {
      return [line.parse(JSON.parse(written))]
    } catch {
      return []
    }
  })
}

/** The outcome of a clean-up. */
export interface CleanedUp {
  readonly canceled: number
  /** One line for everything that may be left at the service. */
  readonly left: readonly string[]
}

/** Cancels every test booking that a journal knows, and says what it could not cancel. */
export async function cleanUp(
  { ask }: Pick<Trial, 'ask'>,
  journal: Journal,
  { V2_SHIPMENT_PATH: spelling }: Pick<Config, 'V2_SHIPMENT_PATH'>,
): Promise<CleanedUp> {
  const left: string[] = []
  let canceled = 0
  for (const made of journal.left()) {
    try {
      if (await cancel(made)) canceled += 1
      journal.gone(made.reference, made.id)
    } catch (error) {
      if (!(error instanceof CannotTell)) throw error
      const { reference, id } = made
      const name = reference === OF_QUOTE ? 'the shipment of an approved quote' : reference
      left.push(`${name}${id === undefined ? '' : ` ${id}`}: ${error.message}`)
    }
  }
  return { canceled, left }

  /** Cancels a shipment; returns false if it is gone already. */
  async function cancel({ reference, id }: Made): Promise<boolean> {
    const found = await find(id ?? reference)
    if (!found) {
      if (id !== undefined) return false
      throw new CannotTell('the service does not find it, but no reply told its id; look for this reference')
    }
    const { base, reply } = found
    // Only what this program made is canceled, whatever the service finds under a name.
    if (reference !== OF_QUOTE && !['', reference].includes(textIn(reply, 'external_id'))) {
      throw new CannotTell('the service shows another booking in its place')
    }
    if (isGone(reply)) return false
    const known = id ?? textIn(reply, 'id')
    if (known === '') throw new CannotTell('the service shows it without an id')
    const path = `${base}/${encodeURIComponent(known)}`
    const answer = await ask('DELETE', path)
    if (isDone(answer) || isUnknown(answer)) return true
    const after = await ask('GET', path)
    if (isUnknown(after) || isGone(after)) return true
    throw new CannotTell(`the service answers its cancellation with ${described(answer)}`)
  }

  /** Reads a shipment in every spelling that the service may have; undefined if it knows none. */
  async function find(name: string): Promise<{ readonly base: string; readonly reply: Seen } | undefined> {
    for (const base of spelling === 'auto' ? ['/v2/shipments', '/v2/shipment'] : [spelling]) {
      const reply = await ask('GET', `${base}/${encodeURIComponent(name)}`)
      if (isDone(reply)) return { base, reply }
      if (!isUnknown(reply)) throw new CannotTell(`the service answers a read of it with ${described(reply)}`)
    }
    return undefined
  }
}

/** A service may spell the status in another way. */
const isGone = (reply: Seen): boolean => /^cancel/i.test(textIn(reply, 'status'))
