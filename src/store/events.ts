/** An event of the service that is to be stored. */
export interface NewEvent {
  readonly tenant: string
  readonly shipment: string
  /** As the service named it; may be unknown. */
  readonly event: string
  /** As the service wrote it. */
  readonly date: string
  /** SHA-256 of the canonical `data`. Tenant, shipment, event, date and digest are unique together. */
  readonly digest: string
  /** The JSON of the event, canonical, at most 64 KiB. */
  readonly payload: string
  /** True if the tenant has a callback: the event is queued for delivery in the same durable step. */
  readonly deliver: boolean
}

/**
 * The states of an event: `recorded` without a delivery, `due` until a try succeeds, `delivered`, `parked` after the last
 * try or a refusal, `skipped` by an operator.
 */
export const EVENT_STATES = ['recorded', 'due', 'delivered', 'parked', 'skipped'] as const
export type EventState = (typeof EVENT_STATES)[number]

/** The format of a rendered body. */
export type CallbackFormat = 'json' | 'form'

/** The body of every try of a delivery. */
export interface CallbackBody {
  readonly text: string
  readonly format: CallbackFormat
}

/** An event, and how far its delivery has come. */
export interface StoredEvent extends Omit<NewEvent, 'deliver'> {
  /** `msg_` and 32 hex digits; the same for every copy of the event. */
  readonly id: string
  /** Grows with every event of the store. */
  readonly no: number
  readonly receivedAt: number
  readonly state: EventState
  /** Grows by one with every lease and change of state; compare-and-set compares it. */
  readonly version: number
  /** How many tries have failed. */
  readonly failures: number
  /** When the next try is due; of a `due` event only. */
  readonly retryAt: number
  readonly changedAt: number
  /** The outcome of the last try, or the change of an operator; empty before. */
  readonly outcome: string
  /** Undefined until it is rendered. */
  readonly body: CallbackBody | undefined
}

/** The event that a change applies to: none if it has another version by now. */
export type EventVersion = Pick<StoredEvent, 'id' | 'version'>

/** The end of one try. */
export interface TryOutcome {
  readonly state: Exclude<EventState, 'recorded'>
  /** The reply or the failure, in a few words, without secrets. */
  readonly outcome: string
  /**
   * False for a try that was put off or interrupted: it does not bring the event closer to being parked.
   * @default true, except for `delivered`
   */
  readonly isFailure?: boolean
  /**
   * When a `due` event is tried again.
   * @default at once
   */
  readonly retryInMs?: number
  /**
   * The effect on all deliveries of the tenant: they stop until an operator resumes them, or pause for some time.
   * @default none
   */
  readonly endpoint?: { readonly stop: true } | { readonly pauseMs: number }
}

/** An endpoint that is stopped or pauses. */
export interface EndpointState {
  readonly tenant: string
  /** True until an operator resumes it. */
  readonly stopped: boolean
  /** No delivery starts before, in milliseconds since 1970. */
  readonly pausedUntil: number
  readonly changedAt: number
}

/** The open events of a tenant in one state. */
export interface OpenEvents {
  readonly tenant: string
  readonly state: 'due' | 'parked'
  readonly count: number
  /** When the oldest was received. */
  readonly oldest: number
}

/** Chooses events. */
export interface EventFilter {
  readonly tenant?: string | undefined
  readonly state?: EventState | undefined
  /** Received at this time or later. */
  readonly since?: number | undefined
  /** Received before. */
  readonly until?: number | undefined
  /** With a greater `no`: for the next page. */
  readonly after?: number | undefined
  /** @default 1,000 */
  readonly limit?: number | undefined
}

/**
 * The durable record of the service's events, and the queue of their deliveries. Each shipment has a queue of its own, in
 * the order in which its events were stored: an event is leased only if it is the first `due` one of its shipment.
 */
export interface Events {
  /** Stores an event durably, queued for delivery if it says so. A copy changes nothing. */
  takeEvent(event: NewEvent): Promise<{ readonly taken: boolean; readonly id: string }>
  findEvent(id: string): Promise<StoredEvent | undefined>
  /** Returns the events of a shipment, oldest first. */
  eventsOfShipment(tenant: string, shipment: string): Promise<readonly StoredEvent[]>
  /**
   * Returns shipments with an event since a time, in the order of their first ones: at most `limit` (1,000 by default), of the
   * first `4 × limit` events.
   */
  shipmentsWithEvents(tenant: string, since: number, limit?: number): Promise<readonly string[]>
  /** Returns events, oldest first. */
  listEvents(filter: EventFilter): Promise<readonly StoredEvent[]>
  /** Deletes events that are finished for this long, and returns how many; `due` and `parked` ones stay. */
  pruneEvents(olderThanMs: number): Promise<number>

  /** Returns those of the tenants that have a delivery that can start now. */
  tenantsWithDue(tenants: readonly string[]): Promise<readonly string[]>
  /** Leases the first `due` event of up to `limit` shipments, longest due first. Another lease waits until this one ends. */
  leaseEvents(tenant: string, limit: number, leaseMs: number): Promise<readonly StoredEvent[]>
  /** Stores the body of every try; returns false if the lease is lost. */
  keepBody(event: EventVersion, body: CallbackBody): Promise<boolean>
  /** Stores the end of a try and ends the lease; returns false if the lease is lost. */
  finishTry(event: EventVersion, outcome: TryOutcome): Promise<boolean>

  /** Makes events `due` at once, with all their tries, and returns how many exist. */
  replayEvents(ids: readonly string[]): Promise<number>
  /** Skips events that are `due` or `parked`, and returns how many. */
  skipEvents(ids: readonly string[]): Promise<number>
  /** Ends a stop or a pause; returns false if there was none. */
  resumeEndpoint(tenant: string): Promise<boolean>
  /** Returns the endpoints that are stopped or pause. */
  endpoints(): Promise<readonly EndpointState[]>
  /** Counts the `due` and the `parked` events of every tenant. */
  openEvents(): Promise<readonly OpenEvents[]>
}
