import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { doubtView, originText } from '../bookings/doubts.ts'
import { openEmergencyLog } from '../bookings/emergency-log.ts'
import { EXIT_FAILED } from '../exit-codes.ts'
import type { Inspection } from '../store/inspection.ts'
import { isDamage, isNoDatabase, messageOf } from '../store/sqlite/errors.ts'
import { NotAStore } from '../store/sqlite/schema.ts'
import { CommandFailed } from './failures.ts'
import { print, printError, printJson } from './output.ts'
import { count } from './progress.ts'
import { embeddedStorePath, isPostgres, storeConfig } from './store.ts'

/** Verifies the store, or a backup of one; ends with 1 if an operator has to do something about it. */
export async function verify(file: string | undefined, json: boolean): Promise<number> {
  const { STORE_URL, EMERGENCY_LOG_FILE } = storeConfig()
  const isStore = file === undefined
  const { name, found } =
    isStore && isPostgres(STORE_URL) ? await inspectServer(STORE_URL) : await inspectFile(file ?? embeddedStorePath(''))
  const unrecorded = isStore
    ? openEmergencyLog(EMERGENCY_LOG_FILE)
        .read()
        .map(({ booking }) => booking)
    : []
  const problems = problemsOf(found, isStore, unrecorded)
  const { doubt, ...rest } = found
  if (json) printJson({ store: name, ...rest, doubt: doubt && doubtView(doubt), unrecorded, problems })
  else print(...linesOf(name, found, unrecorded))
  if (!json) printError(...problems.map((problem) => `problem: ${problem}`))
  return problems.length === 0 ? 0 : EXIT_FAILED
}

interface Inspected {
  readonly name: string
  readonly found: Inspection
}

async function inspectServer(storeUrl: string): Promise<Inspected> {
  const { inspectPostgres } = await import('../store/postgres/inspect.ts')
  const found = await inspectPostgres(storeUrl)
  if (!found) throw new CommandFailed('there is no store in the database; set STORE_URL as the gateway has it')
  return { name: 'PostgreSQL', found }
}

async function inspectFile(file: string): Promise<Inspected> {
  const path = resolve(file)
  if (!existsSync(path)) throw new CommandFailed(`there is no store at ${path}; set STORE_URL as the gateway has it`)
  const { inspectSqlite } = await import('../store/sqlite/inspect.ts')
  try {
    return { name: path, found: inspectSqlite(path) }
  } catch (error) {
    if (error instanceof NotAStore || isNoDatabase(error)) throw new CommandFailed(`${path} is not a store`)
    if (isDamage(error)) throw new CommandFailed(`${path} is damaged: ${messageOf(error)}`)
    throw error
  }
}

/** Lists the problems that an operator has to solve. A backup is a copy on purpose. */
function problemsOf(
  { faults, origin }: Inspection,
  isStore: boolean,
  unrecorded: readonly string[],
): readonly string[] {
  const copied = isStore ? originText(origin) : undefined
  return [
    ...faults.map((fault) => `damaged: ${fault}`),
    ...(copied === undefined ? [] : [copied]),
    ...unrecorded.map((booking) => `${booking} was made and is not recorded; a gateway that starts records it`),
  ]
}

function linesOf(name: string, found: Inspection, unrecorded: readonly string[]): readonly string[] {
  const { version, programVersion, faults, rows, claims, linksWithoutThing, id, origin, doubt } = found
  const older = version < programVersion ? `; a gateway that starts makes it ${programVersion}` : ''
  const integrity = name === 'PostgreSQL' ? 'not checked here (pg_amcheck)' : faults.length === 0 ? 'ok' : 'damaged'
  const window = doubt && doubtView(doubt)
  const table = [
    ['store', name],
    ...(id === undefined ? [] : [['id', id]]),
    ...(origin.kind === 'backup' ? [['backup of', new Date(origin.at).toISOString()]] : []),
    ['schema', `version ${version}${older}`],
    ['integrity', integrity],
    ['in doubt', window ? `since ${window.since}${window.until ? ` until ${window.until}` : ''}` : 'no'],
    ['emergency log', `${count(unrecorded.length)} bookings`],
    ...Object.entries(claims).map(([state, n]) => [`bookings ${state}`, count(n)]),
    ['links without data', count(linksWithoutThing)],
    ...Object.entries(rows).map(([table, n]) => [`rows of ${table}`, count(n)]),
  ]
  const width = Math.max(...table.map(([label = '']) => label.length))
  return table.map(([label = '', text = '']) => `${label.padEnd(width)}  ${text}`)
}
