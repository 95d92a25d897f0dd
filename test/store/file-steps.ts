import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

/** The functions that change what a process that starts later finds. */
const CHANGING = ['chownSync', 'copyFileSync', 'fsyncSync', 'linkSync', 'renameSync', 'rmSync'] as const

/** Calls `onStep` before each of this process's changes of files; returns a function that ends this. */
export function watchFileSteps(onStep: (step: string) => unknown): () => void {
  const real = Object.fromEntries(CHANGING.map((name) => [name, fs[name]]))
  for (const name of CHANGING) {
    const change = (...args: unknown[]): unknown => {
      onStep(name)
      return Reflect.apply(real[name] as () => void, fs, args)
    }
    Object.assign(fs, { [name]: change })
  }
  syncBuiltinESMExports()
  return () => {
    Object.assign(fs, real)
    syncBuiltinESMExports()
  }
}
