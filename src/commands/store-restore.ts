import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { NewDoubt } from '../store/doubt.ts'
import { isDamage, isNoDatabase, messageOf } from '../store/sqlite/errors.ts'
import { BackupDamaged, backupTime, restoreStore } from '../store/sqlite/restore.ts'
import { NotAStore } from '../store/sqlite/schema.ts'
import { StoreInUse, StoreUnreadable } from '../store/sqlite/sole-use.ts'
import { StoreTooNew } from '../store/store.ts'
import { CommandFailed } from './failures.ts'
import { print } from './output.ts'
import { createProgress } from './progress.ts'
import { embeddedStorePath } from './store.ts'
import { isSameFile } from './store-backup.ts'
import { doubtLines } from './store-doubt.ts'

const ON_POSTGRES =
  'the store is on PostgreSQL: use pg_restore or the tools of the server, and then "transload store doubt"'

/** The options of the command. */
export interface RestoreChoices {
  readonly since: number | undefined
  readonly until: number | undefined
  readonly complete: boolean
  readonly force: boolean
}

/** Puts a backup in the place of the store, which no gateway may use meanwhile. */
export async function restore(file: string, { force, ...choices }: RestoreChoices): Promise<number> {
  const path = embeddedStorePath(ON_POSTGRES)
  const source = resolve(file)
  if (!existsSync(source)) throw new CommandFailed(`there is no file ${file}`)
  if (isSameFile(path, source)) throw new CommandFailed(`${file} is the store itself; name a backup`)
  const doubt = doubtOf(file, timeOf(file, source), choices)
  const progress = createProgress('copied', 'pages')
  const kept = await restoreStore(path, source, {
    doubt,
    isUnreadableReplaced: force,
    onProgress: progress.update,
  }).catch((error: unknown) => {
    progress.end()
    throw asFailure(error, file)
  })
  progress.end()
  print(`${path} is restored from ${file}.`)
  if (kept !== undefined) print(`The store that was there is ${kept}.`)
  if (doubt) print(...doubtLines(doubt))
  return 0
}

function timeOf(file: string, source: string): number | undefined {
  try {
    return backupTime(source)
  } catch (error) {
    throw asFailure(error, file)
  }
}

/** Returns what the restored store may lack. Without a statement it would be booked again. */
function doubtOf(
  file: string,
  backupAt: number | undefined,
  { since = backupAt, until = 0, complete }: Omit<RestoreChoices, 'force'>,
): NewDoubt | undefined {
  if (complete) return undefined
  if (since !== undefined) return { since: Math.min(since, backupAt ?? since), until }
  throw new CommandFailed(
    `${file} does not say when it was made; add --since TIME, or --complete if nothing was written after it`,
  )
}

function asFailure(error: unknown, file: string): unknown {
  if (error instanceof StoreInUse) return new CommandFailed(error.message)
  if (error instanceof BackupDamaged)
    return new CommandFailed(`${file} is damaged, nothing is changed: ${error.message}`)
  if (error instanceof StoreUnreadable)
    return new CommandFailed(`${error.message}; --force replaces it, if no gateway runs`)
  if (error instanceof StoreTooNew) {
    return new CommandFailed(`${file} was made by a newer version of the gateway, which has to restore it`)
  }
  if (isDamage(error) && !isNoDatabase(error)) {
    return new CommandFailed(`${file} is damaged, nothing is changed: ${messageOf(error)}`)
  }
  if (error instanceof NotAStore || isNoDatabase(error)) return new CommandFailed(`${file} is not a store`)
  return error
}
