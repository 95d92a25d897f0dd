import { describe, expect, test } from 'vitest'
import { claimFor, type Made } from '../../src/bookings/bookings.ts'
import { NotBooked } from '../../src/bookings/protocol.ts'
import { GatewayError } from '../../src/errors.ts'
import { NoReply } from '../../src/service/exchange.ts'
import type { Doubt } from '../../src/store/doubt.ts'
import { StoreDown } from '../../src/store/store.ts'
import { booking, made, openBookings as open } from './over-memory.ts'

const turn = () => new Promise(setImmediate)
const never = () => expect.fail('it was sent')
const thrown = (work: Promise<unknown>): Promise<GatewayError> =>
  work.then(
    () => expect.fail('it was not refused'),
    (error: unknown) => (error instanceof GatewayError ? error : expect.fail(`no error of the gateway: ${error}`)),
  )

describe('a booking', () => {
  test('is sent once, and a later call gets its answer, marked as a replay', async () => {
    const { bookings, counted } = open()
    expect(await bookings.once(booking(), async () => made())).toEqual({ answer: made().answer })
    expect(await bookings.once(booking(), never)).toEqual({
      answer: { ...made().answer, headers: { ...made().answer.headers, 'Idempotent-Replayed': 'true' } },
    })
    expect(counted).toEqual(['made', 'replayed'])
  })

  test('of another credential requires a read of the shipment, and that of its maker does not', async () => {
    const { bookings } = open()
    await bookings.once(booking({ credential: 'mine' }), async () => made())
    expect(await bookings.once(booking({ credential: 'mine' }), never)).not.toHaveProperty('requiresReadOf')
    expect(await bookings.once(booking({ credential: 'other' }), never)).toMatchObject({ requiresReadOf: 's-1' })
    expect(await bookings.once(booking(), never)).not.toHaveProperty('requiresReadOf')
  })

  test('with other details is refused, while the first one is under way and once it is made', async () => {
    const { bookings } = open()
    const sending = Promise.withResolvers<Made>()
    const first = bookings.once(booking(), () => sending.promise)
    const other = booking({ fields: [['PickupName', 'Robin']] })
    expect(await thrown(bookings.once(other, never))).toMatchObject({
      code: 'booking-conflict',
      message: 'Another booking with this reference is under way (bk_1). Use another reference.',
    })
    sending.resolve(made())
    await first
    expect(await thrown(bookings.once(other, never))).toMatchObject({
      code: 'booking-conflict',
      message:
        'This reference is already booked with other details (bk_1). Use /updateShipment.php to change the shipment.',
    })
  })

  test('waits for the same one until its deadline', async () => {
    const { bookings } = open()
    const sending = Promise.withResolvers<Made>()
    const first = bookings.once(booking(), () => sending.promise)
    await turn()
    const late = await thrown(bookings.once(booking({ deadline: performance.now() + 20 }), never))
    expect(late).toMatchObject({ code: 'booking-under-way', headers: { 'Retry-After': '5' } })
    const patient = bookings.once(booking(), never)
    sending.resolve(made())
    await first
    expect((await patient).answer.headers).toMatchObject({ 'Idempotent-Replayed': 'true' })
  })

  test('is waited for by the calls of this gateway until its own end, and not longer', async () => {
    const { bookings } = open({ wait: () => new Promise(() => {}) })
    const sending = [Promise.withResolvers<Made>(), Promise.withResolvers<Made>()] as const
    const first = bookings.once(booking(), () => sending[0].promise)
    void bookings.once(booking({ reference: 'REF-2' }), () => sending[1].promise)
    await turn()
    const waiting = [1, 2].map(() => bookings.once(booking(), never))
    await turn()
    sending[0].resolve(made())
    await first
    for (const { answer } of await Promise.all(waiting)) expect(answer.headers).toHaveProperty('Idempotent-Replayed')
  })

  test('that another gateway sends is looked at again every fifth of a second, also after one of its own', async () => {
    const waits: number[] = []
    const { bookings, store } = open({
      wait: async (ms) => {
        waits.push(ms)
        await turn()
        const [claim] = await store.listClaims({})
        if (waits.length === 2 && claim) await store.change(claim, { state: 'freed', instance: 'other', why: 'no' })
      },
    })
    const refused = new NotBooked(new GatewayError('service-refused', 'no'))
    await thrown(bookings.once(booking(), () => Promise.reject(refused)))
    const other = open({ faults: store }).bookings
    void other.once(booking(), () => new Promise(() => {}))
    await turn()
    await bookings.once(booking(), async () => made())
    expect(waits).toEqual([200, 200])
  })

  test('whose key is released while it is looked at is claimed again', async () => {
    const { store } = open()
    const { claim } = await store.claim(claimFor(booking(), { handle: 'bk_0', instance: 'other', dedupeWindowMs: 0 }))
    const freed = { ...claim, state: 'freed' } as const
    let tries = 0
    const released = open({
      faults: {
        ...store,
        claim: async (wanted) => {
          tries += 1
          return tries === 1 ? { won: false, claim: freed } : { won: true, claim: { ...claim, handle: wanted.handle } }
        },
      },
    })
    expect(await released.bookings.once(booking(), async () => made())).toEqual({ answer: made().answer })
    expect(tries).toBe(2)
  })

  test('that fails with proof is answered with the reason, and may be sent again', async () => {
    const { bookings, counted } = open()
    const refused = new GatewayError('service-refused', 'no')
    expect(await thrown(bookings.once(booking(), () => Promise.reject(new NotBooked(refused))))).toBe(refused)
    expect(await bookings.once(booking(), async () => made())).toMatchObject({ answer: { status: 200 } })
    expect(counted).toEqual(['freed', 'made'])
  })

  test('with an outcome that is not known is not sent again', async () => {
    const { bookings, counted } = open()
    const cause = new NoReply('late')
    expect(await thrown(bookings.once(booking(), () => Promise.reject(cause)))).toMatchObject({
      code: 'outcome-unknown',
      message: expect.stringContaining('bk_1'),
      cause,
    })
    expect(await thrown(bookings.once(booking(), never))).toMatchObject({ code: 'outcome-unknown' })
    expect(counted).toEqual(['unknown'])
  })

  test('that was made and cannot be recorded has an outcome that is not known', async () => {
    const { bookings, counted } = open({ faults: { change: () => Promise.reject(new StoreDown('down')) } })
    expect(await thrown(bookings.once(booking(), async () => made()))).toMatchObject({
      code: 'outcome-unknown',
      cause: expect.any(StoreDown),
    })
    expect(counted).toEqual(['unknown'])
  })

  test('whose claim may or may not be stored is never sent, and its claim goes', async () => {
    const { bookings, neverSent } = open({ faults: { claim: () => Promise.reject(new StoreDown('down')) } })
    await expect(bookings.once(booking(), never)).rejects.toThrow(StoreDown)
    expect(neverSent).toEqual(['bk_1'])
  })

  test('that is not to be sent is refused, unless an earlier call has made it', async () => {
    const { bookings } = open()
    const refusal = new Error('a brownout')
    await expect(bookings.once(booking({ refusal }), never)).rejects.toBe(refusal)
    await bookings.once(booking(), async () => made())
    expect((await bookings.once(booking({ refusal }), never)).answer.status).toBe(200)
  })
})

