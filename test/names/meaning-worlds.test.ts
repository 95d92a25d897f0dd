/** Promise: the laws hold at the edge, over HTTP, for calls and their dry runs (contract, section 6). */

import { expect, test } from 'vitest'
import { book } from '../bookings/desk.ts'
import { basic, CLIENT, get, OWN, post, startGateway, type TestGateway } from '../gateway.ts'
import type { DemoShipment, Sandbox } from '../stand-in/stand-in.ts'
import { type Case, cases, expected, type Verdict, type World, worlds, writeWorld } from './world.ts'

const WORLDS = 12
const CALLS = 24
/** One of this many calls is in the sample. */
const ONE_IN = 38
/** Half of all calls have names that disagree, but most calls in the sample do not. */
const DISAGREES_EVERY = 4

/** A sample of the worlds, each with a sample of its calls, the same in every run. */
const sample = worlds
  .filter((_, nth) => nth % Math.floor(worlds.length / WORLDS) === 0)
  .map((world, turn) => {
    const some = [...cases(turn)].filter((_, nth) => nth % ONE_IN === turn)
    const calls = some.filter((call, nth) => nth % DISAGREES_EVERY === 0 || expected(world, call).is !== 'conflict')
    return { world, calls: calls.slice(0, CALLS) }
  })

/** Fills the service with a world's shipments and quotes; the template is a shipment that the service made. */
function fillService(
  { shipments, quotes }: World,
  { sandbox }: { readonly sandbox: Sandbox },
  template: DemoShipment,
  client: string,
) {
  sandbox.shipments.clear()
  for (const { id, number, vins, state } of shipments) {
    if (state === 'gone') continue
    const [{ vin: _, ...blank } = expect.fail('no vehicle')] = template.vehicles
    const vehicles = vins.map((vin, nth) => ({ ...blank, id: `vehicle-${nth}`, ...(vin !== '' && { vin }) }))
    const { external_id: __, ...plain } = template
    sandbox.shipments.set(id, { ...plain, id, number, vehicles, status: state === 'canceled' ? 'canceled' : 'new' })
  }
  for (const { id } of quotes) {
    const trip = { pickup: '10314', delivery: '33101', vehicle_type: 'car', transport_type: 'open' } as const
    sandbox.quotes.set(id, { ...trip, shipment_id: id, price: 100, client, approved: false })
  }
}

async function templateOf(gateway: TestGateway): Promise<DemoShipment> {
  await book(gateway)
  return [...gateway.sandbox.shipments.values()][0] ?? expect.fail('not booked')
}

/** Sends a call, or its dry run. */
async function send(
  gateway: TestGateway,
  { names, vin, use, changesVehicle, kind }: Case,
  client: string,
  prefix = '',
) {
  const change =
    kind === 'quote'
      ? { ActionName: 'Update Rate', EquipmentType: 'ENCLOSED AUTO' }
      : changesVehicle
        ? { Model: 'T' }
        : { PickupName: 'T' }
  const fields = { ...Object.fromEntries(names), ...(vin !== '' && { VinNo: vin }), ...(use === 'update' && change) }
  const headers = { authorization: basic(client, CLIENT.secret) }
  if (use === 'read') return get(gateway, `${prefix}/getShipment.php?${new URLSearchParams(fields)}`, headers)
  const path =
    kind === 'quote' ? '/getShippingQuote.php' : use === 'update' ? '/updateShipment.php' : '/deleteShipment.php'
  return post(gateway, prefix + path, fields, headers)
}

const LEADS_TO = { conflict: 409, unknown: 404, 'in-doubt': 503, several: 409, 'no-such-vehicle': 404 } as const

/** The expected outcome of a call: its status, its message, and what it writes where. */
function outcomeOf({ shipments, quotes }: World, { use, vin }: Case, verdict: Verdict) {
  if (verdict.is === 'quote')
    return { status: quotes.some(({ id }) => id === verdict.id) ? 200 : 404, written: `PUT /v2/quote/${verdict.id}` }
  if (verdict.is !== 'shipment') return { status: LEADS_TO[verdict.is], written: undefined }
  const { id, entry } = verdict
  const one = shipments.find((shipment) => shipment.id === id)
  // A quote's own id, or a shipment that is gone.
  if (!one || one.state === 'gone')
    return use === 'cancel' && one
      ? { status: 200, written: `DELETE ${id}` }
      : { status: 404, written: use === 'cancel' ? `DELETE ${id}` : undefined }
  if (use === 'read')
    return { status: 200, vin: one.vins[entry] ?? '', booked: one.state === 'live' ? 'Yes' : 'No', written: undefined }
  if (use === 'cancel') return { status: 200, booked: 'No', written: `DELETE ${id}` }
  const vins = one.vins.map((own, nth) =>
    nth === entry && (verdict.vin === 'new' || verdict.vin === 'changed') ? vin : own,
  )
  return { status: one.state === 'live' ? 200 : 409, vins, written: `PUT ${id}` }
}

