import { parseArgs } from 'node:util'
import { inWords, killUnderLoad } from '../test/bookings/kill-harness.ts'

/*
 * Kills a gateway under load repeatedly, and counts the shipments: node bench/kill-bookings.ts [--kills 500]
 * [--callers 32] [--life 1500] [--build claiming|unclaimed]. It fails if anything was booked twice or lost.
 */

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '500' },
    callers: { type: 'string', default: '32' },
    life: { type: 'string', default: '1500' },
    build: { type: 'string', default: 'claiming' },
  },
})
const REPORT_EVERY = 50

const report = await killUnderLoad({
  kills: Number(values.kills),
  callers: Number(values.callers),
  longestLifeMs: Number(values.life),
  build: values.build === 'unclaimed' ? 'unclaimed' : 'claiming',
  onKill: (kills) => {
    if (kills % REPORT_EVERY === 0) process.stdout.write(`${kills} kills\n`)
  },
})
process.stdout.write(`${inWords(report)}\n`)
process.exitCode = report.duplicates + report.lost > 0 ? 1 : 0
