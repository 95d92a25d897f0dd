/*
 * Runs command lines one after the other in this process, which saves a start for each. Each has its own folder, environment, input and
 * streams.
 */
import { Readable, Writable } from 'node:stream'
import { run } from '../src/operator/cli.ts'
import type { CommandEnd, CommandLine } from './command.ts'

// Every run adds its own listeners.
process.setMaxListeners(0)
process.on('disconnect', () => process.exit())

/** Sends what the command has printed so far, with its exit code. */
let report: ((code: number) => void) | undefined
process.on('exit', (code) => report?.(code))

process.on('message', async ({ words, cwd, env, input, isMerged }: CommandLine) => {
  process.chdir(cwd)
  for (const name of Object.keys(process.env)) delete process.env[name]
  for (const [name, value] of Object.entries(env)) if (value !== undefined) process.env[name] = value
  const [out, err] = [collect('stdout'), isMerged ? () => '' : collect('stderr')]
  if (isMerged) give('stderr', process.stdout)
  give('stdin', Readable.from(input === undefined ? [] : [Buffer.from(input)]))
  report = (code) => {
    report = undefined
    process.send?.({ code, out: out(), err: err() } satisfies CommandEnd)
  }
  report?.(await run(words))
})

/** Redirects a stream of the process to memory, and returns the function that reads it. */
function collect(name: 'stdout' | 'stderr'): () => string {
  const chunks: Buffer[] = []
  const write = (chunk: Buffer, _: string, done: () => void) => {
    chunks.push(chunk)
    done()
  }
  give(name, new Writable({ write }))
  return () => Buffer.concat(chunks).toString()
}

function give(name: 'stdin' | 'stdout' | 'stderr', stream: Readable | NodeJS.WritableStream): void {
  Object.defineProperty(process, name, { value: stream, configurable: true })
}
