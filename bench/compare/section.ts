import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Loader } from './load.ts'
import { type Running, stepAside } from './processes.ts'
import type { Programs } from './programs.ts'
import type { Plan } from './rounds.ts'

/** How long and how much is measured. */
export interface Sizes {
  readonly warmUpSeconds: number
  readonly seconds: number
  readonly rounds: number
  readonly memorySeconds: number
  /** Cross-references that are there before the load. */
  readonly xrefs: number
  readonly starts: number
  readonly streamMegabytes: number
}

/** What every section measures with. */
export interface Bench {
  readonly programs: Programs
  readonly load: Loader
  readonly sizes: Sizes
  readonly plan: Plan
  /** A folder of its own, gone when the run is over. */
  readonly newFolder: () => string
  /** Runs with servers that are stopped at the end, however that comes. */
  readonly using: <T>(work: (keep: Keep) => Promise<T>) => Promise<T>
}

/** Starts a server and notes that it has to be stopped. */
export type Keep = (starting: Promise<Running>) => Promise<Running>

/** One thing that is measured, and its part of the page. */
export interface Section<Data = unknown> {
  readonly title: string
  /** What was done, in a paragraph. */
  readonly about: string
  /** Whether it is measured in rounds. */
  readonly inRounds: boolean
  readonly measure: (bench: Bench) => Promise<Data>
  /** A method, so that a table can hold sections of several kinds of data; each reads only what it wrote itself. */
  markdown(data: Data): string
}

/** What every section measures with, in a folder of this run. */
export function createBench(folder: string, programs: Programs, load: Loader, sizes: Sizes): Bench {
  let folders = 0
  stepAside()
  return {
    programs,
    load,
    sizes,
    plan: { load, ...sizes },
    newFolder: () => {
      folders += 1
      const made = join(folder, String(folders))
      mkdirSync(made)
      return made
    },
    using: async (work) => {
      const kept: Running[] = []
      try {
        return await work(async (starting) => {
          const running = await starting
          kept.push(running)
          return running
        })
      } finally {
        await Promise.all(kept.map(({ stop }) => stop()))
      }
    },
  }
}