describe('a booking that may have been made before the store was restored', () => {
  const doubt: Doubt = { since: 1, declaredAt: 2, until: 0 }

  test('is unknown, and told once', async () => {
    const { bookings, store, counted, unknown } = open({ doubt: () => doubt })
    expect(await thrown(bookings.once(booking(), never))).toMatchObject({ code: 'outcome-unknown' })
    expect((await store.listClaims({}))[0]).toMatchObject({ state: 'unknown', createdAt: 1 })
    expect([counted, unknown]).toEqual([['unknown'], ['bk_1']])
  })

  test('keeps a claim that may or may not be stored: freed, it would count as certain', async () => {
    const faults = { claim: () => Promise.reject(new StoreDown('down')) }
    const { bookings, neverSent } = open({ doubt: () => doubt, faults })
    await expect(bookings.once(booking(), never)).rejects.toThrow(StoreDown)
    expect(neverSent).toEqual([])
  })
})

test('a gateway that shuts down sends no more bookings, and waits for those under way', async () => {
  const { bookings } = open()
  const sending = Promise.withResolvers<Made>()
  const first = bookings.once(booking(), () => sending.promise)
  let isDrained = false
  await turn()
  const drained = bookings.drain().then(() => {
    isDrained = true
  })
  expect(await thrown(bookings.once(booking({ reference: 'REF-2' }), never))).toMatchObject({
    code: 'draining',
    message: 'The gateway is shutting down, and this booking was not sent. Send it again.',
    headers: { 'Retry-After': '5' },
  })
  expect(isDrained).toBe(false)
  sending.resolve(made())
  await Promise.all([first, drained])
})

describe('the bookings of a tenant', () => {
  test('that are open are those under way and those with an unknown outcome', async () => {
    const { bookings, store } = open()
    void bookings.once(booking({ reference: 'SENDING' }), () => new Promise(() => {}))
    await thrown(bookings.once(booking({ reference: 'UNKNOWN' }), () => Promise.reject(new NoReply('late'))))
    await bookings.once(booking({ reference: 'BOOKED' }), async () => made())
    void bookings.once(booking({ reference: 'OTHER', tenant: 'zeta' }), () => new Promise(() => {}))
    await expect.poll(() => store.listClaims({})).toHaveLength(4)
    expect((await bookings.pending('acme')).map(({ reference }) => reference)).toEqual(['SENDING', 'UNKNOWN'])
  })

  test('have a shipment if it is booked, and not once its key is free', async () => {
    const { bookings, store } = open()
    await bookings.once(booking(), async () => made('s-1'))
    expect([await bookings.isBooked('acme', 's-1'), await bookings.isBooked('acme', 's-2')]).toEqual([true, false])
    const [claim] = await store.listClaims({})
    if (claim) await store.change(claim, { state: 'freed', instance: 'me', why: 'canceled' })
    expect(await bookings.isBooked('acme', 's-1')).toBe(false)
  })
})
