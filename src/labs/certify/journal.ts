import { appendFileSync, existsSync, readFileSync, rmSync } from 'node:fs'
import { z } from 'zod'
import { CannotTell, described, isDone, isUnknown, OF_QUOTE, type ParsedReply, type Trial, textIn } from './trial.ts'

/*
 * A file that records what a run creates at the service. Each line is on the disk before its request is sent, so that after a crash the
 * next run knows what to cancel.
 */

const line = z.object({
  /** The address of the service. */
  address: z.string(),
  /** The tenant whose credential created it. */
  tenant: z.string(),
  /** The reference of a booking, or `quote` for the quote that an approval may have booked. */
  reference: z.string(),
  /** The id of the shipment; undefined if no reply contained it. */
  id: z.string().optional(),
  gone: z.boolean().optional(),
})
/** Something that a run created or may have created. */
type JournalLine = z.infer<typeof line>

/** The journal of one run. */
export type Journal = ReturnType<typeof openJournal>

const OWNER_ONLY = 0o600
const keyOf = (reference: string, id = '') => `${reference}\n${id}`

/** Opens a journal file for an address and a tenant; the first entry creates the file. */
export function openJournal(file: string, { address, tenant }: { readonly address: string; readonly tenant: string }) {
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : []
  const all = lines.flatMap((written) => {
    try {
      return [line.parse(JSON.parse(written))]
    } catch {
      // A killed run may leave an incomplete last line.
      return []
    }
  })
  const own = all.filter((known) => known.address === address && known.tenant === tenant)
  const left = new Map<string, JournalLine>()
  for (const known of own) apply(known)

  function apply(made: JournalLine): void {
    const { reference, id, gone } = made
    // An entry with the id replaces the one without.
    left.delete(keyOf(reference, gone ? id : undefined))
    if (!gone) left.set(keyOf(reference, id), made)
  }

  function write(reference: string, id?: string, gone?: true): void {
    const whole = { address, tenant, reference, id, gone }
    appendFileSync(file, `${JSON.stringify(whole)}\n`, { mode: OWNER_ONLY, flush: true })
    apply(whole)
  }

  return {
    /** Records a booking that is about to be sent, or a shipment that the service has created or is about to create under a known id. */
    made: (reference: string, id?: string) => write(reference, id),
    /** Records that nothing is left of a reference or of one of its shipments. */
    gone(reference: string, id?: string) {
      write(reference, id, true)
      if (left.size === 0 && own.length === all.length) rmSync(file, { force: true })
    },
    /** Returns what is left, latest first. */
    left: (): readonly JournalLine[] => [...left.values()].reverse(),
  }
}

/** The result of a clean-up, with one line for everything that may be left at the service. */
export type CleanedUp = Awaited<ReturnType<typeof cleanUp>>

/** Cancels every test booking in a journal, and reports those that it could not cancel. */
export async function cleanUp({ ask, shipmentPaths }: Trial, journal: Journal) {
  const left: string[] = []
  let canceled = 0
  for (const made of journal.left()) {
    const { reference, id } = made
    try {
      if (await cancel(made)) canceled += 1
      journal.gone(reference, id)
    } catch (error) {
      if (!(error instanceof CannotTell)) throw error
      const name = reference === OF_QUOTE ? 'the shipment of an approved quote' : reference
      left.push(`${name}${id === undefined ? '' : ` ${id}`}: ${error.message}`)
    }
  }
  return { canceled, left }

  /** Cancels a shipment under every path that the service may have; returns false if it is already gone. */
  async function cancel({ reference, id }: JournalLine): Promise<boolean> {
    for (const base of shipmentPaths) {
      const reply = await ask('GET', `${base}/${encodeURIComponent(id ?? reference)}`)
      if (isUnknown(reply)) continue
      if (!isDone(reply)) throw new CannotTell(`the service answered a read of it with ${described(reply)}`)
      // Whatever the service finds under a name, only what this program created is canceled.
      if (reference !== OF_QUOTE && !['', reference].includes(textIn(reply, 'external_id'))) {
        throw new CannotTell('the service shows another booking instead')
      }
      if (isGone(reply)) return false
      const known = id ?? textIn(reply, 'id')
      if (known === '') throw new CannotTell('the service shows it without an id')
      const path = `${base}/${encodeURIComponent(known)}`
      const answer = await ask('DELETE', path)
      if (isDone(answer) || isUnknown(answer)) return true
      const after = await ask('GET', path)
      if (isUnknown(after) || isGone(after)) return true
      throw new CannotTell(`the service answered its cancellation with ${described(answer)}`)
    }
    if (id !== undefined) return false
    throw new CannotTell('the service does not find it, but no reply showed its id; look for this reference')
  }
}

/** A service may spell the status differently. */
const isGone = (reply: ParsedReply) => /^cancel/i.test(textIn(reply, 'status'))
