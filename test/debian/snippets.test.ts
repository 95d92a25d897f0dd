/** Promise: the printed programs run, and send what the gateway sends (contract, section 8). */

import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { printableLines } from '../../src/language/text/service-text.ts'
import { type Language, snippet } from '../../src/operator/pages/snippets.ts'
import { output, run } from '../command.ts'
import { basic, CLIENT, get, post, startGateway } from '../gateway.ts'

interface Runner {
  readonly ending: string
  /** The command that runs a program. */
  readonly run: readonly string[]
  /** The beginning of the command that compiles all programs at once. */
  readonly compile?: readonly string[]
}
/** C# is not run, because Debian has no compiler for it; the transcript of `translate` shows it. */
const runners: Readonly<Partial<Record<Language, Runner>>> = JSON.parse(
  readFileSync(join(import.meta.dirname, 'snippets.json'), 'utf8'),
)

const HOSTILE = 'It\'s "5\\" wide" $HOME $(id) `id` @ARGV %ENV #{1} \\n */ ?> é 中 ""\r\n\u0001\u2028\u202e'

/** The calls, each with the fields that it sends. */
const CALLS = {
  Quote: ['/getShippingQuote.php', { ...quoteExample, ShipmentNumber: 'Q-1' }],
  Rate: ['/getShippingQuote.php', { ActionName: 'Update Rate', ShipmentNumber: 'Q-1', TempShipToPostalCode: '33101' }],
  Booking: [
    '/createShipment.php',
    { ...bookingExample, ReferenceNumber: 'R-1', DeliveryTransportationInstruction: HOSTILE },
  ],
  Change: [
    '/updateShipment.php',
    { ReferenceNumber: 'R-1', DeliveryName: "Sam O'Example", Year: '2024', VinNo: bookingExample.VinNo },
  ],
  Read: ['/getShipment.php', { ReferenceNumber: 'R-1' }],
  Cancel: ['/deleteShipment.php', { ReferenceNumber: 'R-1' }],
} as const
type Name = keyof typeof CALLS

test.each(Object.entries(runners))(
  '%s',
  { timeout: 400_000 },
  async (language, { ending, run: words, compile: [compiler, ...options] = [] }) => {
    const gateway = await startGateway()
    const { sandbox } = gateway
    const folder = mkdtempSync(join(tmpdir(), 'transload-snippet-'))
    const fileOf = (name: string) => join(folder, `${name}.${ending}`)
    const env = {
      ...{ PATH: process.env['PATH'], HOME: folder },
      ...{ SERVICE_URL: sandbox.url, SERVICE_ID: CLIENT.id, SERVICE_SECRET: CLIENT.secret },
    }
    const explain = async (name: Name) => {
      const [path, fields] = CALLS[name]
      return (await post(gateway, `/dry-run${path}`, fields)).json.request
    }
    /** Runs the program of a call. */
    const start = (name: Name, ids: readonly string[], more: NodeJS.ProcessEnv = {}) => {
      const [program = '', ...args] = words.map((word) =>
        word.replace('NODE', process.execPath).replace('FOLDER', folder).replace('NAME', name),
      )
      return run(program, [...args, ...ids], { env: { ...env, ...more } })
    }
    /** The last request at the service, without the parts that may differ when it is sent twice. */
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
    /** Runs the program of a call, and returns what it printed and what the service received. */
    const ran = async (name: Name, id = '') => {
      const ended = await start(name, [id])
      expect(ended).toMatchObject({ code: 0 })
      const result = { printed: ended.out, ...received() }
      if (language !== 'curl') return result
      // New code that is checked is accepted, and changes nothing.
      await explain(name)
      const sent = sandbox.requests.length
      expect(await start(name, [id], { SERVICE_URL: `${gateway.url}/check` })).toMatchObject({ code: 0 })
      const { json } = await get(gateway, '/check/last', { authorization: basic() })
      expect(json).toMatchObject({ check: 'ready', comparedWith: 'the last dry run of this request' })
      expect(sandbox.requests).toHaveLength(sent)
      return result
    }

    const names = Object.keys(CALLS) as Name[]
    for (const name of names) {
      const code = snippet(language as Language, await explain(name))
      writeFileSync(fileOf(name), printableLines(code.replace('class Call ', `class ${name} `)))
    }
    if (compiler !== undefined) await output(compiler, [...options, ...names.map(fileOf)], { env })

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

    for (const one of sandbox.shipments.values()) {
      const vins = ['', one === copy ? '' : bookingExample.VinNo]
      const [vehicle = expect.fail()] = one.vehicles
      sandbox.shipments.set(one.id, { ...one, vehicles: vins.map((vin, nth) => ({ ...vehicle, id: `v${nth}`, vin })) })
    }
    const changed = await called('Change')
    expect(await ran('Change', shipment?.id)).toMatchObject(changed)
    const unchosen = await start('Change', [copy?.id ?? ''])
    expect(unchosen.err + unchosen.out).toContain('VinNo selects none of the vehicles')
    expect(received().method).toBe('GET')
    expect((await ran('Read', shipment?.id)).printed).toContain("Sam O'Example")
    expect(await ran('Cancel', copy?.id)).toMatchObject({ method: 'DELETE', path: `/v2/shipments/${copy?.id}` })

    // Without an id, it would be the path of all shipments.
    const sent = sandbox.requests.length
    for (const ids of [[''], []]) {
      const bare = await start('Cancel', ids)
      expect(bare.code).not.toBe(0)
      expect(bare.err.trim()).toBe('Usage: give the shipment_id as the first argument.')
    }
    expect(sandbox.requests).toHaveLength(sent)

    const none = await start('Change', ['none'], { SERVICE_URL: `${gateway.url}/openapi.json?` })
    expect(none.err + none.out).toContain('The reply is no shipment.')

    const refused = await start('Cancel', ['none'], { SERVICE_SECRET: 'wrong' })
    expect(refused.code).not.toBe(0)
    expect(refused.err + refused.out).toMatch(/401/)
  },
)
