import { createLogOutput } from '../../src/observe/log.ts'

/*
 * Writes log lines as its arguments say, so many of so many bytes, and tells on standard error what happens to them. Each line
 * that it reads makes it flush.
 */

const [count = '0', bytes = '0'] = process.argv.slice(2)
const tell = (event: object) => process.stderr.write(`${JSON.stringify(event)}\n`)

const output = createLogOutput({ printableTail: '"known"}\n', onDropped: (dropped) => tell({ dropped }) })
output.write('\u001b[31m "known"}\n')
output.write('\u001b[31m "unknown"}\n')
for (let no = 0; no < Number(count); no += 1) output.write(`${no} `.padEnd(Number(bytes) - 1, '.').concat('\n'))
tell({ wrote: Number(count) })

process.stdin.on('data', () => {
  const startedAt = performance.now()
  output.flush((error) => tell({ flushed: Math.round(performance.now() - startedAt), error: error?.message ?? null }))
})
