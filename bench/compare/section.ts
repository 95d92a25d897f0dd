import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type Running, stepAside } from './processes.ts'
import type { Programs } from './programs.ts'
import type { Plan } from './rounds.ts'

/** Durations and amounts of a run. */
export interface Sizes extends Plan {
  readonly starts: number
}

/** The tools of every section. */
export interface Bench {
  readonly programs: Programs
  readonly sizes: Sizes
  /** Makes a folder, which is removed when the run ends. */
  readonly newFolder: () => string
  /** Runs `work` and stops the servers that it kept, after an error too. */
  readonly using: <T>(work: (keep: Keep) => Promise<T>) => Promise<T>
}

/** Waits for a server to start, and stops it at the end. */
export type Keep = (starting: Promise<Running>) => Promise<Running>

/** One part of the page: how it is measured and how it is shown. */
export interface Section<Data = unknown> {
  readonly title: string
  /** One paragraph about the measurement. */
  readonly about: string
  /** True if it is measured in interleaved rounds. */
  readonly inRounds: boolean
  readonly measure: (bench: Bench) => Promise<Data>
  /** A method, because one map holds sections of several kinds of data; each reads only its own. */
  markdown(data: Data): string
}

/** Makes the tools of every section, in a folder of this run. */
export function createBench(folder: string, programs: Programs, sizes: Sizes): Bench {
  let folders = 0
  stepAside()
  return {
    programs,
    sizes,
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
