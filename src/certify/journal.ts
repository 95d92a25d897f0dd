import { closeSync, existsSync, fsyncSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'

/*
 * A file of what a run makes at the service. Each line is on the disk before the request that it is about is sent: after a
 * crash, the next run knows what to cancel.
 */

/** Something that a run made, or may have made. */
export interface Made {
  /** The address of the service. */
  readonly address: string
  /** The tenant whose credential made it. */
  readonly tenant: string
  /** The reference of a booking, or `quote` for the quote that an approval may have booked. */
  readonly reference: string
  /** The id of the shipment; undefined if no reply told it. */
  readonly id: string | undefined
}

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

interface Line {
  readonly address: string
  readonly tenant: string
  readonly reference: string
  readonly id?: string
  readonly gone?: true
}

/** Opens the journal of a file for an address and a tenant; the file is made with the first entry. */
export function openJournal(file: string, { address, tenant }: Pick<Made, 'address' | 'tenant'>): Journal {
  const all = existsSync(file) ? linesOf(readFileSync(file, 'utf8')) : []
  const own = all.filter((line) => line.address === address && line.tenant === tenant)
  const others = all.length - own.length
  const left = new Map<string, Made>()
  for (const line of own) apply(left, line)

  function write(line: Omit<Line, 'address' | 'tenant'>): void {
    const whole = { address, tenant, ...line }
    const descriptor = openSync(file, 'a', OWNER_ONLY)
    try {
      writeSync(descriptor, `${JSON.stringify(whole)}\n`)
      fsyncSync(descriptor)
    } finally {
      closeSync(descriptor)
    }
    apply(left, whole)
  }

  return {
    intend: (reference) => write({ reference }),
    made: (reference, id) => write({ reference, id }),
    gone(reference, id) {
      write({ reference, ...(id !== undefined && { id }), gone: true })
      if (left.size === 0 && others === 0) rmSync(file, { force: true })
    },
    left: () => [...left.values()].reverse(),
  }
}

const OWNER_ONLY = 0o600

function apply(left: Map<string, Made>, { address, tenant, reference, id, gone }: Line): void {
  const intended = keyOf(reference)
  const key = keyOf(reference, id)
  if (gone) {
    left.delete(key)
    return
  }
  // The id tells more than the intention.
  if (id !== undefined) left.delete(intended)
  left.set(key, { address, tenant, reference, id })
}

const keyOf = (reference: string, id = '') => `${reference}\n${id}`

/** Reads the lines of a journal; the last one of a run that was killed may be cut off. */
function linesOf(text: string): readonly Line[] {
  return text.split('\n').flatMap((line) => {
    if (line === '') return []
    try {
      const value: unknown = JSON.parse(line)
      return isLine(value) ? [value] : []
    } catch {
      return []
    }
  })
}

function isLine(value: unknown): value is Line {
  if (typeof value !== 'object' || value === null) return false
  const texts = ['address', 'tenant', 'reference'].map(
    (name) => Object.entries(value).find(([key]) => key === name)?.[1],
  )
  return texts.every((text) => typeof text === 'string')
}
