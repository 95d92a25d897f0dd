/** Promise: the shell command that a dry run prints does what the gateway does (contract, section 8). */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { output } from '../command.ts'
import { CLIENT, get, OWN, post, startGateway, type TestGateway } from '../gateway.ts'

const CREATE = '/createShipment.php'
const NUMBER = 'WTS-1'
const BOOKING = {
  ReferenceNumber: 'REF-2',
  PickupZip: '02134-1234',
  DeliveryZip: '33166',
  BillToName: 'Pat Example',
  VinNo: '1FDXE4FN9PDD32477',
}

/** Runs the command unchanged, with the environment that it needs, in an empty folder. */
async function runLine(line: string, { sandbox }: TestGateway): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'transload-curl-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const service = { SERVICE_URL: sandbox.url, SERVICE_ID: CLIENT.id, SERVICE_SECRET: CLIENT.secret }
  const env = { ...process.env, ...service }
  return output('bash', ['-c', `${line} --silent --show-error --fail`], { cwd: folder, env })
}

test("it books the gateway's body, byte for byte, with any values", async () => {
  const gateway = await startGateway()
  const nasty = {
    ...BOOKING,
    PickupName: `O'Brien "& Sons" $(touch evil) \`touch evil\` $HOME \\`,
    DeliveryName: 'Ünïcode 漢字 🚚',
    PickupTransportationInstruction: 'line one\nline two\t!',
    Model: '@/etc/hostname',
  }
  const { json } = await post(gateway, `/dry-run${CREATE}`, nasty)
  const answer = JSON.parse(await runLine(json.curl, gateway))
  expect(answer).toMatchObject({ number: 'TL-100001', external_id: 'REF-2' })
  await post(gateway, CREATE, nasty)
  const [byHand, byGateway, ...more] = gateway.sandbox.requests
  expect(more).toEqual([])
  expect(byHand).toMatchObject({ method: 'POST', path: '/v2/shipments', body: JSON.stringify(json.request.body) })
  for (const name of ['authorization', 'content-type'])
    expect(byHand?.headers[name]).toBe(byGateway?.headers[name] ?? '')
  expect(byHand?.body).toBe(byGateway?.body)
})

/** Quotes one trip and books another. */
async function withBooking(): Promise<TestGateway> {
  const gateway = await startGateway({ env: OWN })
  const quote = { ShipmentNumber: NUMBER, TempShipFromPostalCode: '10314', TempShipToPostalCode: '33166' }
  expect((await post(gateway, '/getShippingQuote.php', quote)).status).toBe(200)
  expect((await post(gateway, CREATE, BOOKING)).status).toBe(200)
  gateway.sandbox.requests.length = 0
  return gateway
}

test('that of an update reads the shipment, changes it, and sends what the gateway sends', async () => {
  const gateway = await withBooking()
  const changes = { ReferenceNumber: 'REF-2', PickupName: `Sam "\\(1)" O'Example`, PickupZip: '10001', Make: 'Ford' }
  const { json } = await post(gateway, '/dry-run/updateShipment.php', changes)
  const before = structuredClone([...gateway.sandbox.shipments])
  await runLine(json.curl, gateway)
  const byHand = gateway.sandbox.requests.splice(0)
  expect(byHand.map(({ method }) => method)).toEqual(['GET', 'PUT'])
  for (const [id, shipment] of before) gateway.sandbox.shipments.set(id, shipment)
  await post(gateway, '/updateShipment.php', changes)
  const byGateway = gateway.sandbox.requests.find(({ method }) => method === 'PUT')
  expect(JSON.parse(byHand[1]?.body ?? '')).toEqual(JSON.parse(byGateway?.body ?? '""'))
  // Without a shipment, it sends nothing.
  gateway.sandbox.shipments.clear()
  await expect(runLine(json.curl, gateway)).rejects.toThrow('404')
  expect(gateway.sandbox.requests.at(-1)?.method).toBe('GET')
})

test('it has the ids for the numbers that the cross-reference knows', async () => {
  const gateway = await withBooking()
  const approval = { ActionName: 'Accept Rate', ShipmentNumber: NUMBER }
  const approve = await post(gateway, '/dry-run/getShippingQuote.php', approval)
  expect(JSON.parse(await runLine(approve.json.curl, gateway))).toMatchObject({ status: 'new' })
  const read = await get(gateway, '/dry-run/getShipment.php?ReferenceNumber=REF-2')
  expect(JSON.parse(await runLine(read.json.curl, gateway))).toMatchObject({ external_id: 'REF-2', status: 'new' })
  const cancel = await post(gateway, '/dry-run/deleteShipment.php', { ReferenceNumber: 'REF-2' })
  const canceled = JSON.parse(await runLine(cancel.json.curl, gateway))
  expect(canceled).toMatchObject({ external_id: 'REF-2', status: 'canceled' })
  expect(gateway.sandbox.requests.map(({ method }) => method)).toEqual(['POST', 'GET', 'DELETE'])
})
