import { gateway, passers } from '../contenders.ts'
import { roundTo, table, whole } from '../figures.ts'
import { Refused } from '../rounds.ts'
import type { Section } from '../section.ts'
import { startStreamService, type Transfer, transfer } from '../stream-service.ts'

interface Line {
  readonly id: string
  readonly name: string
  readonly in: Transfer
  readonly out: Transfer
}

interface Data {
  readonly megabytes: number
  readonly lines: readonly Line[]
}

const SECONDS_DIGITS = 1

const rounded = ({ seconds, grownMegabytes }: Transfer): Transfer => ({
  seconds: roundTo(seconds, SECONDS_DIGITS),
  grownMegabytes: Math.round(grownMegabytes),
})

/** Large bodies and replies, passed through. */
export const stream: Section<Data> = {
  title: 'Large bodies, passed through',
  about:
    'One large body to the service, then one large reply from it, and the growth of the contender’s memory. The caller and ' +
    'the service share a process, which makes them slower than the contenders.',
  inRounds: false,
  measure: async (bench) => {
    const { streamMegabytes: megabytes } = bench.sizes
    const service = await startStreamService()
    try {
      const lines: Line[] = []
      for (const { id, name, start } of [gateway, ...passers(bench.programs)]) {
        const line = await bench
          .using(async (keep) => {
            const running = await keep(start({ folder: bench.newFolder(), servicePort: service.port }))
            // The first call of a program is not typical of it.
            await transfer(running, 'in', 1)
            await transfer(running, 'out', 1)
            return { in: await transfer(running, 'in', megabytes), out: await transfer(running, 'out', megabytes) }
          })
          .catch((error: unknown) => {
            throw new Refused(`${name}: ${error instanceof Error ? error.message : error}`, { cause: error })
          })
        lines.push({ id, name, in: rounded(line.in), out: rounded(line.out) })
      }
      return { megabytes, lines }
    } finally {
      await service.close()
    }
  },
  markdown: ({ megabytes, lines }) => {
    const heads = ['', 'body in, s', 'grown by MB', 'reply out, s', 'grown by MB']
    const cells = lines.map((line) => [
      line.id === gateway.id ? `**${line.name}**` : line.name,
      line.in.seconds.toFixed(SECONDS_DIGITS),
      whole(line.in.grownMegabytes),
      line.out.seconds.toFixed(SECONDS_DIGITS),
      whole(line.out.grownMegabytes),
    ])
    return `${whole(megabytes)} MB each way:\n\n${table(heads, cells)}`
  },
}
