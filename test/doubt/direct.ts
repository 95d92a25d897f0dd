import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { createBookings } from '../../src/bookings/bookings.ts'
import { createBookingRecord } from '../../src/bookings/record.ts'
import { commonProfile } from '../../src/callers/caller.ts'
import { type LegacyCallDeps, legacyCall } from '../../src/calls/legacy-call.ts'
import { createMerge, createSendPlan } from '../../src/calls/send.ts'
import { type Config, readConfig } from '../../src/config/config.ts'
import { translationSettings } from '../../src/config/translation-settings.ts'
import { errorShape, legacyError, toGatewayError } from '../../src/http/answers.ts'
import type { Catalog } from '../../src/mapping/catalog.ts'
import { beginCall } from '../../src/observe/call.ts'
import { createLog } from '../../src/observe/log.ts'
import { openAccount } from '../../src/service/account.ts'
import type { UpstreamReply, UpstreamRequest } from '../../src/service/exchange.ts'
import { createService } from '../../src/service/service.ts'
import type { Upstream } from '../../src/service/upstream.ts'
import { createMemoryStore } from '../../src/store/sqlite/sqlite.ts'
import { createXref } from '../../src/xref/xref.ts'
import { CLIENT } from '../gateway.ts'

/*
 * Legacy calls without listeners and sockets, for properties that take many thousands of calls: everything between the
 * two is the gateway's own code, and the service is a function.
 */

/** An answer to a legacy call. */
export interface DirectAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
  readonly json: Readonly<Record<string, string>>
}

/** Makes a legacy call; `/getShipment.php` gets its fields as a query. */
export type DirectCall = (path: string, fields: Readonly<Record<string, string>>) => Promise<DirectAnswer>

const log = createLog('silent')

/** Opens a gateway without listeners in front of a function that answers as the service. */
export function openDirect(
  catalog: Catalog,
  answer: (request: UpstreamRequest) => UpstreamReply,
  env: Readonly<Record<string, string>> = {},
): DirectCall {
  const config: Config = readConfig({ V2_BASE_URL: 'http://service.invalid', ...env })
  const settings = translationSettings(config)
  const upstream: Upstream = {
    call: async (request) => answer(request),
    line: () => {
      throw new Error('Nothing streams here.')
    },
    countToken: () => {},
    stats: () => ({ connections: 0, running: 0, queued: 0 }),
    close: async () => {},
  }
  const basic = `Basic ${Buffer.from(`${CLIENT.id}:${CLIENT.secret}`).toString('base64')}`
  const account = openAccount({
    upstream,
    ...config.V2_BASE_URL,
    basic,
    pool: basic,
    scheme: 'basic',
    timeoutMs: 15_000,
  })
  const caller = { tenant: CLIENT.id, credential: basic, account, profile: commonProfile({ config, settings }) }
  const service = createService(config, upstream)
  const store = createMemoryStore()
  const xref = createXref(store, config.QUOTE_MEMORY)
  const merge = createMerge(service, store.exclusive)
  const instance = 'direct'
  const record = createBookingRecord({
    claims: store,
    xref,
    instance,
    log,
    emergencyLog: { write: () => {}, read: () => [], clear: () => {} },
    refusedStatuses: config.BOOKING_REFUSED_STATUSES,
  })
  const bookings = createBookings({
    claims: store,
    record,
    instance,
    holdLease: async () => () => true,
    dedupeWindowMs: config.DEDUPE_WINDOW,
    doubt: () => undefined,
    onUnknown: () => {},
    countBooking: () => {},
  })
  const deps: LegacyCallDeps = {
    catalog,
    bodyLimitBytes: config.BODY_LIMIT_BYTES,
    credentials: {
      mode: 'fixed',
      tenants: () => [],
      identify: () => caller,
      verified: async () => caller,
      passThrough: async () => {
        throw new Error('Nothing is passed through here.')
      },
      ownCaller: () => caller,
      eventRecipients: () => [],
    },
    prove: () => undefined,
    service,
    send: createSendPlan({ service }),
    merge,
    exclusive: store.exclusive,
    approvalBooks: config.APPROVAL_BOOKS,
    xref,
    bookings,
    timeoutMs: config.UPSTREAM_TIMEOUT_MS,
    now: store.now,
  }
  const socket = new Socket()

  return async (path, fields) => {
    const endpoint = catalog.endpoints.get(path.toLowerCase())
    if (!endpoint) throw new Error(`There is no ${path}.`)
    const incoming = new IncomingMessage(socket)
    incoming.method = endpoint.method
    incoming.url = endpoint.method === 'GET' ? `${path}?${new URLSearchParams(fields)}` : path
    if (endpoint.method === 'POST') incoming.push(JSON.stringify(fields))
    incoming.push(null)
    const call = beginCall(incoming)
    try {
      return read(await legacyCall(incoming, endpoint, call, deps))
    } catch (error) {
      return read(legacyError(toGatewayError(error), errorShape(endpoint), call.own))
    }
  }
}

function read({ status, headers, body }: ReturnType<typeof legacyError>): DirectAnswer {
  const text = body.toString()
  return { status, headers, text, json: JSON.parse(text) }
}
