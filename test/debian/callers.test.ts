/** Promise: old integrations in the languages of version 1 work unchanged (contract, section 2). */

import { join } from 'node:path'
import { expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { output } from '../command.ts'
import { CLIENT, startGateway, type TestGateway } from '../gateway.ts'

/*
 * Old integrations as they are: real programs with their own defaults, in the languages that version 1 was called from.
 * Each asks for a quote, books, reads and cancels. A program that is missing fails its tests.
 */

interface Call {
  readonly method: 'GET' | 'POST'
  readonly url: string
  readonly fields: Readonly<Record<string, string>>
}

interface Answer {
  readonly status: number
  readonly json: Readonly<Record<string, unknown>>
}

/** Makes the calls one after the other, each as it would have made it for years. */
type Caller = (calls: readonly Call[]) => Promise<readonly Answer[]>

const CREDENTIAL = `${CLIENT.id}:${CLIENT.secret}`
const fixture = (name: string) => join(import.meta.dirname, 'callers', name)
const asJson = ({ fields }: Call) => JSON.stringify(fields)
const asForm = ({ fields }: Call) => new URLSearchParams(fields).toString()

/** A script that gets all calls as JSON. */
const script =
  (program: string, ...words: readonly string[]): Caller =>
  async (calls) =>
    answers(await output(program, words, { input: JSON.stringify(calls) }))

/** A script that makes one call. */
const shell =
  (name: string, body: (call: Call) => string, ...options: readonly string[]): Caller =>
  async (calls) => {
    const all: Answer[] = []
    for (const call of calls) {
      const input = call.method === 'POST' ? body(call) : ''
      const words = [fixture(name), CREDENTIAL, call.method, call.url, ...options]
      all.push(...answers(await output('sh', words, { input })))
    }
    return all
  }

const java =
  (shape: 'plain' | 'chunked', body: (call: Call) => string): Caller =>
  async (calls) => {
    const input = calls.map((call) => `${call.method}\t${call.url}\t${body(call)}\n`).join('')
    return answers(await output('java', [fixture('Caller.java'), shape, CREDENTIAL], { input }))
  }

// PHP's own warnings go to standard error, not into the answer.
const php = (name: string, ...words: readonly string[]) =>
  script('php', '-d', 'display_errors=stderr', fixture(name), ...words)

function answers(printed: string): readonly Answer[] {
  return printed
    .trimEnd()
    .split('\n')
    .map((line) => {
      const tab = line.indexOf('\t')
      return { status: Number(line.slice(0, tab)), json: JSON.parse(line.slice(tab + 1)) }
    })
}

/** Sends the body of a booking only when the gateway asks for it; curl would not wait that long. */
const EXPECTING = ['--header', 'Expect: 100-continue', '--expect100-timeout', '60', '--max-time', '20']

const callers: Readonly<Record<string, Caller>> = {
  'curl, JSON that is labeled as a form': shell('curl.sh', asJson),
  'curl, JSON that is labeled as such': shell('curl.sh', asJson, '--header', 'Content-Type: application/json'),
  'curl, a form': shell('curl.sh', asForm),
  'curl, compressed replies': shell('curl.sh', asJson, '--compressed'),
  'curl, HTTP/1.0': shell('curl.sh', asJson, '--http1.0'),
  'curl, expecting to be told to continue': shell('curl.sh', asJson, ...EXPECTING),
  'curl, chunked': shell('curl.sh', asJson, '--header', 'Transfer-Encoding: chunked'),
  'wget, JSON that is labeled as a form': shell('wget.sh', asJson),
  'wget, a form': shell('wget.sh', asForm),
  'PHP with curl, JSON that is labeled as a form': php('curl.php', 'json', CREDENTIAL),
  'PHP with curl, an array, which curl makes multipart': php('curl.php', 'array', CREDENTIAL),
  'PHP with curl, expecting to be told to continue': php('curl.php', 'expect', CREDENTIAL),
  'PHP with curl, a form': php('curl.php', 'form', CREDENTIAL),
  'PHP with curl, a form that PHP itself has read before': php('curl.php', 'forwarded', CREDENTIAL),
  'PHP with streams, JSON, HTTP/1.0': php('stream.php', 'json', CREDENTIAL, '1.0'),
  'PHP with streams, a form, HTTP/1.0': php('stream.php', 'form', CREDENTIAL, '1.0'),
  'PHP with streams, JSON, HTTP/1.1': php('stream.php', 'json', CREDENTIAL, '1.1'),
  'Python, JSON that is labeled as a form': script('python3', fixture('caller.py'), 'json', CREDENTIAL),
  'Python, a form': script('python3', fixture('caller.py'), 'form', CREDENTIAL),
  'Perl, JSON that is labeled as octets': script('perl', fixture('caller.pl'), 'json', CREDENTIAL),
  'Perl, a form': script('perl', fixture('caller.pl'), 'form', CREDENTIAL),
  'Java, JSON that is labeled as a form': java('plain', asJson),
  'Java, a form, chunked': java('chunked', asForm),
}

/** A booking whose body is too large to be sent without asking first, as curl used to see it: 1,024 bytes. */
const booking = {
  ...bookingExample,
  BillToName: 'Zoë Example',
  DeliveryTransportationInstruction: 'Call ahead, twice. '.repeat(60).trim(),
}
const reference = { ReferenceNumber: booking.ReferenceNumber }

const steps = ({ url }: TestGateway): readonly Call[] => [
  { method: 'POST', url: `${url}/quotes/getShippingQuoteWTS.php`, fields: quoteExample },
  { method: 'POST', url: `${url}/createShipment.php`, fields: booking },
  { method: 'GET', url: `${url}/getShipment.php?${new URLSearchParams(reference)}`, fields: {} },
  { method: 'POST', url: `${url}/deleteShipment.php`, fields: reference },
]

test.each(Object.entries(callers))('%s', async (_, talk) => {
  const gateway = await startGateway()
  const [quoted, booked, read, canceled] = await talk(steps(gateway))
  const quote = { Cost: expect.stringMatching(/^\d+\.\d\d$/), ShipmentNumber: quoteExample.ShipmentNumber }
  expect(quoted).toEqual({ status: 200, json: quote })
  const yes = { Message: expect.stringContaining('TL-100001'), TransportationBooked: 'Yes' }
  expect(booked).toEqual({ status: 200, json: yes })
  const { ActionName: _action, ...sent } = booking
  const phones = { 'PickupPhNo.': '7185550100', 'DeliveryPhNo.': '3055550101', 'BillToPhNo.': '2145550000' }
  const shown = { ...sent, ...phones, Status: 'new', TransportationBooked: 'Yes' }
  expect(read).toEqual({ status: 200, json: expect.objectContaining(shown) })
  expect(canceled).toEqual({ status: 200, json: { Message: expect.any(String), TransportationBooked: 'No' } })

  const [shipment] = gateway.sandbox.shipments.values()
  expect(shipment).toMatchObject({ status: 'canceled', external_id: booking.ReferenceNumber })
  expect(gateway.sandbox.shipments.size).toBe(1)
})
