import { describe, expect, test } from 'vitest'
import type { Caller } from '../../src/callers/caller.ts'
import { type BookDeps, book } from '../../src/calls/book.ts'
import { findTarget } from '../../src/calls/find.ts'
import { planCall } from '../../src/calls/plan.ts'
import { gatewayError } from '../../src/errors.ts'
import type { Settings } from '../../src/mapping/settings.ts'
import { NoReply } from '../../src/service/exchange.ts'
import { noReplyError } from '../../src/service/failures.ts'
import { openDirect, type Replies, TENANT } from './direct.ts'
import { replyOf, requestOf, SETTINGS } from './requests.ts'
import { freeLocks, SENDING } from './scripted-service.ts'

const SENT = { ReferenceNumber: 'R', PickupZip: '10314', DeliveryZip: '33166', BillToName: 'Pat', VinNo: 'VIN1' }
const SHIPMENT = { id: 'S', number: 'TL-1', status: 'new', pickup: { id: 'p' }, vehicles: [{ id: 'v', vin: 'VIN1' }] }
const caller = (credential = 'one') => ({ tenant: TENANT, credential }) as Caller

interface BookOptions {
  readonly fields?: Readonly<Record<string, string>>
  readonly caller?: Caller
  readonly settings?: Partial<Settings>
  readonly headers?: Readonly<Record<string, string>>
  readonly deps?: Partial<BookDeps>
}

/** Finds, plans and books, as a legacy call does. */
async function booked(direct: ReturnType<typeof openDirect>, options: BookOptions = {}) {
  const request = requestOf('shipment.create', { ...SENT, ...options.fields })
  const found = await findTarget(request, TENANT, SENDING, direct.deps)
  const plan = planCall(request, found, { ...SETTINGS, ...options.settings })
  const deps = { ...direct.deps, ...options.deps }
  return book(plan, options.headers ?? {}, options.caller ?? caller(), SENDING, deps)
}
const ids = (answer: Awaited<ReturnType<typeof booked>>) => answer.headers['Transload-Shipment-Id']
const sentBody = ({ asked }: ReturnType<typeof openDirect>, at = -1) => asked.at(at)?.[0].body

describe('a booking', () => {
  test('is sent once, and answered again from its record', async () => {
    const direct = openDirect(replyOf(SHIPMENT))
    const first = await booked(direct)
    expect(ids(first)).toBe('S')
    const again = await booked(direct)
    expect(again).toMatchObject({ status: 200, body: first.body, headers: { 'Idempotent-Replayed': 'true' } })
    expect(direct.lines()).toEqual(['POST /v2/shipments'])
    expect(direct.locks).toEqual([])
    expect(direct.asked[0]?.[1]).toMatchObject({ requestId: 'id', deadline: SENDING.deadline })
    expect(direct.asked[0]?.[1].mayWrite?.()).toBe(true)
    expect(await direct.deps.xref.matches(TENANT, 'R')).toMatchObject([{ id: 'S', vin: 'VIN1' }])
  })

  test('is told to another credential of the tenant only if the service shows it the shipment', async () => {
    const direct = openDirect(replyOf(SHIPMENT), replyOf(SHIPMENT), replyOf('', 403), replyOf({ ...SHIPMENT, id: 'x' }))
    await booked(direct)
    const other = { caller: caller('two') }
    expect(ids(await booked(direct, other))).toBe('S')
    expect(direct.lines().at(-1)).toBe('GET /v2/shipments/S')
    await expect(booked(direct, other)).rejects.toMatchObject({ status: 403 })
    await expect(booked(direct, other)).rejects.toMatchObject({ code: 'reply-doubtful' })
  })

  test('has a key of its own in its header', async () => {
    const direct = openDirect(replyOf(SHIPMENT), replyOf({ ...SHIPMENT, id: 'T' }))
    for (const [key, id] of [
      ['a', 'S'],
      ['b', 'T'],
      ['a', 'S'],
    ] as const) {
      expect(ids(await booked(direct, { headers: { 'idempotency-key': key } }))).toBe(id)
    }
    expect(direct.lines()).toHaveLength(2)
  })

  test('is not begun in a brownout, but is answered from its record', async () => {
    const direct = openDirect(replyOf(SHIPMENT))
    const request = requestOf('shipment.create', SENT)
    const plan = planCall(request, await findTarget(request, TENANT, SENDING, direct.deps), SETTINGS)
    const brownout = gatewayError('draining/booking', {})
    await expect(book(plan, {}, caller(), SENDING, direct.deps, brownout)).rejects.toBe(brownout)
    await booked(direct)
    expect(ids(await book(plan, {}, caller(), SENDING, direct.deps, brownout))).toBe('S')
  })
})

