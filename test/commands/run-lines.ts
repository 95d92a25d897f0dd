/*
 * Runs command lines one after the other in this process, which saves a start for each. The argument is a JSON list of
 * lists of words; each line is printed before its output, and its exit code after it.
 */
import { run } from '../../src/operator/cli.ts'

// Two streams into one pipe change their order if its reader is slow.
process.stderr.write = process.stdout.write.bind(process.stdout)
// Every run adds its own listeners.
for (const emitter of [process, process.stdout, process.stderr]) emitter.setMaxListeners(0)

const lines: readonly (readonly string[])[] = JSON.parse(process.argv[2] ?? '[]')
for (const words of lines) {
  process.stdout.write(`$ transload ${words.map((word) => word || "''").join(' ')}\n`)
  const code = await run(words)
  process.stdout.write(`(exit code ${code})\n\n`)
}