test('of calls', { timeout: 120_000 }, async () => {
  const gateway = await startGateway({ sandbox: { credentials: 'any' } })
  const { sandbox, store } = gateway
  const template = await templateOf(gateway)
  let count = 0
  for (const { world, calls } of sample) {
    for (const call of calls) {
      count += 1
      const client = `client-${count}`
      await writeWorld(world, client, store)
      fillService(world, gateway, template, client)
      sandbox.requests.length = 0
      const verdict = expected(world, call)
      const { written, vins, ...should } = outcomeOf(world, call, verdict)
      const { status, json } = await send(gateway, call, client)
      const writes = sandbox.requests
        .filter(({ method }) => method !== 'GET')
        .map(({ method, path }) => `${method} ${path.replace('/v2/shipments/', '')}`)
      const shows = {
        ...('vin' in should && { vin: json.VinNo }),
        ...('booked' in should && { booked: json.TransportationBooked }),
      }
      const what = `${world.title}: ${JSON.stringify(call)}: ${JSON.stringify(verdict)}: ${json.Message}`
      expect({ status, ...shows, written: writes[0]?.toLowerCase() }, what).toEqual({
        ...should,
        written: written?.toLowerCase(),
      })
      if (vins && status === 200 && verdict.is === 'shipment') {
        expect(
          sandbox.shipments.get(verdict.id)?.vehicles.map(({ vin = '' }) => vin),
          what,
        ).toEqual(vins)
      }
      if (verdict.is === 'several') expect(json.Message, what).toMatch(/[A-HJ-NPR-Z0-9]{17}|\(none\)/)
      if (verdict.is === 'unknown' && call.kind === 'shipment') expect(json.TransportationBooked, what).toBe('No')
      if (verdict.is === 'in-doubt') {
        expect(json, what).toEqual({ Message: expect.stringContaining('bk_'), TransportationBooked: 'Unknown' })
      }
    }
  }
  expect(count).toBeGreaterThan(250)
})

test('of dry runs', { timeout: 120_000 }, async () => {
  let count = 0
  for (const { world, calls } of sample) {
    const gateway = await startGateway({ env: OWN })
    const template = await templateOf(gateway)
    const tenant = (await gateway.store.listClaims({}))[0]?.tenant ?? expect.fail('no tenant')
    await writeWorld(world, tenant, gateway.store)
    fillService(world, gateway, template, CLIENT.id)
    gateway.sandbox.requests.length = 0
    for (const call of calls) {
      count += 1
      const verdict = expected(world, call)
      const { status, json } = await send(gateway, call, CLIENT.id, '/dry-run')
      const what = `${world.title}: ${JSON.stringify(call)}: ${JSON.stringify(verdict)}: ${JSON.stringify(json.problems)} ${json.request?.url}`
      expect(status, what).toBe(200)
      const refused = json.problems.flatMap(({ code }: { code: string }) => REFUSED_AS[code] ?? [])
      const id = decodeURIComponent(/\/v2\/\w+\/(.*)$/.exec(String(json.request.url))?.[1] ?? '')
      if (refused.length > 0) expect(refused, what).toContain(verdict.is)
      // Without a look at the service, a name stands for the id; otherwise it is the id that the call means.
      else if (verdict.is === 'shipment' && !id.startsWith('{') && call.use !== 'read')
        expect(id.toLowerCase(), what).toBe(verdict.id)
      else if (verdict.is === 'quote') expect(id.toLowerCase(), what).toBe(verdict.id)
    }
    expect(gateway.sandbox.requests).toEqual([])
  }
  expect(count).toBeGreaterThan(250)
})

const REFUSED_AS: Readonly<Record<string, readonly Verdict['is'][]>> = {
  'numbers-disagree': ['conflict'],
  'outcome-unknown': ['in-doubt'],
  'number-unknown': ['unknown', 'no-such-vehicle'],
  'several-matches': ['several'],
}
