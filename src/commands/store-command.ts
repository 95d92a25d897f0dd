import { readArguments } from './arguments.ts'
import { UsageError } from './failures.ts'
import { futureTime } from './future-time.ts'
import { pastTime } from './past-time.ts'
import { backup } from './store-backup.ts'
import { declareDoubt, trust } from './store-doubt.ts'
import { prune } from './store-prune.ts'
import { restore } from './store-restore.ts'
import { verify } from './store-verify.ts'

const USAGE = [
  'Usage:',
  '  transload store backup FILE [--force]',
  '  transload store restore FILE [--since 2026-12-31T14:00Z] [--until 24h] [--force]',
  '  transload store restore FILE --complete [--force]',
  '  transload store verify [FILE] [--json]',
  '  transload store prune [--dry-run] [--json]',
  '  transload store doubt --since 2h [--until 24h]',
  '  transload store trust',
  '',
  'Times are dates, with or without a time of day, or durations: before now for --since, from now on for --until.',
]
const EXPLAINED = {
  force: 'Overwrites FILE; of restore: replaces a store that cannot be read.',
  since: 'Bookings may be missing since then. Default of restore: the time of the backup.',
  until: 'The doubt ends then. Default: with "store trust".',
  complete: 'Nothing was written after the backup: no booking is in doubt.',
  'dry-run': 'Counts what would go, and deletes nothing.',
  json: 'Prints JSON.',
}
const EXAMPLES = [
  'transload store backup /backups/transload.db',
  'transload store verify /backups/transload.db',
  'transload store restore /backups/transload.db',
  'transload store restore /backups/transload.db --since 2026-12-31T14:00Z --until 24h',
  'transload store prune --dry-run',
  'transload store doubt --since 2h',
  'transload store trust',
]

/** Backs up, restores, verifies and prunes the store, and says what it may lack. */
export async function store(args: readonly string[]): Promise<number> {
  const { verb, operands, values } = readArguments(args, {
    usage: USAGE,
    options: {
      force: { type: 'boolean' },
      since: { type: 'string' },
      until: { type: 'string' },
      complete: { type: 'boolean' },
      'dry-run': { type: 'boolean' },
      json: { type: 'boolean' },
    },
    explained: EXPLAINED,
    examples: EXAMPLES,
    verbs: {
      backup: { operands: ['FILE'], options: ['force'] },
      restore: { operands: ['FILE'], options: ['since', 'until', 'complete', 'force'] },
      verify: { operands: ['[FILE]'], options: ['json'] },
      prune: { operands: [], options: ['dry-run', 'json'] },
      doubt: { operands: [], options: ['since', 'until'] },
      trust: { operands: [], options: [] },
    },
  })
  const [file = ''] = operands
  const { force = false, complete = false, json = false } = values
  const now = Date.now()
  const since = sinceOf(values.since, now)
  const until = untilOf(values.until, now)
  switch (verb) {
    case 'backup':
      return backup(file, force)
    case 'restore':
      if (complete && (since ?? until) !== undefined) {
        throw new UsageError('--complete excludes --since and --until', USAGE)
      }
      return restore(file, { since, until, complete, force })
    case 'verify':
      return verify(operands[0], json)
    case 'prune':
      return prune(values['dry-run'] ?? false, json)
    case 'doubt':
      if (since === undefined) throw new UsageError('doubt needs --since', USAGE)
      return declareDoubt({ since, until: until ?? 0 })
    case 'trust':
      return trust()
    default:
      return verb satisfies never
  }
}

function sinceOf(text: string | undefined, now: number): number | undefined {
  if (text === undefined) return undefined
  const time = pastTime(text, now)
  if (time !== undefined && time <= now) return time
  throw new UsageError(
    '--since takes a past time such as 2026-12-31T14:00Z, or a duration before now such as 2h',
    USAGE,
  )
}

function untilOf(text: string | undefined, now: number): number | undefined {
  if (text === undefined) return undefined
  const time = futureTime(text, now)
  if (time !== undefined && time > now) return time
  throw new UsageError('--until takes a future time such as 2026-12-31T14:00Z, or a duration such as 24h', USAGE)
}
