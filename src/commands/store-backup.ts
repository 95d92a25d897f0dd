import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { backupStore } from '../store/sqlite/backup.ts'
import { identityOf } from '../store/sqlite/file-guard.ts'
import { NotAStore } from '../store/sqlite/schema.ts'
import { CommandFailed } from './failures.ts'
import { print } from './output.ts'
import { count, createProgress } from './progress.ts'
import { embeddedStorePath } from './store.ts'

const ON_POSTGRES = 'the store is on PostgreSQL: use pg_dump --schema=transload, or the backups of the server'

/** Copies the store into a file, while gateways go on. */
export async function backup(file: string, force: boolean): Promise<number> {
  const path = embeddedStorePath(ON_POSTGRES)
  const target = resolve(file)
  if (!existsSync(path)) throw new CommandFailed(`there is no store at ${path}; set STORE_URL as the gateway has it`)
  if (isSameFile(path, target)) throw new CommandFailed(`${file} is the store itself; name another file`)
  if (existsSync(target) && !force) throw new CommandFailed(`${file} exists; --force overwrites it`)
  const progress = createProgress('copied', 'pages')
  const { at, version, bytes } = await backupStore(path, target, { onProgress: progress.update }).catch(
    (error: unknown) => {
      throw error instanceof NotAStore ? new CommandFailed(`${path} is not a store: ${error.message}`) : error
    },
  )
  progress.end()
  print(
    `${file} has the store as it was at ${new Date(at).toISOString()}: ${count(bytes)} bytes, version ${version} of the schema.`,
  )
  return 0
}

/** Tells if two paths lead to one file. */
export function isSameFile(one: string, other: string): boolean {
  const [first, second] = [identityOf(one), identityOf(other)]
  return first !== undefined && first.ino === second?.ino && first.dev === second.dev
}
