import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { transload } from '../callers/commands.ts'
import { newFolder } from '../command.ts'
import { basic, CLIENT, OWN } from '../gateway.ts'
import { type Sandbox, type SandboxOptions, startSandbox } from '../stand-in/stand-in.ts'

interface Place {
  readonly sandbox: Sandbox
  readonly folder: string
  readonly compare: (...words: readonly string[]) => ReturnType<typeof transload>
}

async function startPlace(options: SandboxOptions = {}, env: NodeJS.ProcessEnv = {}): Promise<Place> {
  const sandbox = await startSandbox({ credentials: { [CLIENT.id]: CLIENT.secret }, ...options })
  onTestFinished(() => sandbox.close())
  const folder = newFolder('certify')
  const all = { ...OWN, V2_BASE_URL: sandbox.url, ...env }
  return { sandbox, folder, compare: (...words) => transload(['certify', 'compare', ...words], folder, all) }
}

const created = ({ sandbox }: Place) => sandbox.shipments.size

test('the examples are equal, and nothing is created', async () => {
  const place = await startPlace()
  const { code, out, err } = await place.compare()
  expect({ code, out }).toMatchObject({ code: 0, out: expect.stringMatching(/^quote\.get +Cost +1 +0 +0$/m) })
  expect(out).toContain('100 % of the compared fields are equal; the least is 99 %.')
  expect(err).toContain('not sent: 1 call of shipment.create, which creates or changes something')
  expect(created(place)).toBe(0)
  const written = place.sandbox.requests.filter(({ path }) => !/quote/i.test(path) && !path.startsWith('/getShipment'))
  expect(written.filter(({ method }) => method !== 'GET')).toEqual([])
})

test('a folder of bodies and a recording are read; a difference is shown masked and decides the exit code', async () => {
  const place = await startPlace({
    native: (answer) => ({ ...answer, ShipmentNumber: `${answer['ShipmentNumber']}-1` }),
  })
  const { folder } = place
  const canary = { ShipmentNumber: 'KANARI77', BillToContact: 'Xaviera Quux~2145559988~~~xaviera@example.com' }
  mkdirSync(join(folder, 'bodies', 'shipment.create'), { recursive: true })
  writeFileSync(join(folder, 'bodies', 'one.json'), JSON.stringify({ ...quoteExample, ...canary }))
  writeFileSync(
    join(folder, 'bodies', 'two.txt'),
    new URLSearchParams({ ...quoteExample, ShipmentNumber: '' }).toString(),
  )
  writeFileSync(join(folder, 'bodies', 'shipment.create', 'three.json'), JSON.stringify(bookingExample))
  const bodies = await place.compare('--bodies', 'bodies', '--json', '--min-equal', '0.5')
  expect(bodies).toMatchObject({ code: 0, err: '' })
  const report = JSON.parse(bodies.out)
  expect(report).toMatchObject({ minEqual: 0.5, skipped: { 'shipment.create': 1 }, notCompared: [] })
  expect(report.fields).toContainEqual({
    action: 'quote.get',
    field: 'ShipmentNumber',
    counts: { equal: 0, differs: 1, noise: 1 },
    examples: [{ native: 'AAAAAA99-9', translated: 'AAAAAA99' }],
  })

  const lines = [
    { path: '/quotes/getShippingQuoteWTS.php', body: { ...quoteExample, ...canary } },
    { path: '/getShippingQuote.php', body: JSON.stringify({ ...quoteExample, ...canary }) },
    { path: '/getShipment.php?ReferenceNumber=KANARI77' },
    { path: '/deleteShipment.php', body: 'ReferenceNumber=KANARI77' },
  ]
  writeFileSync(join(folder, 'recording.ndjson'), lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  const recording = await place.compare('--recording', 'recording.ndjson')
  expect(recording).toMatchObject({ code: 1 })
  expect(recording.out).toMatch(/^quote\.get +ShipmentNumber +0 +2 +0 +AAAAAA99-9 → AAAAAA99$/m)
  expect(recording.err).toContain('not sent: 1 call of shipment.cancel')
  for (const told of [bodies.out, bodies.err, recording.out, recording.err]) {
    expect(told).not.toMatch(/KANARI|Xaviera|5559988|demo-secret/)
  }
  expect(created(place)).toBe(0)
})

test('mistakes of the command line and of the input end in one line', async () => {
  const place = await startPlace()
  writeFileSync(join(place.folder, 'bad.ndjson'), '{"body": 1}\n')
  writeFileSync(join(place.folder, 'not.ndjson'), 'nonsense\n')
  const told = async (...words: readonly string[]) => {
    const { code, out, err } = await place.compare(...words)
    return { code, out, line: err.split('\n')[0] }
  }
  expect(await told('--min-equal', '2')).toMatchObject({ code: 64, line: expect.stringContaining('--min-equal takes') })
  expect(await told('--examples', '--bodies', '.')).toMatchObject({ code: 64 })
  expect(await told('--bodies', 'nowhere')).toMatchObject({ code: 1, line: expect.stringMatching(/cannot .* nowhere/) })
  expect(await told('--recording', 'bad.ndjson')).toMatchObject({
    code: 1,
    line: expect.stringContaining('bad.ndjson:1'),
  })
  expect(await told('--recording', 'not.ndjson')).toMatchObject({
    code: 1,
    line: expect.stringContaining('not.ndjson:1'),
  })
  expect(await told('--tenant', 'nobody')).toMatchObject({ code: 1, line: expect.stringContaining('nobody') })
})

test('every field of a read is compared, and one that the service leaves out is shown', async () => {
  const place = await startPlace({ native: (answer) => ({ ...answer, 'PickupPhNo.': '', Currency: 'USD' }) })
  const body = {
    customer: { customer_name: 'Example Motors' },
    pickup: { zipcode: 2134, contact_name: 'Pat Example', contact_phone: '2145550000' },
    delivery: { zipcode: 33166, state: 'FL' },
    vehicles: [{ vin: '1FDXE4FN9PDD32477', year: 2023 }],
    external_id: 'REF-1',
  }
  const headers = { authorization: basic() }
  await fetch(`${place.sandbox.url}/v2/shipments`, { method: 'POST', headers, body: JSON.stringify(body) })
  writeFileSync(join(place.folder, 'calls.ndjson'), '{"path":"/getShipment.php?ShipmentNumber=TL-100001"}\n')
  const { code, out } = await place.compare('--recording', 'calls.ndjson')
  expect(code).toBe(1)
  expect(out.match(/^shipment\.get .* →.*$/gm)?.map((line) => line.split(/ {2,}/))).toEqual([
    ['shipment.get', 'PickupPhNo.', '0', '1', '0', '(absent) → 9999999999'],
    ['shipment.get', 'Currency', '0', '1', '0', 'AAA → (absent)'],
  ])
  for (const field of ['PickupZip', 'DeliveryState', 'BillToName', 'VinNo', 'Year', 'Cost', 'Status']) {
    expect(out).toMatch(new RegExp(`^shipment\\.get +${field} +1 +0 +0$`, 'm'))
  }
})
