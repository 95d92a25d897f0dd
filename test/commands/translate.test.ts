/** Promise: `translate` explains a call as a dry run does (contract, section 8). */

import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { type CommandOptions, cleanEnv, newFolder, ROOT, run } from '../command.ts'
import { post, startGateway } from '../gateway.ts'

/** Runs `transload translate` as an operator does. */
const translate = (words: readonly string[], input = '', env: NodeJS.ProcessEnv = {}) => {
  const options: CommandOptions = { env: cleanEnv(env), input }
  return run(process.execPath, [join(ROOT, 'src/main.ts'), 'translate', ...words], options)
}

const BOOKING = {
  ReferenceNumber: 'REF-1',
  PickupZip: '02134-1234',
  DeliveryZip: '33166',
  BillToName: 'Pat Example',
  VinNo: '1FDXE4FN9PDD32477',
  CSR: '',
  Foo: 'bar',
}

describe('transload translate', () => {
  test('explains a request from standard input as text', async () => {
    const { code, out, err } = await translate(['shipment.create'], JSON.stringify(BOOKING))
    expect({ code, err }).toEqual({ code: 0, err: '' })
    const lines = out.split('\n').map((line) => line.trim().replace(/ {2,}/g, '  '))
    expect(lines[0]).toBe('shipment.create: POST https://service.example.com/v2/shipments')
    expect(lines).toContain('pickup.zipcode  2134  ← PickupZip  (lost: the ZIP+4 extension 1234)')
    expect(lines).toContainEqual(expect.stringMatching(/^transport_type {2}"open" {2}← default {2}\(assumed: ./))
    expect(lines.slice(lines.indexOf('Unknown'))).toEqual([
      'Unknown',
      'CSR',
      'Foo',
      '',
      'Body',
      expect.stringContaining('"zipcode":2134'),
      '',
    ])
  })

  test('reads a form from a file', async () => {
    const folder = newFolder('translate')
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const file = join(folder, 'quote.txt')
    writeFileSync(file, 'TempShipFromPostalCode=10314&TempShipToPostalCode=33166&EquipmentType=ENCLOSED+AUTO')
    const { code, out } = await translate(['quote.get', file, '--json'])
    expect(code).toBe(0)
    expect(JSON.parse(out).request).toMatchObject({
      method: 'POST',
      url: 'https://service.example.com/v2/quote',
      body: { pickup: '10314', delivery: '33166', vehicle_type: 'car', transport_type: 'enclosed' },
    })
  })

  test('prints the answer of a dry run as JSON', async () => {
    const gateway = await startGateway()
    const { json } = await post(gateway, '/dry-run/createShipment.php', bookingExample)
    const { out } = await translate(['--json', 'shipment.create'], JSON.stringify(bookingExample), {
      V2_BASE_URL: gateway.sandbox.url,
    })
    expect(JSON.parse(out)).toEqual(json)
    expect(gateway.sandbox.requests).toEqual([])
  })

  test('ends with 1 and prints every problem', async () => {
    const body = { ...BOOKING, PickupZip: 'TBD', Year: '1885' }
    const { code, out } = await translate(['shipment.create'], JSON.stringify(body))
    expect(code).toBe(1)
    expect(out).toMatch(/^Problems\n {2}PickupZip must .*\n {2}Year must .*$/m)
    const asJson = await translate(['shipment.get', '--json'], '{"PickupZip":"1"}')
    expect(asJson.code).toBe(1)
    expect(JSON.parse(asJson.out)).toMatchObject({ ok: false, problems: [{ code: 'required' }] })
  })

  test.each([['a body that cannot be read', '<xml/>', 'neither a JSON object nor name=value pairs']])(
    'ends with 1 and a line for %s',
    async (_what, input, words) => {
      const { code, out, err } = await translate(['quote.get'], input)
      expect({ code, out }).toEqual({ code: 1, out: '' })
      expect(err).toMatch(/^transload: .*\n$/)
      expect(err).toContain(words)
    },
  )

  test('ends with 1 and a line for a file that is not there', async () => {
    const { code, err } = await translate(['quote.get', '/no/such/file'])
    expect({ code, err }).toEqual({ code: 1, err: 'transload: cannot open /no/such/file: no such file or directory\n' })
  })
})

test('transload check prints the checked parts', async () => {
  const words = [join(ROOT, 'src/main.ts'), 'check']
  const good = await run(process.execPath, words, { env: cleanEnv({ V2_BASE_URL: 'https://service.example.com' }) })
  expect(good).toMatchObject({ code: 0, out: expect.stringContaining('7 actions at 7 legacy paths'), err: '' })
  const bad = await run(process.execPath, words, { env: cleanEnv({ PORT: 'web' }) })
  expect(bad).toMatchObject({ code: 78, out: '' })
  expect(bad.err).toMatch(/V2_BASE_URL is required/)
  expect(bad.err).toMatch(/PORT must be/)
})
