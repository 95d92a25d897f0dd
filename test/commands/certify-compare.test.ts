import { randomUUID } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { Refusal } from '../../src/sandbox/bodies.ts'
import { CLIENT, OWN } from '../gateway.ts'
import { type SandboxOptions, startSandbox } from '../stand-in/stand-in.ts'
import { transcript, transcriptFolder } from './transcript.ts'

async function startStage(options: SandboxOptions = {}) {
  const sandbox = await startSandbox({ credentials: { [CLIENT.id]: CLIENT.secret }, ...options })
  onTestFinished(() => sandbox.close())
  return { sandbox, env: { ...OWN, V2_BASE_URL: sandbox.url } }
}

/** Fills a folder with bodies, of which each is taken for a call in another way, and with a recording. */
function fillFolder(folder: string): void {
  const files = {
    'bodies/one.json': JSON.stringify({ ...quoteExample, ShipmentNumber: 'KANARI77' }),
    'bodies/quote.get-two.txt': new URLSearchParams(quoteExample).toString(),
    'bodies/three.json': '{"ReferenceNumber":"R-1","PickupZip":"10314","VinNo":"V"}',
    'bodies/shipment.get/four.json': '{"ReferenceNumber":"R-1"}',
    'unknown/one.json': '{"Foo":1}',
    'broken/one.json': '{"Foo":',
    'recording.ndjson': [
      { path: '/quotes/getShippingQuoteWTS.php', body: quoteExample },
      { path: '/getShipment.php?ReferenceNumber=KANARI77' },
      { path: '/deleteShipment.php', body: 'ReferenceNumber=KANARI77' },
    ]
      .map((line) => `${JSON.stringify(line)}\n\n`)
      .join(''),
    'foreign.ndjson': '{"path":"/other.php","body":{}}\n',
  }
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(join(folder, name, '..'), { recursive: true })
    writeFileSync(join(folder, name), content)
  }
  mkdirSync(join(folder, 'empty'))
}

/** Answers with another number, and with an id and a time that differ each time. */
const noisy = (answer: Readonly<Record<string, string>>) => ({
  ...answer,
  ...('Status' in answer ? {} : { ShipmentNumber: `${answer['ShipmentNumber']}-1` }),
  RequestId: randomUUID(),
  AnsweredAt: String(process.hrtime.bigint()),
})

function refusing(answer: Readonly<Record<string, string>>) {
  if ('Status' in answer) return answer
  throw new Refusal('validation_failed', 'This trip cannot be priced')
}

const LINES = [
  'certify compare',
  'certify compare --json --min-equal 1',
  'certify compare --bodies bodies --min-equal 0.5',
  'certify compare --bodies bodies --json',
  'certify compare --recording recording.ndjson --min-equal 1.0',
]

test.each([
  ['right', {}],
  ['wrong', { native: noisy }],
  ['refusing', { native: refusing }],
] as const)('the comparison with a service that is %s is told as it was', async (name, options) => {
  const { env } = await startStage(options)
  const folder = transcriptFolder()
  fillFolder(folder)
  await expect(await transcript(folder, LINES, env)).toMatchFileSnapshot(`output/compare-${name}.txt`)
})

test('the comparison of calls that cannot be read, is told as it was', async () => {
  const { env } = await startStage()
  const folder = transcriptFolder()
  fillFolder(folder)
  const lines = [
    ...['unknown', 'broken', 'empty', 'recording.ndjson'].map((name) => `certify compare --bodies ${name}`),
    'certify compare --recording foreign.ndjson',
  ]
  const text = await transcript(folder, lines, env)
  await expect(text).toMatchFileSnapshot('output/compare-unreadable.txt')
})
