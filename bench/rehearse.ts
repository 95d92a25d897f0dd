import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { parseArgs } from 'node:util'
import { quoteExample } from '../mappings/quote-rows.ts'

/*
 * Measures a rehearsal of quotes: npm run build && node bench/rehearse.ts [--calls 1000000]
 * [--rounds 3]. Processor time counts where other programs keep the cores busy.
 */

const { values } = parseArgs({
  options: { calls: { type: 'string', default: '1000000' }, rounds: { type: 'string', default: '3' } },
})
const CALLS = Number(values.calls)
const MAIN = join(import.meta.dirname, '../dist/src/main.js')
const TELL = `data:text/javascript,process.on("exit",()=>process.stderr.write(JSON.stringify(process.resourceUsage())))`

function* quotes(count: number): Generator<string> {
  for (let i = 0; i < count; i += 1) {
    const request = JSON.stringify({ ...quoteExample, ShipmentNumber: `WTS${i}` })
    const at = new Date(1_767_600_000_000 + i * 40).toISOString()
    yield `${JSON.stringify({ at, path: '/quotes/getShippingQuoteWTS.php', client: 'acme', headers: { 'content-type': 'application/json' }, request })}\n`
  }
}

async function rehearse(file: string) {
  const startedAt = performance.now()
  const words = ['--import', TELL, MAIN, 'rehearse', file, '--json']
  const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'pipe'] })
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')])
  const { userCPUTime, systemCPUTime, maxRSS } = JSON.parse(err)
  if (JSON.parse(out).share !== 1) throw new Error('not every quote passes')
  return { ms: performance.now() - startedAt, cpuMs: (userCPUTime + systemCPUTime) / 1000, mb: maxRSS / 1000 }
}

const folder = mkdtempSync(join(tmpdir(), 'transload-bench-'))
try {
  const [one, all] = [join(folder, 'one.ndjson'), join(folder, 'all.ndjson')]
  await pipeline(Readable.from(quotes(1)), createWriteStream(one))
  await pipeline(Readable.from(quotes(CALLS)), createWriteStream(all))
  process.stdout.write('| quotes/s | CPU µs per quote | MB |\n|---:|---:|---:|\n')
  for (let round = 0; round < Number(values.rounds); round += 1) {
    const start = await rehearse(one)
    const { ms, cpuMs, mb } = await rehearse(all)
    const perSecond = Math.round((CALLS * 1000) / (ms - start.ms))
    const cpu = ((cpuMs - start.cpuMs) * 1000) / CALLS
    process.stdout.write(`| ${perSecond} | ${cpu.toFixed(1)} | ${Math.round(mb)} |\n`)
  }
} finally {
  rmSync(folder, { recursive: true })
}
