import type { IncomingHttpHeaders } from 'node:http'
import type { AnswerError } from '../edge/answers.ts'
import type { Caller, Credentials, Prove } from '../edge/callers/caller.ts'
import type { Answer } from '../language/answer.ts'
import type { Config } from '../language/config/config.ts'
import type { GatewayError } from '../language/errors.ts'
import type { Catalog } from '../language/mapping/catalog.ts'
import type { Note } from '../language/mapping/request.ts'
import type { Settings } from '../language/mapping/row.ts'
import type { Address, Sending, Service, ServiceRequest } from '../outside/service/service.ts'
import type { Upstream } from '../outside/service/upstream.ts'
import type { Store } from '../outside/store/store.ts'
import type { Bookings } from '../state/bookings/bookings.ts'
import type { FreeKeys } from '../state/bookings/record.ts'
import type { Names } from '../state/names/names.ts'
import type { Version1 } from './read-request.ts'

/** The rooms of a call that only asks, for a gateway's caller or in a rehearsal. */
export interface AskingRooms {
  readonly names: Names
  readonly service: Service
  readonly bookings: { readonly freeLater: FreeKeys }
  /** Called with the verified body of every reply and the name of its action. */
  readonly inspect: (action: string, body: unknown) => void
  /** Called if the service answers 404 or 405 to every spelling of a request that names no id. */
  readonly onNotServed: (request: ServiceRequest, status: number) => void
}

/** The service that writes a request, and its address for callers without their own. */
export interface Destination {
  readonly service: Service
  readonly address: Address
}

/** The rooms of explanations, which look nothing up. */
export interface ExplainingRooms extends Destination {
  readonly catalog: Catalog
  /** The settings of callers without their own. */
  readonly settings: Settings
  readonly answerError: AnswerError
}

/** The rooms that all calls share, and that a dry run looks into to foresee a call. */
export interface CallRooms extends AskingRooms, ExplainingRooms {
  readonly config: Config
  readonly callers: Credentials
  readonly prove: Prove
  readonly bookings: Bookings
  readonly store: Store
  readonly upstream: Upstream
  /** The time that a caller has to read what is ready for it, in milliseconds. */
  readonly readerTimeoutMs: number
}

/** A call that only asks. */
export interface AskingCall {
  readonly request: Version1
  readonly caller: { readonly tenant: string; readonly profile: { readonly settings: Settings } }
  readonly sending: Sending
  /** Receives the notes on the translation: what it lost or assumed. */
  readonly outcome: { notes: readonly Note[] }
}

/** A version-1 call whose caller and action are known. */
export interface CallInHand extends AskingCall {
  readonly headers: IncomingHttpHeaders
  readonly caller: Caller
  /** The error of a new booking in a brownout; one that has a record is answered from it. */
  readonly brownout: GatewayError | undefined
}

/** Runs one verb of version 1, from the names that were sent to the answer. */
export type Verb = (call: CallInHand, rooms: CallRooms) => Promise<Answer>
