import { createHash, randomBytes, scrypt } from 'node:crypto'
import { promisify } from 'node:util'
import { LRUCache } from 'lru-cache'
import { type Answer, asGatewayError } from './answers.ts'
import type { StatusSet } from './config.ts'
import type { Caller } from './credentials.ts'
import type { EmergencyLog, Unrecorded } from './emergency-log.ts'
import { GatewayError } from './errors.ts'
import type { Logger } from './log.ts'
import type { Claim, ClaimChange, Claims, NewClaim } from './store/store.ts'
import { NoReply } from './upstream.ts'
import type { Keepsake, Xref } from './xref.ts'

/** A booking that is about to be made, and what tells it from others. */
export interface Booking {
  readonly caller: Caller
  readonly reference: string
  readonly vin: string
  /** The caller's `Idempotency-Key`, used instead of the reference. */
  readonly idempotencyKey: string | undefined
  /** The documented fields as they were read: the same body means the same fields, not the same bytes. */
  readonly fields: readonly (readonly [name: string, value: string])[]
  /** When the caller's patience ends, in milliseconds of `performance.now()`. */
  readonly deadline: number
}

/** A booking that the service has made. */
export interface Made {
  readonly answer: Answer
  /** What makes its numbers resolve. */
  readonly keepsake: Keepsake
}

/** Sends bookings once. */
export interface Bookings {
  /**
   * Claims the booking durably, makes it, records it and only then answers; or answers as the one that did.
   * `make` is called at most once, and runs to its end whatever becomes of the caller.
   */
  readonly once: (
    booking: Booking,
    make: () => Promise<Made>,
    mayRead: (shipment: string) => Promise<void>,
  ) => Promise<Answer>
  /** Frees the key of a shipment that is canceled. */
  readonly free: (tenant: string, shipment: string) => Promise<void>
  /** Resolves when no booking is under way in this gateway. */
  readonly settled: () => Promise<void>
  /** Records what could not be recorded when it happened, here or before the last start; to be called now and then. */
  readonly catchUp: () => Promise<void>
}

export interface BookingsDeps {
  readonly claims: Claims
  readonly xref: Pick<Xref, 'keep'>
  readonly instance: string
  /** Resolves when this gateway holds its lease, so that nobody takes its claims for abandoned. */
  readonly holdLease: () => Promise<void>
  readonly log: Logger
  readonly emergencyLog: EmergencyLog
  /** Which statuses of the service prove that nothing was booked. */
  readonly refusedStatuses: StatusSet
  /** How long a booking without a reference is told from a new one by its body. */
  readonly dedupeWindowMs: number
  readonly now: () => number
}

/** How often a call that waits for another gateway's booking looks whether it is done. */
const LOOK_AGAIN_MS = 200
const RETRY_AFTER_SECONDS = 5
const HANDLE_BYTES = 6
const CREDENTIALS_KEPT = 10_000
const HASH_BYTES = 32

