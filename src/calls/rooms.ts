import type { IncomingHttpHeaders } from 'node:http'
import type { Caller, Credentials } from '../edge/callers/caller.ts'
import type { Prove } from '../edge/callers/prove.ts'
import type { Answer } from '../language/answer.ts'
import type { Config } from '../language/config/config.ts'
import type { GatewayError } from '../language/errors.ts'
import type { Catalog } from '../language/mapping/catalog.ts'
import type { Note } from '../language/mapping/request.ts'
import type { Sending, Service, ServiceRequest } from '../outside/service/service.ts'
import type { Store } from '../outside/store/store.ts'
import type { Bookings } from '../state/bookings/bookings.ts'
import type { Names } from '../state/names/names.ts'
import type { Version1 } from './read-request.ts'

/** The rooms that calls use, the same for every call. */
export interface CallRooms {
  readonly catalog: Catalog
  readonly credentials: Credentials
  readonly prove: Prove
  readonly service: Service
  readonly names: Names
  readonly bookings: Bookings
  /** Runs work while no other work of the same key runs, in any gateway. */
  readonly exclusive: Store['exclusive']
  readonly approvalBooks: Config['APPROVAL_BOOKS']
  readonly replayCheckAfterMs: number
  readonly bodyLimitBytes: number
  readonly timeoutMs: number
  /** Returns the time by the store's clock, in milliseconds since 1970. */
  readonly now: () => number
  /** Is shown the verified body of every reply, with the name of its action. */
  readonly inspect: (action: string, body: unknown) => void
  /** Called where the service answers 404 or 405 to a request that names no id, in every spelling. */
  readonly onNotServed: (request: ServiceRequest, status: number) => void
}

/** The rooms of a call that only asks. */
export type AskingRooms = Pick<CallRooms, 'names' | 'service' | 'inspect' | 'onNotServed'> & {
  readonly bookings: Pick<Bookings, 'freeLater'>
}

/** A version-1 call whose caller and action are known. */
export interface CallInHand {
  readonly request: Version1
  readonly headers: IncomingHttpHeaders
  readonly caller: Caller
  readonly sending: Sending
  /** The error of a booking in a brownout: it is answered from its record, and not sent. */
  readonly brownout: GatewayError | undefined
  /** Counts what the translation lost or assumed. */
  readonly noteTranslation: (notes: readonly Note[]) => void
}

/** A call that only asks, from a gateway's caller or from a rehearsal. */
export type AskingCall = Pick<CallInHand, 'request' | 'sending' | 'noteTranslation'> & {
  readonly caller: Pick<Caller, 'tenant'> & { readonly profile: Pick<Caller['profile'], 'settings'> }
}

/** One verb of version 1: its whole life, from what it names to its answer. */
export type Verb = (call: CallInHand, rooms: CallRooms) => Promise<Answer>