describe('the number of the quote of a booking', () => {
  const withQuote = async (...replies: Replies) => {
    const direct = openDirect(...replies)
    await direct.name({ kind: 'quote', name: 'R', id: 'Q' })
    await direct.store.put({ links: [], thing: { tenant: TENANT, id: 'Q', own: 'N', facts: null } })
    return direct
  }
  const names = async ({ deps }: ReturnType<typeof openDirect>) =>
    (await deps.xref.matches(TENANT, 'N')).map(({ id }) => id)

  test('becomes a name of its shipment', async () => {
    const direct = await withQuote(replyOf(SHIPMENT))
    await booked(direct)
    expect(await names(direct)).toEqual(['S'])
  })

  test.each([
    ['another booking of the same VIN has it', { vin: 'VIN1' }, ['other']],
    ['another booking of another VIN has it', { vin: 'VIN2' }, ['S', 'other']],
    ['the service gave it to a shipment', { vin: 'VIN1', givenBy: 'service' }, ['S']],
    ['a quote has it', { vin: 'VIN1', kind: 'quote' }, ['S', 'other']],
  ] as const)('where %s', async (_, link, expected) => {
    const direct = await withQuote(replyOf(SHIPMENT))
    await direct.name({ name: 'N', id: 'other', at: 1, ...link })
    await direct.claim({ key: 'x', reference: 'N' }, 'booked', 'other')
    await booked(direct)
    expect((await names(direct)).toSorted()).toEqual([...expected].toSorted())
  })

  test('stays the number of a second booking under the same name', async () => {
    const direct = await withQuote(replyOf(SHIPMENT), replyOf({ ...SHIPMENT, id: 'T' }))
    await direct.store.put({ links: [], thing: { tenant: TENANT, id: 'Q', own: 'R', facts: null } })
    for (const key of ['a', 'b']) await booked(direct, { headers: { 'idempotency-key': key } })
    expect(await direct.deps.xref.remembered(TENANT, 'T')).toMatchObject({ own: 'R' })
  })

  test('becomes a name where the shipment that has it was not booked here', async () => {
    const direct = await withQuote(replyOf(SHIPMENT))
    await direct.name({ name: 'N', id: 'other', vin: 'VIN1' })
    await booked(direct)
    expect(await names(direct)).toContain('S')
  })
})

describe('a quote that is approved meanwhile', () => {
  test('is not booked a second time', async () => {
    const direct = openDirect(replyOf(SHIPMENT))
    await direct.name({ kind: 'quote', name: 'R', id: 'Q' })
    const request = requestOf('shipment.create', SENT)
    const plan = planCall(request, await findTarget(request, TENANT, SENDING, direct.deps), SETTINGS)
    await direct.approve('Q', 'sent')
    await expect(book(plan, {}, caller(), SENDING, direct.deps)).rejects.toMatchObject({
      code: 'booking-under-way',
      message: expect.stringContaining('approv'),
      headers: { 'Retry-After': '5' },
    })
    expect(direct.lines()).toEqual([])
    // Where approvals do not book, it is.
    const approving = { ...direct.deps, approvalBooks: 'no' } as const
    expect(ids(await book(plan, {}, caller(), SENDING, approving))).toBe('S')
  })
})

