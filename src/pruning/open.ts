import type { Config } from '../config/config.ts'
import type { Logger } from '../observe/log.ts'
import { DAY_MS } from '../store/scoreboard.ts'
import type { Store } from '../store/store.ts'
import { forgetOldQuotes } from './forgetting.ts'
import { type ScheduledPruning, startPruning } from './schedule.ts'
import { createNoteUse, type NoteUse } from './uses.ts'

/** The rounds that delete old rows, and the note of each use that keeps a row. */
export interface OpenPruning extends ScheduledPruning {
  readonly noteUse: NoteUse
}

export interface OpenPruningDeps {
  readonly config: Pick<Config, 'BOOKING_DAYS' | 'QUOTE_MEMORY'>
  readonly store: Store
  readonly log: Logger
  /** How often a gateway looks if a round is due. @default once an hour */
  readonly lookEveryMs: number | undefined
}

/** Opens the pruning of a gateway: rounds over all tables, old quotes, and the notes of use. */
export function openPruning({ config, store, log, lookEveryMs }: OpenPruningDeps): OpenPruning {
  const keepMs = config.BOOKING_DAYS * DAY_MS
  const stopForgetting = forgetOldQuotes(store, config.QUOTE_MEMORY, log)
  const { metrics, close } = startPruning({ store, keepMs, log, lookEveryMs })
  return {
    noteUse: createNoteUse(store, keepMs, log),
    metrics,
    close: () => {
      stopForgetting()
      return close()
    },
  }
}
