import { setTimeout as delay } from 'node:timers/promises'
import { readConfig } from '../config/config.ts'
import { pruneRound, type TableRound } from '../pruning/round.ts'
import type { PrunedTable } from '../store/pruning.ts'
import { DAY_MS } from '../store/scoreboard.ts'
import { LockTimeout, type Store } from '../store/store.ts'
import { CommandFailed } from './failures.ts'
import { print, printJson } from './output.ts'
import { count, createProgress } from './progress.ts'
import { withExistingStore, withoutService } from './store.ts'

/** A gateway that prunes has the lock for the whole round. */
const LOCK_WAIT_MS = 1_000
const COLUMN = 12

const MEANINGS: Readonly<Record<PrunedTable, string>> = {
  claims: 'finished bookings, with their audit trail',
  audit: 'audit entries of bookings that were sent again under another key',
  links: 'numbers',
  things: 'quotes and shipments',
  uses: 'notes that an old number is in use',
  instances: 'gateways that are gone',
}

/** Deletes the rows that were not needed for `BOOKING_DAYS` days, or says how many would go. */
export async function prune(dryRun: boolean, json: boolean): Promise<number> {
  const { BOOKING_DAYS: days } = readConfig(withoutService(), { certificates: false })
  return withExistingStore(async (store) => {
    const rounds = await (dryRun ? runRound(store, days, true) : runAlone(store, days))
    if (json) printJson({ days, dryRun, tables: rounds.map(({ table, pruned }) => ({ table, pruned })) })
    else print(...rounds.map((round) => lineOf(round)), summaryOf(rounds, days, dryRun))
    return 0
  })
}

/** Runs a round while no gateway runs one. */
async function runAlone(store: Store, days: number): Promise<readonly TableRound[]> {
  try {
    return await store.exclusive('pruning', LOCK_WAIT_MS, (isHeld) => runRound(store, days, false, isHeld))
  } catch (error) {
    if (!(error instanceof LockTimeout)) throw error
    throw new CommandFailed('a gateway is pruning this store; let it finish, or look with --dry-run')
  }
}

async function runRound(
  store: Store,
  days: number,
  dryRun: boolean,
  mayGoOn: () => boolean = () => true,
): Promise<readonly TableRound[]> {
  const progress = createProgress('looked at')
  let before = 0
  let looked = 0
  let table: PrunedTable | undefined
  const rounds = await pruneRound(store, {
    olderThanMs: days * DAY_MS,
    dryRun,
    mayGoOn,
    // Half of the time belongs to the gateways.
    pause: (tookMs) => delay(tookMs),
    onStep(done) {
      if (done.table !== table) before += looked
      table = done.table
      looked = done.looked
      progress.update(before + looked)
    },
  })
  progress.end()
  if (!rounds) throw new CommandFailed('the store was not answering for too long; run the command again')
  return rounds
}

const lineOf = ({ table, pruned }: TableRound) => `${count(pruned).padStart(COLUMN)}  ${MEANINGS[table]}`

function summaryOf(rounds: readonly TableRound[], days: number, dryRun: boolean): string {
  const rows = count(rounds.reduce((sum, { pruned }) => sum + pruned, 0))
  const unit = 'that nobody has needed for'
  return dryRun
    ? `${rows} rows ${unit} ${days} days (BOOKING_DAYS) would go; nothing was deleted.`
    : `${rows} rows ${unit} ${days} days (BOOKING_DAYS) were deleted.`
}
