import { existsSync, lstatSync } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import { loadMappings } from '../../../mappings/load.ts'
import { type Config, readConfig } from '../../language/config/config.ts'
import { ConfigErrors } from '../../language/config/errors.ts'
import { engineOf, pathOf } from '../../language/config/store-address.ts'
import { day, duration } from '../../language/config/values.ts'
import { loadEngine, type OpenStore } from '../../outside/store/open.ts'
import { BESIDE } from '../../outside/store/sqlite/backup.ts'
import { identityOf, messageOf, NotAStore } from '../../outside/store/sqlite/connection.ts'
import { stampPath } from '../../outside/store/sqlite/stamp.ts'
import type { StoreOptions } from '../../outside/store/state.ts'
import { type Store, StoreDown } from '../../outside/store/store.ts'
import { unwritableReason } from '../../state/bookings/record.ts'
import { CommandFailed, UsageError } from './failures.ts'

/** A placeholder for the service's address in commands that do not call the service. */
const NO_SERVICE = 'https://service.example.com'

/** Returns the environment for a command that does not call the service, whose address is otherwise required. */
export function withoutService(env: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
  return { ...env, V2_BASE_URL: env['V2_BASE_URL']?.trim() || NO_SERVICE }
}

/** Reads the configuration for a command on the store. */
export const storeConfig = () => readConfig(withoutService(), { certificates: false })

/** Loads the mappings of a configuration. */
export const mappingsOf = ({ MAPPINGS_DIR, LOOKUPS_FILE }: Config) => loadMappings(MAPPINGS_DIR, LOOKUPS_FILE)

/** The work of a command on the open store; returns the exit code. */
type StoreWork = (store: Store, storeUrl: string) => Promise<number>

/** Runs a command on an existing store. A missing store is an error: a new empty one would hide a wrong path. */
export async function withExistingStore(work: StoreWork): Promise<number> {
  const url = storeUrl()
  if (engineOf(url) === 'file') existing(pathOf(url))
  if (engineOf(url) === 'postgres') {
    const { mayHaveStore } = await import('../../outside/store/postgres/postgres.ts')
    if (!(await mayHaveStore(url))) throw noStoreOnServer()
  }
  return withStore(work)
}

export const noStoreOnServer = () =>
  new CommandFailed("there is no store in the database; set STORE_URL to the gateway's value")

/** Opens the configured store for one command, and creates it if it is missing. */
export async function withStore(work: StoreWork): Promise<number> {
  const url = storeUrl()
  let reason = ''
  const store = await openConfiguredStore(await loadEngine(url), {
    blocks: true,
    onState: ({ error }) => {
      reason = error?.message ?? ''
    },
  })
  try {
    if (!store.ready()) throw new CommandFailed(`the store does not answer; check STORE_URL: ${reason}`)
    return await work(store, url)
  } finally {
    await store.close()
  }
}

/** Returns the path of the embedded store; fails with the advice where the store is on PostgreSQL. */
export function embeddedStorePath(onPostgres: string): string {
  const url = storeUrl()
  if (engineOf(url) === 'postgres') throw new CommandFailed(onPostgres)
  return resolve(pathOf(url))
}

/** Returns the path of a store that is there. */
export function existing(path: string): string {
  if (existsSync(path)) return path
  throw new CommandFailed(`there is no store at ${path}; set STORE_URL to the gateway's value`)
}

/** Refuses a file to write that is the store itself, or another of the gateway's own files, whether it is there now or not. */
export function refuseStore(file: string): void {
  const config = storeConfig()
  const store = engineOf(config.STORE_URL) === 'file' ? pathOf(config.STORE_URL) : undefined
  if (store !== undefined && isSameFile(store, file))
    throw new CommandFailed(`${file} is the store itself; name another file`)
  const beside = store === undefined ? [] : [...BESIDE.map((end) => store + end), stampPath(store)]
  const own = [...beside, config.EMERGENCY_LOG_FILE, memoryFile(config)]
  if (own.some((one) => one !== undefined && isSamePlace(one, file)))
    throw new CommandFailed(`${file} is a file of the gateway itself; name another file`)
}

/** Returns the file of the installation's memory; undefined for a gateway that lives without. */
export const memoryFile = ({ EMERGENCY_LOG_FILE: log }: Config) => log && `${log}.store`

const isSamePlace = (one: string, other: string) =>
  isSameFile(one, other) || (basename(one) === basename(other) && isSameFile(dirname(one), dirname(other)))

/** Reports whether two paths lead to one file. */
export function isSameFile(one: string, other: string): boolean {
  const [first, second] = [identityOf(one), identityOf(other)]
  return first !== undefined && first.ino === second?.ino && first.dev === second.dev
}

/** Opens a store; a store that can never be opened is a configuration error. */
export async function openConfiguredStore(open: OpenStore, options: StoreOptions): Promise<Store> {
  try {
    return await open(options)
  } catch (error) {
    if (!(error instanceof NotAStore || error instanceof StoreDown)) throw error
    throw new ConfigErrors([unusableStore(error)])
  }
}

export const unusableStore = (error: unknown): string =>
  `STORE_URL names a store that cannot be used: ${messageOf(error)}`

/** Returns why there cannot be an embedded store at its path; undefined if there can. Makes nothing. */
export function mistakeOfStore(storeUrl: string): string | undefined {
  const reason = engineOf(storeUrl) === 'file' ? obstacleAt(resolve(pathOf(storeUrl))) : undefined
  return reason === undefined ? undefined : unusableStore(reason)
}

export function obstacleAt(path: string): string | undefined {
  try {
    const reason = unwritableReason(path)
    const found = reason === undefined ? lstatSync(path, { throwIfNoEntry: false }) : undefined
    if (found?.isSymbolicLink()) return `${path} is a symbolic link; name the file that it points to`
    return !found || found.isFile() ? reason : `${path} is not a regular file`
  } catch (error) {
    return messageOf(error)
  }
}

/** Returns the address of the configured store, which has to be one that a command can read. */
function storeUrl(): string {
  const { STORE_URL } = storeConfig()
  if (engineOf(STORE_URL) !== 'memory') return STORE_URL
  throw new CommandFailed('STORE_URL is memory:, which only the gateway itself can read')
}

/** Reads a date, or a duration before now (in the future: from now on), as milliseconds since 1970. */
export function timeOf(option: string, text: string | undefined, which: 'past' | 'future' | 'any'): number | undefined {
  if (text === undefined) return undefined
  const now = Date.now()
  const { data: span } = duration.safeParse(text)
  const time = span === undefined ? day.safeParse(text).data?.getTime() : which === 'future' ? now + span : now - span
  const fits = time !== undefined && (which === 'any' || (which === 'past' ? time <= now : time > now))
  if (fits) return time
  const kind = { past: 'a past time', future: 'a future time', any: 'a time' }[which]
  throw new UsageError(`${option} takes ${kind} such as 2026-12-31T14:00Z, or a duration such as 2h or 30d`)
}

/** Says whose credential goes to the service. */
export const modeOf = ({ TENANTS_FILE: tenants, V2_CLIENT_ID: id }: Config) =>
  tenants !== undefined ? 'tenants' : id !== undefined ? 'fixed' : 'client'
