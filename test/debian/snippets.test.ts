/** Promise: the printed programs run, and send what the gateway sends (contract, section 8). */

import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { type Language, snippet } from '../../src/operator/pages/snippets.ts'
import { output, run } from '../command.ts'
import { basic, CLIENT, startGateway } from '../gateway.ts'

const JACKSON = ['core', 'databind', 'annotations'].map((part) => `/usr/share/java/jackson-${part}.jar`).join(':')

/** The name of the file, and the words that run it. C# is not run: Debian has no compiler of it. */
const runners: Readonly<Partial<Record<Language, readonly [file: string, ...words: readonly string[]]>>> = {
  curl: ['call.sh', 'bash'],
  php: ['call.php', 'php', '-d', 'display_errors=stderr'],
  python: ['call.py', 'python3'],
  javascript: ['call.mjs', process.execPath],
  perl: ['call.pl', 'perl'],
  go: ['call.go', 'go', 'run'],
  // Each run compiles the program: quickly is better than well.
  java: ['Call.java', 'java', '-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', '--class-path', JACKSON],
}

const HOSTILE = 'It\'s "5\\" wide" $HOME $(id) `id` @ARGV %ENV #{1} \\n */ ?> é 中 ""'

test.each(Object.entries(runners))(
  '%s',
  async (language, [file, program = '', ...words]) => {
    const { url, sandbox } = await startGateway()
    const folder = mkdtempSync(join(tmpdir(), 'transload-snippet-'))
    const post = async (path: string, fields: Readonly<Record<string, string>>, prefix = '') => {
      const reply = await fetch(url + prefix + path, {
        method: 'POST',
        headers: { authorization: basic() },
        body: JSON.stringify(fields),
      })
      expect(reply.status).toBe(200)
      return reply
    }
    const env = (SERVICE_SECRET: string, SERVICE_URL = sandbox.url) => ({
      PATH: process.env['PATH'],
      HOME: folder,
      GOCACHE: join(tmpdir(), 'transload-go'),
      GO111MODULE: 'off',
      SERVICE_URL,
      SERVICE_ID: CLIENT.id,
      SERVICE_SECRET,
    })
    /** What the service received last, of what changes nothing by being sent twice. */
    const received = () => {
      const { method, path, body } = sandbox.requests.at(-1) ?? {}
      return { method, path, body: body ? JSON.parse(body) : undefined }
    }
    /** Writes and runs the call of a dry run, and returns what the service received. */
    const runs = async (path: string, fields: Readonly<Record<string, string>>, id = '') => {
      const { request } = JSON.parse(await (await post(path, fields, '/dry-run')).text())
      writeFileSync(join(folder, file), snippet(language as Language, request))
      // New code that is checked is called right, and changes nothing.
      const sent = sandbox.requests.length
      await output(program, [...words, join(folder, file), id], { env: env(CLIENT.secret, `${url}/check`) })
      const checked = await fetch(`${url}/check/last`, { headers: { authorization: basic() } })
      expect(await checked.json()).toMatchObject({ check: 'ready', comparedWith: 'the last dry run of this request' })
      expect(sandbox.requests).toHaveLength(sent)
      const printed = await output(program, [...words, join(folder, file), id], { env: env(CLIENT.secret) })
      return { ...received(), printed }
    }

    const quote = { ...quoteExample, ShipmentNumber: 'Q-1' }
    await post('/getShippingQuote.php', quote)
    const quoted = received()
    expect(await runs('/getShippingQuote.php', quote)).toMatchObject(quoted)

    const rate = { ActionName: 'Update Rate', ShipmentNumber: 'Q-1', TempShipToPostalCode: '33101' }
    await post('/getShippingQuote.php', rate)
    const updated = received()
    const quoteId = String(updated.path?.split('/').at(-1))
    const again = await runs('/getShippingQuote.php', rate, quoteId)
    expect({ path: again.path, body: again.body }).toEqual({
      path: updated.path,
      body: { delivery: '33101' },
    })

    const booking = { ...bookingExample, ReferenceNumber: 'R-1', DeliveryTransportationInstruction: HOSTILE }
    await post('/createShipment.php', booking)
    const booked = received()
    expect(booked.body.delivery.notes).toBe(HOSTILE)
    const made = await runs('/createShipment.php', booking)
    expect(made).toMatchObject(booked)
    const [shipment, copy] = [...sandbox.shipments.values()]
    expect(made.printed).toContain(copy?.id)

    const change = { ReferenceNumber: 'R-1', DeliveryName: "Sam O'Example", Year: '2024' }
    await post('/updateShipment.php', change)
    const changed = received()
    expect(await runs('/updateShipment.php', change, shipment?.id)).toMatchObject(changed)

    const { printed } = await runs('/getShipment.php', { ReferenceNumber: 'R-1' }, shipment?.id)
    expect(printed).toContain("Sam O'Example")

    const canceled = await runs('/deleteShipment.php', { ReferenceNumber: 'R-1' }, copy?.id)
    expect(canceled).toMatchObject({ method: 'DELETE', path: `/v2/shipments/${copy?.id}` })

    const refused = await run(program, [...words, join(folder, file), 'none'], { env: env('wrong') })
    expect(refused.code).not.toBe(0)
    expect(refused.err + refused.out).toMatch(/401/)
    // Java and Go compile the program at each of its thirteen runs.
  },
  400_000,
)
