import { setTimeout as pause } from 'node:timers/promises'
import { quote } from '../calls.ts'
import { gateway, startStub } from '../contenders.ts'
import { median, table, whole } from '../figures.ts'
import { residentMegabytes } from '../processes.ts'
import { refuseFailures } from '../rounds.ts'
import type { Section } from '../section.ts'

const CONNECTIONS = 32
const LOOKS = 120
const SHORTEST_PAUSE_SECONDS = 1
const PARTS = 4
const MS = 1_000

interface Data {
  readonly seconds: number
  readonly perSecond: number
  /** Before the load. */
  readonly idle: number
  /** The median of each quarter of the time under load. */
  readonly quarters: readonly number[]
  readonly highest: number
}

/** Memory of the gateway under a long load. */
export const memory: Section<Data> = {
  title: 'Memory under load',
  about: 'The gateway’s memory during constant quotes over 32 connections.',
  inRounds: false,
  measure: (bench) =>
    bench.using(async (keep) => {
      const seconds = bench.sizes.memorySeconds
      const stub = await keep(startStub(bench.newFolder(), bench.programs))
      const running = await keep(gateway.start({ folder: bench.newFolder(), servicePort: stub.port }))
      const idle = Math.round(residentMegabytes(running.pid))
      const megabytes: number[] = []
      const loading = bench.load({ port: running.port, call: quote(), connections: CONNECTIONS, seconds })
      const every = Math.max(SHORTEST_PAUSE_SECONDS, seconds / LOOKS)
      const over = loading.then(
        () => true,
        () => true,
      )
      while (!(await Promise.race([over, pause(every * MS, false)]))) {
        megabytes.push(Math.round(residentMegabytes(running.pid)))
      }
      const loaded = await loading
      refuseFailures(gateway.name, loaded)
      const size = Math.ceil(megabytes.length / PARTS)
      const quarters = Array.from({ length: PARTS }, (_, i) => median(megabytes.slice(i * size, (i + 1) * size)))
      const highest = Math.max(...megabytes)
      return { seconds, perSecond: Math.round(loaded.perSecond), idle, quarters: quarters.map(Math.round), highest }
    }),
  markdown: ({ seconds, perSecond, idle, quarters, highest }) => {
    const heads = ['', 'before the load', ...quarters.map((_, i) => `quarter ${i + 1}`), 'highest']
    const cells = [idle, ...quarters, highest].map((figure) => whole(figure))
    return `${whole(seconds)} s at ${whole(perSecond)} quotes a second:\n\n${table(heads, [['MB, median', ...cells]])}`
  },
}
