import { bookingExample, shipmentExample } from '../mappings/booking-rows.ts'
import { quoteExample } from '../mappings/quote-rows.ts'
import { readBody } from '../src/body/read.ts'
import { version1 } from '../src/calls/read-request.ts'
import { loadMappings } from '../src/config/mappings.ts'
import type { Explanation } from '../src/mapping/request.ts'
import { createCounts, DONE } from '../src/migration/counts.ts'
import { observeDrift } from '../src/observe/drift.ts'

/*
 * Measures one translation, without any network: node bench/translate.ts [rounds]
 * Figures are medians of interleaved rounds: a busy moment of the machine affects all of them alike.
 */

const ROUNDS = Number(process.argv[2] ?? 31)
const CALLS_PER_ROUND = 5_000
const NS_PER_MS = 1_000_000

const settings = {
  transport_type: 'open',
  vehicle_type: 'car',
  send_quote_id: false,
  shipment_number: 'caller',
} as const
const { actions } = await loadMappings()

interface Job {
  readonly what: string
  readonly work: () => unknown
}

function jobs(name: string, request: object, reply: object): readonly Job[] {
  const compiled = actions.get(name)
  if (!compiled) throw new Error(`there is no action ${name}`)
  const sent = Buffer.from(JSON.stringify(request))
  const form = Buffer.from(new URLSearchParams(request as Record<string, string>).toString())
  const answered = Buffer.from(JSON.stringify(reply))
  const parsed: unknown = JSON.parse(answered.toString())
  const read = readBody(sent, undefined)
  const { fields } = version1(compiled, read)
  const context = { settings, facts: undefined }

  const whole = (body: Buffer, explanations?: Explanation[]) => {
    const intake = version1(compiled, readBody(body, undefined))
    const { body: translated } = compiled.request(intake.fields, { ...context, ...(explanations && { explanations }) })
    return JSON.stringify(translated)
  }
  const counts = createCounts(Date.now)
  const drift = observeDrift({ actions }, { warn: () => undefined })
  const { notes } = compiled.request(fields, context)
  const counted = {
    use: 'version-1',
    action: name,
    outcome: DONE,
    requestId: 'r-1',
    agent: 'Mozilla/5.0 (X11; Linux x86_64) Gecko',
    source: '192.0.2.7',
    request: { compiled, fields },
    notes,
  } as const
  const back = { settings, own: 'WTS20250216191244' }
  return [
    { what: `${name} request: read, sort, translate, write`, work: () => whole(sent) },
    { what: '  the same, sent as a form', work: () => whole(form) },
    { what: '  the same, explained', work: () => whole(sent, []) },
    { what: '  of which read', work: () => readBody(sent, undefined) },
    { what: '  of which sort', work: () => version1(compiled, read) },
    { what: '  of which translate', work: () => compiled.request(fields, context) },
    {
      what: '  (to count the call for the migration pages)',
      work: () => {
        counts.add('acme', { ...counted })
        return counts
      },
    },
    {
      what: `${name} reply: read, translate, write`,
      work: () => JSON.stringify(compiled.reply(JSON.parse(answered.toString()), back).reply),
    },
    { what: '  of which translate', work: () => compiled.reply(parsed, back) },
    {
      what: '  (to look for changes of its shape)',
      work: () => {
        drift.inspect(name, parsed)
        return drift
      },
    },
    {
      what: '  (JSON.parse and JSON.stringify alone, for scale)',
      work: () => JSON.stringify(JSON.parse(sent.toString())),
    },
  ]
}

const all = [
  ...jobs('quote.get', quoteExample, { shipment_id: shipmentExample.id, price: shipmentExample.price }),
  ...jobs('shipment.create', bookingExample, shipmentExample),
  ...jobs('shipment.get', { ReferenceNumber: bookingExample.ReferenceNumber }, shipmentExample),
]

/** Uses the results, because the compiler may remove work whose result is unused. */
let used = 0

function nsPerCall({ work }: Job): number {
  const start = performance.now()
  for (let i = 0; i < CALLS_PER_ROUND; i += 1) if (work() !== undefined) used += 1
  return ((performance.now() - start) * NS_PER_MS) / CALLS_PER_ROUND
}

function median(figures: readonly number[]): number {
  return [...figures].sort((one, other) => one - other)[Math.floor(figures.length / 2)] ?? Number.NaN
}

const WARM_UP_ROUNDS = 3
const figures = all.map((): number[] => [])
for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round += 1) {
  for (const [i, job] of all.entries()) {
    const ns = nsPerCall(job)
    if (round >= 0) figures[i]?.push(ns)
  }
}

process.stdout.write(`Medians of ${ROUNDS} rounds of ${CALLS_PER_ROUND} calls, Node ${process.versions.node}\n\n`)
process.stdout.write('| What | ns per call |\n|---|---:|\n')
for (const [i, { what }] of all.entries()) {
  process.stdout.write(`| ${what} | ${Math.round(median(figures[i] ?? []))} |\n`)
}
if (used === 0) throw new Error('nothing was translated')
