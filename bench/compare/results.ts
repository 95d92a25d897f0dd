import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus, release, totalmem, type } from 'node:os'
import { join } from 'node:path'
import { CORES, pinning } from './processes.ts'
import { type Programs, versions } from './programs.ts'
import type { Section, Sizes } from './section.ts'

const ROOT = join(import.meta.dirname, '../..')
const FILE = join(ROOT, 'bench/results.json')
const GIGABYTE = 1024 ** 3

/** The machine of a measurement. */
export interface Machine {
  readonly cpu: string
  readonly cores: number
  readonly gigabytes: number
  readonly system: string
  /** True if programs were pinned to cores. */
  readonly pinning: boolean
}

/** The result of one section, and its circumstances. */
export interface Result {
  readonly date: string
  /** The commit of the gateway that was measured. */
  readonly commit: string
  readonly machine: Machine
  readonly versions: Readonly<Record<string, string>>
  readonly missing: readonly string[]
  /** Missing where the section is not measured in rounds. */
  readonly rounds?: { readonly count: number; readonly seconds: number }
  /** In the form of the section. */
  readonly data: unknown
}

export type Results = Readonly<Record<string, Result>>

/** Reads the newest result of each section. */
export function readResults(): Results {
  return existsSync(FILE) ? JSON.parse(readFileSync(FILE, 'utf8')) : {}
}

/** Replaces the result of one section. */
export function keepResult(name: string, section: Section, programs: Programs, sizes: Sizes, data: unknown): void {
  const result: Result = {
    date: new Date().toISOString().slice(0, 10),
    commit: commit(),
    machine: machine(),
    versions: versions(),
    missing: programs.missing,
    ...(section.inRounds && { rounds: { count: sizes.rounds, seconds: sizes.seconds } }),
    data,
  }
  writeFileSync(FILE, `${JSON.stringify({ ...readResults(), [name]: result }, null, 1)}\n`)
}

function machine(): Machine {
  return {
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: CORES,
    gigabytes: Math.round(totalmem() / GIGABYTE),
    system: `${type()} ${release()}`,
    pinning,
  }
}

/** Returns the last commit, and says so if the measured files have changed since. */
function commit(): string {
  const git = (...words: readonly string[]) => execFileSync('git', words, { cwd: ROOT, encoding: 'utf8' }).trim()
  try {
    const changed = git('status', '--porcelain', '--', 'src', 'mappings', 'package-lock.json', 'Dockerfile')
    return `${git('rev-parse', '--short', 'HEAD')}${changed === '' ? '' : ', changed since'}`
  } catch {
    return 'unknown'
  }
}
