import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { assumptions } from '../../src/certify/assumptions.ts'
import type { Verdict } from '../../src/certify/seen.ts'
import { REFERENCE_PREFIX } from '../../src/certify/trial.ts'
import { deviationNames, type Fault, type Sandbox } from '../stand-in/stand-in.ts'
import { CONFIRMING, contradicting, tried } from './trial.ts'

/** The deviations of a service that keep a booking from being canceled. */
const UNCANCELABLE = new Set(['delete-cancels', 'booking-returns-id', 'refused-makes-nothing', 'cancel-again'])

const live = (sandbox: Sandbox) => [...sandbox.shipments.values()].filter(({ status }) => status !== 'canceled')

describe.each(assumptions.map((assumption) => [assumption.id, assumption] as const))('%s', (id, assumption) => {
  test('is confirmed by a service that keeps it, and leaves nothing', async () => {
    const { result, requests, sandbox, clean, file } = await tried(id, CONFIRMING[id] ?? {})
    expect(result).toMatchObject({ verdict: 'confirmed' satisfies Verdict })
    expect(requests.length).toBeGreaterThan(0)
    // The plan names every request that is sent.
    expect([...new Set(requests)].filter((request) => !assumption.requests.includes(request))).toEqual([])
    expect((await clean()).left).toEqual([])
    expect(live(sandbox)).toEqual([])
    expect(existsSync(file)).toBe(false)
  })

  test('is contradicted by a service that does not, and what was made is canceled', async () => {
    const { result, sandbox, clean } = await tried(id, contradicting(assumption))
    expect(result).toMatchObject({ verdict: 'contradicted' satisfies Verdict })
    const { left } = await clean()
    if (UNCANCELABLE.has(id)) return
    expect(left).toEqual([])
    expect(live(sandbox)).toEqual([])
  })

  test('sends nothing that it is not allowed', async () => {
    const { result, requests, sandbox } = await tried(id, {}, { bookings: false, isStage: false })
    const needsMore = assumption.effect === 'bookings' || assumption.stageOnly
    expect(result?.verdict === 'not tried').toBe(needsMore)
    if (needsMore) expect(requests).toEqual([])
    expect(sandbox.shipments.size).toBe(0)
  })
})

test('the stand-in has a deviation for nothing else, and every id is used once', () => {
  const ids = assumptions.map(({ id }) => id)
  expect(new Set(ids).size).toBe(ids.length)
  expect(deviationNames.filter((name) => !ids.includes(name))).toEqual([])
  expect(ids.length).toBeGreaterThanOrEqual(60)
})

test('every test booking carries the prefix, and says that nobody shall dispatch it', async () => {
  const { sandbox } = await tried('external-id-twice', {})
  const all = [...sandbox.shipments.values()]
  expect(all.length).toBe(2)
  for (const { external_id } of all) expect(external_id).toMatch(new RegExp(`^${REFERENCE_PREFIX}test-\\d\\d$`))
  expect(all[0]?.instructions).toContain('do not dispatch')
})

describe('a clean-up', () => {
  test('finds a booking whose reply was lost, if the service finds references', async () => {
    const { result, sandbox, clean, file } = await tried('booking-returns-id', {
      findsByReference: true,
      faults: [{ kind: 'reset-after', on: { method: 'POST' } }],
    })
    expect(result?.verdict).toBe('cannot tell')
    expect(live(sandbox)).toHaveLength(1)
    expect(await clean()).toEqual({ canceled: 1, left: [] })
    expect(live(sandbox)).toEqual([])
    expect(existsSync(file)).toBe(false)
  })

  test('cancels the shipment of a quote whose approval was not answered', async () => {
    const { result, sandbox, clean, file } = await tried('approve-takes-empty-object', {
      faults: [{ kind: 'reset-after', on: { path: /approve$/ } }],
    })
    expect(result?.verdict).toBe('cannot tell')
    expect(live(sandbox)).toHaveLength(1)
    expect(await clean()).toEqual({ canceled: 1, left: [] })
    expect(live(sandbox)).toEqual([])
    expect(existsSync(file)).toBe(false)
  })

  test('tells what it cannot find, and keeps it in the journal', async () => {
    const { clean, file } = await tried('booking-returns-id', {
      faults: [{ kind: 'reset-after', on: { method: 'POST' } }],
    })
    const { canceled, left } = await clean()
    expect(canceled).toBe(0)
    expect(left).toEqual([expect.stringMatching(/^TRANSLOAD-TEST-test-01: the service does not find it/)])
    expect(readFileSync(file, 'utf8')).toContain('TRANSLOAD-TEST-test-01')
  })

  test('does not touch a shipment that has another reference', async () => {
    const { sandbox, clean } = await tried('phone-is-digits', {})
    const [mine] = live(sandbox)
    if (!mine) throw new Error('there is no booking')
    sandbox.shipments.set(mine.id, { ...mine, external_id: 'REF-OF-A-CUSTOMER' })
    expect((await clean()).left).toEqual([expect.stringContaining('another booking')])
    expect(live(sandbox)).toHaveLength(1)
  })
})

test('no value of the service is shown, whatever it answers', { timeout: 120_000 }, async () => {
  const secret = `canary-${randomBytes(8).toString('hex')}`
  const shipment = {
    id: secret,
    shipment_id: secret,
    number: secret,
    status: secret,
    price: secret,
    external_id: secret,
    access_token: secret,
    expires_in: secret,
    transport_type: secret,
    instructions: secret,
    customer: { customer_name: secret },
    pickup: { state: secret, contact_phone: secret, available_pickup_dttm: secret },
    delivery: { zipcode: secret },
    vehicles: [{ id: secret, vin: secret, year: secret }],
    message: secret,
  }
  const answers = [200, 201, 400, 401, 404, 422, 500].map(
    (status): Fault => ({ kind: 'status', status, body: shipment, times: 'always', headers: { etag: secret } }),
  )
  for (const fault of answers) {
    const { all } = await tried(undefined, { faults: [fault] })
    expect(all.filter(({ verdict }) => verdict === 'contradicted').length).toBeGreaterThan(10)
    expect(JSON.stringify(all)).not.toContain(secret)
  }
})