describe('a booking of an approved quote', () => {
  const QUOTE_SHIPMENT = { ...SHIPMENT, id: 'Q', number: 'TL-Q', quote_id: 'own' }
  const approved = async (...replies: Replies) => {
    const direct = openDirect(...replies)
    await direct.name({ kind: 'quote', name: 'R', id: 'Q' })
    await direct.approve('Q', 'approved')
    return direct
  }

  test('is merged into the shipment of the quote, under the locks of both', async () => {
    const direct = await approved(replyOf(QUOTE_SHIPMENT), replyOf({ id: 'Q', number: 'TL-2' }))
    const answer = await booked(direct)
    expect(answer.headers).toEqual({ 'Transload-Shipment-Id': 'Q', 'Transload-Shipment-Number': 'TL-2' })
    expect(direct.lines()).toEqual(['GET /v2/shipments/Q', 'PUT /v2/shipments/Q'])
    expect(direct.locks).toEqual(['quote acme\nQ', 'update acme\nQ'])
    expect(sentBody(direct)).toMatchObject({
      pickup: { id: 'p', zipcode: 10_314 },
      vehicles: [{ id: 'v', vin: 'VIN1' }],
      // The quote's own place stays as the service has it.
      quote_id: 'own',
    })
    expect(direct.asked[1]?.[1]).toMatchObject({ requestId: 'id', deadline: SENDING.deadline })
  })

  test.each([
    [true, true, true],
    [true, false, false],
    [false, true, false],
  ])('may be written with its claim (%s) and the lock of its quote (%s): %s', async (isHeld, isLocked, mayWrite) => {
    const direct = await approved(replyOf(QUOTE_SHIPMENT), replyOf('', 204))
    direct.lease.isHeld = isHeld
    expect(ids(await booked(direct, { deps: freeLocks(() => isLocked) }))).toBe('Q')
    expect(direct.asked[1]?.[1].mayWrite?.()).toBe(mayWrite)
  })

  test('is sent as a new one where the quote has no shipment', async () => {
    for (const gone of [replyOf('', 404), replyOf({ ...QUOTE_SHIPMENT, status: 'canceled' })]) {
      const direct = await approved(gone, replyOf(SHIPMENT))
      expect(ids(await booked(direct))).toBe('S')
      expect(sentBody(direct)).toMatchObject({ quote_id: 'Q' })
    }
  })

  test('names no quote where its shipment is booked already, or another vehicle is', async () => {
    const taken = await approved(replyOf(SHIPMENT))
    await taken.claim({ key: 'x', reference: 'x' }, 'booked', 'Q')
    const another = await approved(replyOf('', 404), replyOf(SHIPMENT))
    await another.name({ name: 'R', id: 'other', vin: 'VIN2' })
    await another.claim({ key: 'x', reference: 'x' }, 'booked', 'other')
    for (const direct of [taken, another]) {
      expect(ids(await booked(direct))).toBe('S')
      expect(sentBody(direct)).not.toHaveProperty('quote_id')
    }
    expect(taken.lines()).toEqual(['POST /v2/shipments'])
    // The same vehicle, or one that was not booked here, is no other.
    for (const vin of ['VIN1', 'VIN2']) {
      const same = await approved(replyOf('', 404), replyOf(SHIPMENT))
      await same.name({ name: 'R', id: 'other', vin })
      if (vin === 'VIN1') await same.claim({ key: 'x', reference: 'x' }, 'booked', 'other')
      await booked(same)
      expect(sentBody(same)).toHaveProperty('quote_id', 'Q')
    }
  })

  test('is sent as any other where approvals do not book', async () => {
    const direct = await approved(replyOf(SHIPMENT))
    await booked(direct, { deps: { approvalBooks: 'no' } })
    expect(direct.lines()).toEqual(['POST /v2/shipments'])
    expect(direct.locks).toEqual([])
  })

  const UNKNOWN = 'outcome-unknown'
  test.each<[string, Replies, object]>([
    ['a read that fails', [replyOf('', 500)], { code: 'service-unavailable', headers: { 'Retry-After': '5' } }],
    ['a read of another one', [replyOf(SHIPMENT)], { code: 'service-unavailable' }],
    ['a refusal', [replyOf(QUOTE_SHIPMENT), replyOf('', 422)], { code: 'service-refused' }],
    ['a service that is not there', [replyOf(QUOTE_SHIPMENT), replyOf('', 503)], { code: 'service-unavailable' }],
    ...(['unsent', 'busy', 'withdrawn'] as const).map((silence): [string, Replies, object] => {
      const error = noReplyError(new NoReply(silence))
      return [`an update that is ${silence}`, [replyOf(QUOTE_SHIPMENT), error], { code: error.code }]
    }),
    ['an open circuit', [replyOf(QUOTE_SHIPMENT), gatewayError('circuit-open', { serviceSays: '' })], {}],
    [
      'no token',
      [replyOf(QUOTE_SHIPMENT), gatewayError('login-failed', { serviceSays: '' })],
      { code: 'login-failed' },
    ],
    [
      'a refused token',
      [replyOf(QUOTE_SHIPMENT), gatewayError('login-refused', { serviceSays: '' })],
      { code: 'login-refused' },
    ],
    [
      'changes of others',
      Array.from({ length: 3 }, () => [replyOf(QUOTE_SHIPMENT), replyOf('', 412)]).flat(),
      { code: 'shipment-changed' },
    ],
    [
      'a lost update',
      [replyOf(QUOTE_SHIPMENT), noReplyError(new NoReply('late'))],
      { code: UNKNOWN, headers: { 'Retry-After': '5' } },
    ],
    ['a failed update', [replyOf(QUOTE_SHIPMENT), replyOf('', 500)], { code: UNKNOWN }],
    [
      'a reply that shows it as canceled',
      [replyOf(QUOTE_SHIPMENT), replyOf({ id: 'Q', status: 'canceled' })],
      { code: UNKNOWN, cause: { message: expect.stringContaining('it is canceled') } },
    ],
  ])('after %s is refused, and may be sent again', async (_, replies, error) => {
    const direct = await approved(...replies)
    await expect(booked(direct)).rejects.toMatchObject(error)
    expect(await direct.deps.bookings.pending(TENANT)).toEqual([])
  })

  test('needs an update among the actions', async () => {
    const direct = await approved(replyOf(QUOTE_SHIPMENT))
    const catalog = { ...direct.deps.catalog, actions: new Map() }
    await expect(booked(direct, { deps: { catalog } })).rejects.toThrow('The mappings declare no update of a shipment.')
  })
})

test('a native booking that shows the shipment of another one is not known', async () => {
  const native = { path: '/', actions: new Set(['shipment.create']) }
  const shown = replyOf({ TransportationBooked: 'Yes', ShipmentNumber: 'TL-1' })
  const direct = openDirect(shown, replyOf(SHIPMENT), shown, replyOf({ ...SHIPMENT, id: 'other' }))
  await direct.claim({ key: 'x', reference: 'x' }, 'booked', 'S')
  await expect(booked(direct, { settings: { native } })).rejects.toMatchObject({
    code: 'outcome-unknown',
    cause: { code: 'reply-doubtful', message: expect.stringContaining('it shows the shipment of another booking') },
  })
  const fields = { ReferenceNumber: 'R2' }
  expect(ids(await booked(direct, { settings: { native }, fields }))).toBe('other')
})
