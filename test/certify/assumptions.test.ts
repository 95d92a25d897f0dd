/** Promise: each assumption about the service is checked with harmless requests (contract, section 8). */

import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { assumptions } from '../../src/labs/certify/assumptions.ts'
import { deviationNames, type Fault, type Sandbox } from '../stand-in/stand-in.ts'
import { CONFIRMING, contradicting, tried } from './trial.ts'

/** For several trials of each assumption, on a busy machine. */
const LONG_MS = 120_000

const live = (sandbox: Sandbox) => [...sandbox.shipments.values()].filter(({ status }) => status !== 'canceled')

describe('every assumption', () => {
  /** The deviations of a service that keep a booking from being canceled. */
  const UNCANCELABLE = new Set(['delete-cancels', 'booking-returns-id', 'refused-makes-nothing', 'cancel-again'])

  test('is confirmed or contradicted, and everything that was created is canceled', {
    timeout: LONG_MS,
  }, async () => {
    for (const assumption of assumptions) {
      const { id } = assumption
      const kept = await tried(id, CONFIRMING[id] ?? {})
      const broken = await tried(id, contradicting(assumption))
      expect.soft([id, kept.result?.verdict, broken.result?.verdict]).toEqual([id, 'confirmed', 'contradicted'])
      for (const { clean, sandbox, file } of UNCANCELABLE.has(id) ? [kept] : [kept, broken]) {
        expect.soft([id, (await clean()).left, live(sandbox)]).toEqual([id, [], []])
        expect.soft(existsSync(file), id).toBe(false)
      }
    }
  })

  test('sends nothing that is not allowed', { timeout: LONG_MS }, async () => {
    for (const { id, effect } of assumptions) {
      const { result, requests, sandbox } = await tried(id, {}, false)
      const needsMore = effect === 'bookings'
      expect.soft([id, result?.verdict === 'not tried', requests.length === 0]).toEqual([id, needsMore, needsMore])
      // Reads, quotes and tokens change nothing important.
      const harmless =
        effect === 'reads'
          ? /^(GET (?!\/v2\/quote)|POST \/oauth2\/token$)/
          : /^(GET |(POST|PUT) \/v2\/quote(\/[^/]+)?$|POST \/oauth2\/token$)/
      expect.soft([id, requests.filter((request) => !harmless.test(request))]).toEqual([id, []])
      expect.soft([id, sandbox.shipments.size]).toEqual([id, 0])
    }
  })

  test('has its own id, and the stand-in has deviations for nothing else', () => {
    const ids = assumptions.map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
    expect(deviationNames.filter((name) => !ids.includes(name))).toEqual([])
    expect(ids.length).toBeGreaterThanOrEqual(60)
  })
})

describe('a clean-up', () => {
  test.each([
    ['a booking whose reply was lost, if the service finds references', 'booking-returns-id', { method: 'POST' }],
    ['the shipment of a quote whose approval was not answered', 'approve-takes-empty-object', { path: /approve$/ }],
  ])('cancels %s', async (_, id, on) => {
    const faults: readonly Fault[] = [{ kind: 'reset-after', on }]
    const { result, sandbox, clean, file } = await tried(id, { findsByReference: true, faults })
    expect(result?.verdict).toBe('cannot tell')
    expect(live(sandbox)).toHaveLength(1)
    expect(await clean()).toEqual({ canceled: 1, left: [] })
    expect(live(sandbox)).toEqual([])
    expect(existsSync(file)).toBe(false)
  })

  test('reports what it cannot find, and keeps it in the journal', async () => {
    const faults: readonly Fault[] = [{ kind: 'reset-after', on: { method: 'POST' } }]
    const { clean, file } = await tried('booking-returns-id', { faults })
    const left = [expect.stringMatching(/^TRANSLOAD-TEST-test-01: the service does not find it/)]
    expect(await clean()).toEqual({ canceled: 0, left })
    expect(readFileSync(file, 'utf8')).toContain('TRANSLOAD-TEST-test-01')
  })

  test('does not touch a shipment that has another reference', async () => {
    const { sandbox, clean } = await tried('phone-is-digits', {})
    const [mine = expect.fail('there is no booking')] = live(sandbox)
    sandbox.shipments.set(mine.id, { ...mine, external_id: 'REF-OF-A-CUSTOMER' })
    expect((await clean()).left).toEqual([expect.stringContaining('another booking')])
    expect(live(sandbox)).toHaveLength(1)
  })
})

test('no value of the service is shown, whatever it answers', { timeout: LONG_MS }, async () => {
  const secret = `canary-${randomBytes(8).toString('hex')}`
  const fields = (...names: readonly string[]) => Object.fromEntries(names.map((name) => [name, secret]))
  const body = {
    ...fields('id', 'shipment_id', 'number', 'status', 'price', 'external_id', 'access_token', 'expires_in'),
    ...fields('transport_type', 'instructions', 'message'),
    customer: fields('customer_name'),
    pickup: fields('state', 'contact_phone', 'available_pickup_dttm'),
    delivery: fields('zipcode'),
    vehicles: [fields('id', 'vin', 'year')],
  }
  for (const status of [200, 201, 400, 401, 404, 422, 500]) {
    const fault: Fault = { kind: 'status', status, body, times: 'always', headers: { etag: secret } }
    const { all } = await tried(undefined, { faults: [fault] })
    expect(all.filter(({ verdict }) => verdict === 'contradicted').length).toBeGreaterThan(10)
    expect(JSON.stringify(all)).not.toContain(secret)
  }
})