/** Makes the keeper of the rule that a booking happens once. */
export function createBookings(deps: BookingsDeps): Bookings {
  const { claims, instance, now } = deps
  const underWay = new Map<string, Promise<void>>()
  /** What is still to be recorded, by handle. */
  const late = new Map<string, () => Promise<void>>()
  let leftoversTaken = false
  const hashCredential = createCredentialHash()

  const once: Bookings['once'] = async (booking, make, mayRead) => {
    const wanted = await newClaim(booking)
    for (;;) {
      await deps.holdLease()
      const { won, claim } = await take(wanted)
      if (won) return await tracked(claim, () => send(claim, make))
      if (claim.body !== wanted.body && claim.state !== 'unknown') throw otherBooking(claim)
      switch (claim.state) {
        case 'sending':
          await waitFor(claim, booking.deadline)
          break
        case 'booked':
          if (claim.credential !== wanted.credential) await mayRead(claim.shipment)
          return replay(claim)
        case 'unknown':
          throw outcomeUnknown(claim.handle)
        case 'refused':
        case 'freed':
          // Let go between the claim and this look at it: try again.
          break
        default:
          return claim.state satisfies never
      }
    }
  }

  async function take(wanted: NewClaim): ReturnType<Claims['claim']> {
    try {
      return await claims.claim(wanted)
    } catch (error) {
      // The store may have taken it all the same; nothing is sent for it, so that it must not stand.
      late.set(wanted.handle, async () => {
        const claim = await claims.claimByHandle(wanted.handle)
        if (claim?.state === 'sending') await record(claim, { state: 'freed', why: 'never sent' })
      })
      throw error
    }
  }

  async function newClaim({ caller, reference, vin, idempotencyKey, fields, deadline: _ }: Booking): Promise<NewClaim> {
    const body = digest(fields)
    const key =
      idempotencyKey !== undefined
        ? digest(['key', idempotencyKey])
        : reference === ''
          ? digest(['body', body])
          : digest(['reference', reference, vin])
    return {
      tenant: caller.tenant,
      key,
      handle: `bk_${randomBytes(HANDLE_BYTES).toString('hex')}`,
      body,
      instance,
      credential: await hashCredential(caller),
      reference,
      vin,
      expires: reference === '' && idempotencyKey === undefined ? now() + deps.dedupeWindowMs : 0,
      createdAt: now(),
    }
  }

  /** Sends a claimed booking; whatever happens, the claim says afterwards what is known of it. */
  async function send(claim: Claim, make: () => Promise<Made>): Promise<Answer> {
    let made: Made
    try {
      made = await make()
    } catch (error) {
      const change = afterFailure(error)
      await record(claim, change)
      if (change.state !== 'unknown') throw error
      deps.log.error(
        { booking: claim.handle, tenant: claim.tenant, why: change.why },
        'the outcome of a booking is not known',
      )
      throw outcomeUnknown(claim.handle, error)
    }
    const entry = { booking: claim.handle, tenant: claim.tenant, ...made }
    try {
      await recordMade(claim, entry)
    } catch (cause) {
      deps.emergencyLog.write(entry)
      late.set(claim.handle, () => recordLate(entry))
      deps.log.error(
        { booking: claim.handle, shipment: made.keepsake.id, err: cause },
        'a booking was made and could not be recorded',
      )
      throw outcomeUnknown(claim.handle, cause)
    }
    return made.answer
  }

  /** Records an outcome; one that cannot be recorded now is recorded later. */
  async function record(claim: Claim, change: Pick<ClaimChange, 'state' | 'why'>): Promise<void> {
    try {
      await claims.change(claim, { ...change, instance, at: now() })
    } catch (err) {
      deps.log.error({ booking: claim.handle, err }, 'the outcome of a booking could not be recorded yet')
      late.set(claim.handle, async () => void (await claims.change(claim, { ...change, instance, at: now() })))
    }
  }

  async function recordMade(claim: Claim, { tenant, answer, keepsake }: Unrecorded): Promise<void> {
    const reply = JSON.stringify(answer)
    const booked = { state: 'booked', instance, at: now(), shipment: keepsake.id, reply, why: 'made' } as const
    const [changed] = await Promise.all([claims.change(claim, booked), deps.xref.keep(tenant, keepsake)])
    if (!changed) throw new Error(`the claim ${claim.handle} was changed by somebody else`)
  }

  async function recordLate(entry: Unrecorded): Promise<void> {
    const claim = await claims.claimByHandle(entry.booking)
    if (claim?.state === 'sending' || claim?.state === 'unknown') await recordMade(claim, entry)
    deps.log.info({ booking: entry.booking, shipment: entry.keepsake.id }, 'a booking was recorded late')
  }

  async function catchUp(): Promise<void> {
    if (!leftoversTaken) {
      for (const entry of deps.emergencyLog.read()) late.set(entry.booking, () => recordLate(entry))
      leftoversTaken = true
    }
    if (late.size === 0) return
    for (const [handle, recordIt] of late) {
      await recordIt()
      late.delete(handle)
    }
    deps.emergencyLog.clear()
  }

  /** What a failed attempt proves about the booking. */
  function afterFailure(
    error: unknown,
  ): Pick<ClaimChange, 'why'> & { readonly state: 'freed' | 'refused' | 'unknown' } {
    if (error instanceof NoReply) {
      return error.silence === 'unsent'
        ? { state: 'freed', why: 'never sent' }
        : { state: 'unknown', why: `no reply: ${error.silence}` }
    }
    const { serviceStatus, code } = asGatewayError(error)
    if (serviceStatus === undefined) return { state: 'unknown', why: code }
    return { state: deps.refusedStatuses(serviceStatus) ? 'refused' : 'unknown', why: `answered ${serviceStatus}` }
  }

  async function tracked(claim: Claim, work: () => Promise<Answer>): Promise<Answer> {
    const id = `${claim.tenant}\n${claim.key}`
    const answer = work()
    const over = answer.then(
      () => undefined,
      () => undefined,
    )
    underWay.set(id, over)
    try {
      return await answer
    } finally {
      underWay.delete(id)
    }
  }

  /** Waits until the claim may have changed, or gives up when the caller's time is over. */
  async function waitFor(claim: Claim, deadline: number): Promise<void> {
    const left = deadline - performance.now()
    if (left <= 0) {
      throw new GatewayError(
        'booking-under-way',
        `The same booking (${claim.handle}) is under way. Try again in a few seconds.`,
        {
          headers: { 'Retry-After': String(RETRY_AFTER_SECONDS) },
        },
      )
    }
    const look = new Promise<void>((resolve) => setTimeout(resolve, Math.min(LOOK_AGAIN_MS, left)))
    await Promise.race([look, underWay.get(`${claim.tenant}\n${claim.key}`) ?? look])
  }

  return {
    once,
    free: async (tenant, shipment) => {
      for (const claim of await claims.claimsOfShipment(tenant, shipment)) {
        if (claim.state === 'booked')
          await claims.change(claim, { state: 'freed', instance, at: now(), why: 'canceled' })
      }
    },
    settled: async () => {
      await Promise.all(underWay.values())
    },
    catchUp,
  }
}

