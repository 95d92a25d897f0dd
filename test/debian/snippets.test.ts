/** Promise: the printed programs run, and send what the gateway sends (contract, section 8). */

import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { type Language, snippet } from '../../src/operator/pages/snippets.ts'
import { output, run } from '../command.ts'
import { basic, CLIENT, get, post, startGateway } from '../gateway.ts'

const JACKSON = ['core', 'databind', 'annotations'].map((part) => `/usr/share/java/jackson-${part}.jar`).join(':')

interface Runner {
  readonly ending: string
  /** The command that runs a program. */
  readonly run: (file: string) => readonly string[]
  /** The command that compiles all programs at once. */
  readonly compile?: (files: readonly string[]) => readonly string[]
}
const interpreted = (ending: string, ...words: readonly string[]): Runner => ({
  ending,
  run: (file) => [...words, file],
})

/** C# is not run: Debian has no compiler of it. */
const runners: Readonly<Partial<Record<Language, Runner>>> = {
  curl: interpreted('sh', 'bash'),
  php: interpreted('php', 'php', '-d', 'display_errors=stderr'),
  python: interpreted('py', 'python3'),
  javascript: interpreted('mjs', process.execPath),
  perl: interpreted('pl', 'perl'),
  go: interpreted('go', 'go', 'run'),
  java: {
    ending: 'java',
    compile: (files) => ['javac', '--class-path', JACKSON, ...files],
    run: (file) => {
      const options = ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', '--class-path', `${dirname(file)}:${JACKSON}`]
      return ['java', ...options, basename(file, '.java')]
    },
  },
}

const HOSTILE = 'It\'s "5\\" wide" $HOME $(id) `id` @ARGV %ENV #{1} \\n */ ?> é 中 ""'

/** The calls, each with the fields that it sends. */
const CALLS = {
  Quote: ['/getShippingQuote.php', { ...quoteExample, ShipmentNumber: 'Q-1' }],
  Rate: ['/getShippingQuote.php', { ActionName: 'Update Rate', ShipmentNumber: 'Q-1', TempShipToPostalCode: '33101' }],
  Booking: [
    '/createShipment.php',
    { ...bookingExample, ReferenceNumber: 'R-1', DeliveryTransportationInstruction: HOSTILE },
  ],
  Change: ['/updateShipment.php', { ReferenceNumber: 'R-1', DeliveryName: "Sam O'Example", Year: '2024' }],
  Read: ['/getShipment.php', { ReferenceNumber: 'R-1' }],
  Cancel: ['/deleteShipment.php', { ReferenceNumber: 'R-1' }],
} as const
type Name = keyof typeof CALLS

test.each(Object.entries(runners))('%s', { timeout: 400_000 }, async (language, { ending, run: running, compile }) => {
  const gateway = await startGateway()
  const { sandbox } = gateway
  const folder = mkdtempSync(join(tmpdir(), 'transload-snippet-'))
  const fileOf = (name: string) => join(folder, `${name}.${ending}`)
  const env = (SERVICE_SECRET: string, SERVICE_URL = sandbox.url) => ({
    PATH: process.env['PATH'],
    HOME: folder,
    GOCACHE: join(tmpdir(), 'transload-go'),
    GO111MODULE: 'off',
    SERVICE_URL,
    SERVICE_ID: CLIENT.id,
    SERVICE_SECRET,
  })
  const explain = async (name: Name) => {
    const [path, fields] = CALLS[name]
    return (await post(gateway, `/dry-run${path}`, fields)).json.request
  }
  const wordsOf = (name: Name, id: string) => {
    const [program = '', ...words] = running(fileOf(name))
    return [program, [...words, id]] as const
  }
  /** What the service received last, of what changes nothing by being sent twice. */
  const received = () => {
    const { method, path, body } = sandbox.requests.at(-1) ?? {}
    return { method, path, body: body ? JSON.parse(body) : undefined }
  }
  /** Makes a call through the gateway, and returns what the service received. */
  const called = async (name: Name) => {
    const [path, fields] = CALLS[name]
    expect((await post(gateway, path, fields)).status).toBe(200)
    return received()
  }
  /** Runs the program of a call, and returns what the service received. */
  const ran = async (name: Name, id = '') => {
    await explain(name)
    // New code that is checked is called right, and changes nothing.
    const sent = sandbox.requests.length
    const words = wordsOf(name, id)
    await output(...words, { env: env(CLIENT.secret, `${gateway.url}/check`) })
    const { json } = await get(gateway, '/check/last', { authorization: basic() })
    expect(json).toMatchObject({ check: 'ready', comparedWith: 'the last dry run of this request' })
    expect(sandbox.requests).toHaveLength(sent)
    return { printed: await output(...words, { env: env(CLIENT.secret) }), ...received() }
  }

  const names = Object.keys(CALLS) as Name[]
  for (const name of names) {
    const code = snippet(language as Language, await explain(name))
    writeFileSync(fileOf(name), ending === 'java' ? code.replace('class Call ', `class ${name} `) : code)
  }
  const [compiler, ...words] = compile?.(names.map(fileOf)) ?? []
  if (compiler !== undefined) await output(compiler, words)

  const quoted = await called('Quote')
  expect(await ran('Quote')).toMatchObject(quoted)

  const { path = '' } = await called('Rate')
  const again = await ran('Rate', path.split('/').at(-1))
  expect({ path: again.path, body: again.body }).toEqual({ path, body: { delivery: '33101' } })

  const booked = await called('Booking')
  expect(booked.body.delivery.notes).toBe(HOSTILE)
  const made = await ran('Booking')
  expect(made).toMatchObject(booked)
  const [shipment, copy] = [...sandbox.shipments.values()]
  expect(made.printed).toContain(copy?.id)

  const changed = await called('Change')
  expect(await ran('Change', shipment?.id)).toMatchObject(changed)
  expect((await ran('Read', shipment?.id)).printed).toContain("Sam O'Example")
  expect(await ran('Cancel', copy?.id)).toMatchObject({ method: 'DELETE', path: `/v2/shipments/${copy?.id}` })

  // Without an id, the path would be that of all shipments.
  const sent = sandbox.requests.length
  const [program, without] = wordsOf('Cancel', '')
  for (const words of [without, without.slice(0, -1)]) {
    const bare = await run(program, words, { env: env(CLIENT.secret) })
    expect(bare.code).not.toBe(0)
    expect(bare.err.trim().replace(/\nexit status 1$/, '')).toBe('Usage: give the shipment_id as the first argument.')
  }
  expect(sandbox.requests).toHaveLength(sent)

  const refused = await run(...wordsOf('Cancel', 'none'), { env: env('wrong') })
  expect(refused.code).not.toBe(0)
  expect(refused.err + refused.out).toMatch(/401/)
})
