import { hostname, userInfo } from 'node:os'
import { join } from 'node:path'
import { configNames } from '../../src/language/config/config.ts'
import { openStore } from '../../src/outside/store/open.ts'
import type { ClaimState, NewClaim, Store } from '../../src/outside/store/store.ts'
import { newClaim } from '../store/samples.ts'
import { printed } from './every-command.ts'

/** What the shell of the tests may set. */
const UNSET = { ...Object.fromEntries(configNames.map((name) => [name, undefined])), TZ: 'UTC' }

const RANDOM_IDS = /\b(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|msg_\w+|bk_[0-9a-f]{12})\b/g

/** Runs command lines in a folder, one after the other, and returns what they print, without what differs from run to run. */
export async function transcript(
  folder: string,
  lines: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<string> {
  const words = lines.map((line) =>
    [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? ''),
  )
  const ids = new Map<string, string>()
  return (
    (await printed(words, { ...UNSET, STORE_URL: 'store.db', ...env }, folder))
      .replaceAll(folder, 'FOLDER')
      .replaceAll(`${userInfo().username} on ${hostname()}`, 'USER on HOST')
      // Those of 2024 are in files of the tests.
      .replace(/(?!2024)\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z|\d{8}T\d{6}Z/g, 'TIME')
      .replace(/(before-restore-TIME)-\d+/g, '$1')
      .replace(/\b[0-9a-f]{32}\b/g, 'RANDOM')
      // The place of a mistake in a file with paths depends on their lengths.
      .replace(/(\.json:1):\d+:/g, '$1:COLUMN:')
      .replace(/127\.0\.0\.1:\d+/g, 'ADDRESS')
      .replace(/[\d,]+ bytes/g, 'BYTES bytes')
      .replace(/\b\d+ (?:s|min)(?= ago|$)/gm, 'SPAN')
      .replace(RANDOM_IDS, (id) => {
        // Those that a test has chosen.
        if (/-0000-4000-8000-|bk_0000/.test(id)) return id
        const name = ids.get(id) ?? `ID${ids.size + 1}`
        ids.set(id, name)
        return name
      })
  )
}

/** Fills a store of a folder, and closes it. */
export async function fillStore(folder: string, work: (store: Store) => Promise<void>): Promise<void> {
  const store = await openStore(join(folder, 'store.db'))
  await work(store)
  await store.close()
}

const ANSWER = { status: 200, headers: {}, body: '{}' }

/** Returns the key that operators see of a booking by its number. */
export const handleOf = (no: number) => `bk_${String(no).padStart(12, '0')}`

/** Adds a booking that has come to this state for a reason. */
export async function addBooking(
  store: Store,
  no: number,
  state: ClaimState,
  why: string,
  more: Partial<NewClaim> = {},
): Promise<void> {
  const wanted = newClaim({ key: `key-${no}`, handle: handleOf(no), reference: `REF-${no}`, vin: `VIN-${no}`, ...more })
  const { claim } = await store.claim(wanted)
  const isBooked = state === 'booked'
  const outcome = { shipment: isBooked ? `shipment-${no}` : '', reply: isBooked ? JSON.stringify(ANSWER) : '' }
  if (state !== 'sending') await store.change(claim, { state, instance: 'gateway-2', why, ...outcome })
}
