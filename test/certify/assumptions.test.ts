/** Promise: each assumption about the service is tried by harmless requests (contract, section 8). */

import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { assumptions } from '../../src/certify/assumptions.ts'
import { openJournal } from '../../src/certify/journal.ts'
import type { Result } from '../../src/certify/run.ts'
import { OF_QUOTE, REFERENCE_PREFIX } from '../../src/certify/trial.ts'
import { NO_SHIPMENT } from '../../src/service/account.ts'
import { basic, CLIENT } from '../gateway.ts'
import { deviationNames, type Fault, type RecordedRequest, type Sandbox } from '../stand-in/stand-in.ts'
import { folder } from './certify.ts'
import { CONFIRMING, contradicting, tried } from './trial.ts'

describe('a trial', () => {
  /** The deviations of a service that keep a booking from being canceled. */
  const UNCANCELABLE = new Set(['delete-cancels', 'booking-returns-id', 'refused-makes-nothing', 'cancel-again'])

  const live = (sandbox: Sandbox) => [...sandbox.shipments.values()].filter(({ status }) => status !== 'canceled')

  describe.each(assumptions.map((assumption) => [assumption.id, assumption] as const))('%s', (id, assumption) => {
    test('is confirmed by a service that keeps it, and leaves nothing', async () => {
      const { result, requests, sandbox, clean, file } = await tried(id, CONFIRMING[id] ?? {})
      expect(result).toMatchObject({ verdict: 'confirmed' satisfies Result['verdict'] })
      expect(requests.length).toBeGreaterThan(0)
      // The plan names every request that is sent.
      expect([...new Set(requests)].filter((request) => !assumption.requests.includes(request))).toEqual([])
      expect((await clean()).left).toEqual([])
      expect(live(sandbox)).toEqual([])
      expect(existsSync(file)).toBe(false)
    })

    test('is contradicted by a service that does not, and what was made is canceled', async () => {
      const { result, sandbox, clean } = await tried(id, contradicting(assumption))
      expect(result).toMatchObject({ verdict: 'contradicted' satisfies Result['verdict'] })
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
})

describe('requests', () => {
  const line = ({ id, verdict, seen }: Result) => `${id}: ${verdict}: ${seen}`

  /** Returns the requests of one trial, with a letter for each id. */
  function conversation({ requests }: Sandbox): string {
    const ids = new Map([[NO_SHIPMENT, '{unknown}']])
    return requests
      .map((request) => `  ${requestLine(request)}`)
      .join('\n')
      .replace(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, (id) => {
        const name = ids.get(id) ?? `{${ids.size}}`
        ids.set(id, name)
        return name
      })
      .replace(/(?:x{100})x*/g, ({ length }) => `(${length} times x)`)
  }

  const CREDENTIALS = new Map([
    [basic(), 'its credential'],
    [basic(CLIENT.id, 'wrong'), 'a wrong secret'],
  ])

  function requestLine({ method, path, headers, body }: RecordedRequest): string {
    const { authorization = 'nothing' } = headers
    const credential = CREDENTIALS.get(authorization) ?? authorization.replace(/ .*/, '')
    const type = headers['content-type'] ?? ''
    const condition = headers['if-match'] ? `If-Match ${headers['if-match']}` : ''
    return [method, path, `(${[credential, type, condition].filter(Boolean).join(', ')})`, body]
      .filter(Boolean)
      .join(' ')
  }

  /** For two trials of each assumption, on a busy machine. */
  const LONG_MS = 120_000

  test('every assumption is tried by the same requests as it was, and found the same', {
    timeout: LONG_MS,
  }, async () => {
    const told: string[] = []
    for (const assumption of assumptions) {
      const { id } = assumption
      const kept = await tried(id, CONFIRMING[id] ?? {})
      const broken = await tried(id, contradicting(assumption))
      told.push(...kept.all.map(line), conversation(kept.sandbox), ...broken.all.map(line), '')
    }
    await expect(told.join('\n')).toMatchFileSnapshot('conversations.txt')
  })
})

describe('the journal', () => {
  const OWN = { address: 'https://stage.example.com', tenant: 'acme' }

  const linesIn = (file: string) =>
    readFileSync(file, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))

  test('each line is written before its request, for the owner alone, and the file goes with the last booking', () => {
    const file = join(folder(), 'journal.ndjson')
    const journal = openJournal(file, OWN)
    expect([journal.left(), existsSync(file)]).toEqual([[], false])
    journal.made('R-1')
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(journal.left()).toEqual([{ ...OWN, reference: 'R-1', id: undefined }])
    journal.made('R-1', 'id-1')
    journal.made('R-2')
    journal.made(OF_QUOTE, 'id-3')
    expect(linesIn(file)).toEqual([
      { ...OWN, reference: 'R-1' },
      { ...OWN, reference: 'R-1', id: 'id-1' },
      { ...OWN, reference: 'R-2' },
      { ...OWN, reference: 'quote', id: 'id-3' },
    ])
    // The last one is canceled first; an id tells more than an intention.
    const left = [
      { ...OWN, reference: 'quote', id: 'id-3' },
      { ...OWN, reference: 'R-2', id: undefined },
      { ...OWN, reference: 'R-1', id: 'id-1' },
    ]
    expect(journal.left()).toEqual(left)
    expect(openJournal(file, OWN).left()).toEqual(left)
    journal.gone('R-2')
    journal.gone(OF_QUOTE, 'id-3')
    expect(openJournal(file, OWN).left()).toEqual(left.slice(2))
    journal.gone('R-1', 'other')
    expect(existsSync(file)).toBe(true)
    journal.gone('R-1', 'id-1')
    expect(existsSync(file)).toBe(false)
  })
})
