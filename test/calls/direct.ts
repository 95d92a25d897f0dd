import { createBookings } from '../../src/bookings/bookings.ts'
import { createBookingRecord } from '../../src/bookings/record.ts'
import { createMerge, createSendPlan } from '../../src/calls/send.ts'
import { createLog } from '../../src/observe/log.ts'
import type { UpstreamReply } from '../../src/service/exchange.ts'
import { createMemoryStore } from '../../src/store/sqlite/sqlite.ts'
import type { NewClaim } from '../../src/store/store.ts'
import { type Approval, createXref } from '../../src/xref/xref.ts'
import { link, newClaim } from '../store/samples.ts'
import { catalog } from './requests.ts'
import { scriptedService } from './scripted-service.ts'

const log = createLog('silent')

export const TENANT = 'acme'

const NO_ANSWER = JSON.stringify({ status: 200, headers: {}, body: '' })

/** What the service answers, one after the other. */
export type Replies = readonly (UpstreamReply | Error)[]

/** The parts behind a legacy call, before a service that gives these replies. */
export function openDirect(...replies: Replies) {
  const { service, asked, lines } = scriptedService(...replies)
  const store = createMemoryStore()
  const xref = createXref(store, 60_000)
  const instance = 'gateway-1'
  const lease = { isHeld: true }
  const record = createBookingRecord({
    claims: store,
    xref,
    instance,
    log,
    emergencyLog: { write: () => {}, read: () => [], clear: () => {} },
    refusedStatuses: (status) => status === 400 || status === 422,
  })
  const bookings = createBookings({
    claims: store,
    record,
    instance,
    holdLease: async () => () => lease.isHeld,
    dedupeWindowMs: 0,
    doubt: () => undefined,
    onUnknown: () => {},
    countBooking: () => {},
  })
  const locks: string[] = []
  const exclusive: typeof store.exclusive = (key, ...rest) => {
    locks.push(key)
    return store.exclusive(key, ...rest)
  }
  const merge = createMerge(service, exclusive)
  const send = createSendPlan({ service })
  const deps = { catalog, bookings, service, send, merge, xref, exclusive, approvalBooks: 'auto' } as const

  return {
    deps,
    store,
    /** The lease of the gateway, which it may lose. */
    lease,
    asked,
    lines,
    locks,
    /** Puts a name of a shipment, or of a quote. */
    name: (given: Parameters<typeof link>[0]) =>
      store.put({ links: [link({ tenant: TENANT, kind: 'shipment', ...given })] }),
    /** Records a claim of a booking, and what became of it. */
    claim: async (given: Partial<NewClaim>, state?: 'booked' | 'unknown', shipment = '') => {
      const { claim } = await store.claim(newClaim({ tenant: TENANT, ...given }))
      if (state) await store.change(claim, { state, shipment, reply: NO_ANSWER, instance, why: 'in a test' })
      return claim
    },
    approve: (quote: string, approval: Approval) => xref.setApproval(TENANT, quote, approval),
    approval: (quote: string) => xref.approval(TENANT, quote),
  }
}
