/** Promise: every number that a caller was given resolves after a SIGKILL (contract, section 6). */

import { expect, onTestFinished, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { type GatewayCommand, serve } from '../callers/commands.ts'
import { folder } from '../callers/tenants-gateway.ts'
import { get, post } from '../gateway.ts'
import { size } from '../size.ts'
import { type Sandbox, startSandbox } from '../stand-in/stand-in.ts'
import { approve, quote } from './program.ts'

const ROUNDS = size(4, 50)
/** Rounds that go on at once, each on its own store. */
const LANES = 2
const CALLERS = 6
/** The kill comes after so many answered calls at most. */
const MOST_ANSWERS = 40
const LONG_MS = 150_000

/** A number that a caller was given or told of, and the trip that it stands for. */
interface GivenNumber {
  readonly number: string
  readonly zip: string
  readonly booked: boolean
}

let calls = 0

/** Asks for a quote, or books; each call has a different trip, which identifies it at the service. */
async function call(gateway: GatewayCommand): Promise<GivenNumber> {
  calls += 1
  const booked = calls % 4 === 0
  const zip = String(10_000 + calls)
  const number = `${booked ? 'REF' : 'WTS'}-${calls}`
  const { status, json } = booked
    ? await post(gateway, '/createShipment.php', { ...bookingExample, ReferenceNumber: number, PickupZip: zip })
    : await quote(gateway, number, { TempShipFromPostalCode: zip })
  expect(status).toBe(200)
  expect(booked ? json.TransportationBooked : json.ShipmentNumber).toBe(booked ? 'Yes' : number)
  return { number, zip, booked }
}

/** Makes calls until the gateway is killed in the middle; returns the answers. */
async function killUnderLoad(gateway: GatewayCommand): Promise<readonly GivenNumber[]> {
  const given: GivenNumber[] = []
  let dead = false
  const last = 1 + Math.floor(Math.random() * MOST_ANSWERS)
  const callers = Array.from({ length: CALLERS }, async () => {
    while (!dead) {
      try {
        given.push(await call(gateway))
      } catch (error) {
        // Only a gateway that is gone may leave a call without an answer.
        if (!dead || !(error instanceof TypeError)) throw error
      }
      if (given.length !== last || dead) continue
      dead = true
      gateway.signal('SIGKILL')
    }
  })
  await Promise.all(callers)
  expect((await gateway.ended).code).toBe('SIGKILL')
  return given
}

/** Every number that a caller got works at the next gateway. */
async function expectResolved(gateway: GatewayCommand, sandbox: Sandbox, given: readonly GivenNumber[]): Promise<void> {
  for (const { number, zip, booked } of given) {
    if (booked) {
      const { status, json } = await get(gateway, `/getShipment.php?ReferenceNumber=${number}`)
      expect({ number, status, zip: json.PickupZip }).toEqual({ number, status: 200, zip })
    } else {
      const { status, json } = await approve(gateway, number)
      expect({ number, status, booked: json.TransportationBooked }).toEqual({ number, status: 200, booked: 'Yes' })
      const trips = [...sandbox.quotes.values()].filter(({ pickup }) => pickup === zip)
      expect(trips).toMatchObject([{ approved: true }])
    }
  }
}

test('every number that a caller was given resolves after SIGKILL', { timeout: LONG_MS }, async () => {
  const sandbox = await startSandbox()
  onTestFinished(() => sandbox.close())
  let next = 0
  let all = 0
  const lanes = Array.from({ length: LANES }, async () => {
    const place = folder()
    const start = () => serve(place, { V2_BASE_URL: sandbox.url })
    let given: readonly GivenNumber[] = []
    while (next < ROUNDS) {
      next += 1
      const gateway = await start()
      await expectResolved(gateway, sandbox, given)
      given = await killUnderLoad(gateway)
      all += given.length
    }
    const last = await start()
    await expectResolved(last, sandbox, given)
    last.signal('SIGTERM')
    expect((await last.ended).code).toBe(0)
  })
  await Promise.all(lanes)
  expect(all).toBeGreaterThanOrEqual(ROUNDS)
})
