/** The limit for each kind of trouble in one history. */
const NOTHING = {
  /** Steps of the clock. */
  ticks: 0,
  crashes: 0,
  /** Settlements by an operator, right or wrong. */
  settlements: 0,
  reopenings: 0,
  events: 0,
  /** Cancellations that a gateway learns of. */
  cancellations: 0,
  /** Cancellations that no gateway learns of. */
  silentCancellations: 0,
  /** Replies of 202, before the service makes the shipment. */
  accepts: 0,
  /** Operations of the store that fail, with or without effect. */
  storeFailures: 0,
}
export type Budget = Readonly<typeof NOTHING>

/** Two steps of the clock make a lease doubtful, and three let it lapse; after one it is renewed before a claim. */
export const TICK_MS = 4_000

/** A call that books. */
interface BookingCall {
  readonly name: string
  readonly gateway: number
  readonly body: string
  /** The call that must end first. */
  readonly after?: string
  /** True if it is so late that a replay looks at the shipment first. */
  readonly isLate?: boolean
  readonly isWithoutVin?: boolean
}

/** The calls that book: two callers with one body, one of them twice and late, one with a different body, and one without the VIN. */
export const CALLS = [
  { name: 'A', gateway: 0, body: 'one' },
  { name: 'B', gateway: 1, body: 'one' },
  { name: 'C', gateway: 0, body: 'another' },
  /** A again, through the other gateway. */
  { name: 'D', gateway: 1, body: 'one', after: 'A' },
  { name: 'L', gateway: 1, body: 'one', after: 'A', isLate: true },
  { name: 'M', gateway: 0, body: 'one', after: 'A', isLate: true },
  { name: 'W', gateway: 1, body: 'without', isWithoutVin: true },
] as const satisfies readonly BookingCall[]

/** The calls of an exploration, its limits of trouble, and its depth, as a sample and whole. */
export interface Scenario {
  readonly calls: readonly (typeof CALLS)[number]['name'][]
  readonly budget: Budget
  readonly sample: number
  readonly whole: number
}

/** The scenarios of the explorations. Fewer kinds of trouble at once let an exploration go deeper. */
export const SCENARIOS = {
  /** Everything at once. */
  everything: {
    calls: ['A', 'B', 'C', 'D'],
    budget: {
      ...NOTHING,
      ticks: 3,
      crashes: 1,
      settlements: 2,
      reopenings: 1,
      events: 1,
      cancellations: 1,
      storeFailures: 1,
    },
    sample: 4,
    whole: 8,
  },
  /** One call, whose gateway is paused for longer than its lease. */
  'one pause': { calls: ['A'], budget: { ...NOTHING, ticks: 3, settlements: 1 }, sample: 12, whole: 14 },
  /** One call, and almost everything that can go wrong with it. */
  'one call': {
    calls: ['A'],
    budget: { ...NOTHING, ticks: 3, crashes: 1, settlements: 2, reopenings: 1, events: 1 },
    sample: 8,
    whole: 14,
  },
  /** A gateway is paused for longer than its lease, then continues. */
  pauses: { calls: ['A', 'B'], budget: { ...NOTHING, ticks: 3, settlements: 1 }, sample: 6, whole: 12 },
  /** A gateway dies at any step and starts again. */
  crashes: {
    calls: ['A', 'B', 'D'],
    budget: { ...NOTHING, crashes: 1, settlements: 1, events: 1 },
    sample: 8,
    whole: 60,
  },
  /** An operator, an event and a cancellation change a booking that has an outcome. */
  settlements: {
    calls: ['A', 'B'],
    budget: { ...NOTHING, settlements: 2, reopenings: 1, events: 1, cancellations: 1 },
    sample: 11,
    whole: 60,
  },
  /** An operator takes a settlement back, and an event comes. */
  reopened: {
    calls: ['A'],
    budget: { ...NOTHING, settlements: 2, reopenings: 1, events: 1 },
    sample: 60,
    whole: 60,
  },
  /** Two late replays look at a shipment that may be canceled, and looks and the store may fail. */
  'late replays': {
    calls: ['A', 'L', 'M'],
    budget: { ...NOTHING, silentCancellations: 1, storeFailures: 1 },
    sample: 9,
    whole: 60,
  },
  /** One vehicle is booked with its VIN and without. */
  'two spellings': {
    calls: ['A', 'W'],
    budget: { ...NOTHING, settlements: 1, cancellations: 1, storeFailures: 1 },
    sample: 10,
    whole: 60,
  },
  /** The service answers 202, and makes the shipment later, or never. */
  accepted: {
    calls: ['A', 'D'],
    budget: { ...NOTHING, accepts: 1, settlements: 1, events: 1 },
    sample: 18,
    whole: 60,
  },
  /** Operations of the store fail, with or without effect. */
  'store failures': {
    calls: ['A', 'B'],
    budget: { ...NOTHING, crashes: 1, settlements: 1, storeFailures: 1 },
    sample: 8,
    whole: 60,
  },
} as const satisfies Readonly<Record<string, Scenario>>