/** The stored answer of a booking, marked as one that was given before. */
function replay(claim: Claim): Answer {
  // What stands there was written by `send`, or by an operator's settlement in the same form.
  const answer = JSON.parse(claim.reply) as Answer
  return { ...answer, headers: { ...answer.headers, 'Idempotent-Replayed': 'true' } }
}

function otherBooking({ state, handle }: Claim): GatewayError {
  return state === 'sending'
    ? new GatewayError(
        'booking-conflict',
        `A different booking with this reference (${handle}) is under way. Use another reference.`,
      )
    : new GatewayError(
        'booking-conflict',
        `This reference is already booked with other details (${handle}). Use /updateShipment.php to change the shipment.`,
      )
}

function outcomeUnknown(handle: string, cause?: unknown): GatewayError {
  return new GatewayError(
    'outcome-unknown',
    `The outcome of this booking is not known, and it is not sent again. Give ${handle} to the operator of the gateway, who can settle it.`,
    { cause },
  )
}

function digest(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('base64url')
}

/**
 * A hash of the caller's credential that is slow to reverse, for it is stored; each credential costs that time once.
 */
function createCredentialHash(): (caller: Caller) => Promise<string> {
  const slowHash = promisify<string, string, number, Buffer>(scrypt)
  const known = new LRUCache<string, Promise<string>>({ max: CREDENTIALS_KEPT })
  return ({ tenant, authorization }) => {
    const id = JSON.stringify([tenant, authorization])
    const found = known.get(id)
    if (found) return found
    const made = slowHash(authorization, `transload ${tenant}`, HASH_BYTES).then((hash) => hash.toString('base64url'))
    known.set(id, made)
    return made
  }
}
