/** Promise: old integrations in the languages of version 1 work unchanged (contract, section 2). */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { output } from '../command.ts'
import { CLIENT, startGateway } from '../gateway.ts'

/*
 * Real old integrations: programs with their own defaults, in the languages that called version 1. Each asks for a quote, books, reads and
 * cancels. A program that is missing fails its tests.
 */

interface Call {
  readonly method: 'GET' | 'POST'
  readonly url: string
  readonly fields: Readonly<Record<string, string>>
}

const CREDENTIAL = `${CLIENT.id}:${CLIENT.secret}`
const fixture = (name: string) => join(import.meta.dirname, 'callers', name)

type Caller = readonly [program: string, form: string, file: string, ...more: string[]]
const callers: Readonly<Record<string, Caller>> = JSON.parse(readFileSync(fixture('callers.json'), 'utf8'))

/** Makes the calls one after the other, as a program has done for years; returns the answers that it prints. */
async function talk([program, form, file, ...more]: Caller, calls: readonly Call[]): Promise<string> {
  const bodyOf = ({ fields }: Call) =>
    form === 'form' ? new URLSearchParams(fields).toString() : JSON.stringify(fields)
  if (program === 'java') {
    const input = calls.map((call) => `${call.method}\t${call.url}\t${bodyOf(call)}\n`).join('')
    return output(program, [fixture(file), ...more, CREDENTIAL], { input })
  }
  if (program !== 'sh') {
    // PHP's own warnings go to standard error, not into the answer.
    const options = program === 'php' ? ['-d', 'display_errors=stderr'] : []
    return output(program, [...options, fixture(file), form, CREDENTIAL, ...more], { input: JSON.stringify(calls) })
  }
  let printed = ''
  for (const call of calls) {
    const input = call.method === 'POST' ? bodyOf(call) : ''
    printed += `${(await output(program, [fixture(file), CREDENTIAL, call.method, call.url, ...more], { input })).trimEnd()}\n`
  }
  return printed
}

/** A booking whose body is too large for curl's former limit for sending without asking first: 1,024 bytes. */
const booking = {
  ...bookingExample,
  BillToName: 'Zoë Example',
  DeliveryTransportationInstruction: 'Call ahead, twice. '.repeat(60).trim(),
}

test.each(Object.entries(callers))('%s', async (_, caller) => {
  const { url, sandbox } = await startGateway()
  const reference = { ReferenceNumber: booking.ReferenceNumber }
  const printed = await talk(caller, [
    { method: 'POST', url: `${url}/quotes/getShippingQuoteWTS.php`, fields: quoteExample },
    { method: 'POST', url: `${url}/createShipment.php`, fields: booking },
    { method: 'GET', url: `${url}/getShipment.php?${new URLSearchParams(reference)}`, fields: {} },
    { method: 'POST', url: `${url}/deleteShipment.php`, fields: reference },
  ])
  const { ActionName: _action, ...sent } = booking
  const phones = { 'PickupPhNo.': '7185550100', 'DeliveryPhNo.': '3055550101', 'BillToPhNo.': '2145550000' }
  const lines = printed.trimEnd().split('\n')
  const answers = lines.map((line) => /^(\d+)\t(.*)$/.exec(line)?.slice(1) ?? expect.fail(line))
  expect(answers.map(([status]) => status)).toEqual(['200', '200', '200', '200'])
  expect(answers.map(([, json = '']) => JSON.parse(json))).toEqual([
    { Cost: expect.stringMatching(/^\d+\.\d\d$/), ShipmentNumber: quoteExample.ShipmentNumber },
    { Message: expect.stringContaining('TL-100001'), TransportationBooked: 'Yes' },
    expect.objectContaining({ ...sent, ...phones, Status: 'new', TransportationBooked: 'Yes' }),
    { Message: expect.any(String), TransportationBooked: 'No' },
  ])
  const shipments = [...sandbox.shipments.values()]
  expect(shipments).toMatchObject([{ status: 'canceled', external_id: booking.ReferenceNumber }])
})
