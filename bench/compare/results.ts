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
const LINE_WIDTH = 260

/** Where something was measured. */
export interface Machine {
  readonly cpu: string
  readonly cores: number
  readonly gigabytes: number
  readonly system: string
  /** Whether programs were tied to cores. */
  readonly pinning: boolean
}

/** What one section showed, and how it came about. */
export interface Result {
  readonly date: string
  /** The commit of the gateway that was measured. */
  readonly commit: string
  readonly machine: Machine
  readonly versions: Readonly<Record<string, string>>
  readonly missing: readonly string[]
  /** Missing where the section is not measured in rounds. */
  readonly rounds?: { readonly count: number; readonly seconds: number }
  /** As the section gave it. */
  readonly data: unknown
}

export type Results = Readonly<Record<string, Result>>

/** The results of all runs so far, the newest of each section. */
export function readResults(): Results {
  return existsSync(FILE) ? JSON.parse(readFileSync(FILE, 'utf8')) : {}
}

/** Puts the result of one section in the place of its older one. */
export function keepResult(name: string, section: Section, programs: Programs, sizes: Sizes, data: unknown): void {
  const result: Result = {
    date: new Date().toISOString().slice(0, 10),
    commit: commit(),
    machine: machine(),
    versions: versions(programs),
    missing: programs.missing,
    ...(section.inRounds && { rounds: { count: sizes.rounds, seconds: sizes.seconds } }),
    data,
  }
  writeFileSync(FILE, `${written({ ...readResults(), [name]: result })}\n`)
}

/** Writes JSON with a line for each object that holds no other: one for a line of a table. */
function written(value: unknown, indent = ''): string {
  const flat = JSON.stringify(value)
  if (typeof value !== 'object' || value === null || flat.length <= LINE_WIDTH) return flat
  const inner = `${indent} `
  const parts = Array.isArray(value)
    ? value.map((item) => written(item, inner))
    : Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}: ${written(item, inner)}`)
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  return `${open}\n${inner}${parts.join(`,\n${inner}`)}\n${indent}${close}`
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

/** The last commit, and whether what is measured is more than that. */
function commit(): string {
  const git = (...words: readonly string[]) => execFileSync('git', words, { cwd: ROOT, encoding: 'utf8' }).trim()
  try {
    const changed = git('status', '--porcelain', '--', 'src', 'mappings', 'package-lock.json', 'Dockerfile')
    return `${git('rev-parse', '--short', 'HEAD')}${changed === '' ? '' : ', changed since'}`
  } catch {
    return 'unknown'
  }
}
