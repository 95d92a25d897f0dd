import type { Budget, Scenario } from './world.ts'

const NOTHING: Budget = {
  ticks: 0,
  crashes: 0,
  settlements: 0,
  reopenings: 0,
  events: 0,
  cancellations: 0,
  storeFailures: 0,
}

/** The scenarios of the explorations. Fewer kinds of trouble at once let an exploration go deeper. */
export const SCENARIOS = {
  /** Everything at once. */
  everything: {
    calls: ['A', 'B', 'C', 'D'],
    budget: { ticks: 3, crashes: 1, settlements: 2, reopenings: 1, events: 1, cancellations: 1, storeFailures: 1 },
  },
  /** One call, whose gateway is paused for longer than its lease. */
  'one pause': { calls: ['A'], budget: { ...NOTHING, ticks: 3, settlements: 1 } },
  /** One call, and almost everything that can go wrong with it. */
  'one call': {
    calls: ['A'],
    budget: { ...NOTHING, ticks: 3, crashes: 1, settlements: 2, reopenings: 1, events: 1 },
  },
  /** A gateway is paused for longer than its lease and goes on. */
  pauses: { calls: ['A', 'B'], budget: { ...NOTHING, ticks: 3, settlements: 1 } },
  /** A gateway dies at any step and starts again. */
  crashes: { calls: ['A', 'B', 'D'], budget: { ...NOTHING, crashes: 1, settlements: 1, events: 1 } },
  /** An operator, an event and a cancellation change what has an outcome. */
  settlements: {
    calls: ['A', 'B'],
    budget: { ...NOTHING, settlements: 2, reopenings: 1, events: 1, cancellations: 1 },
  },
  /** Operations of the store fail, with or without effect. */
  'store failures': { calls: ['A', 'B'], budget: { ...NOTHING, crashes: 1, settlements: 1, storeFailures: 1 } },
} as const satisfies Readonly<Record<string, Scenario>>

export type ScenarioName = keyof typeof SCENARIOS

/** How deep the scenarios are explored: as a sample, and whole. */
export const DEPTHS: Readonly<Record<'sample' | 'whole', Readonly<Record<ScenarioName, number>>>> = {
  sample: {
    everything: 7,
    'one pause': 13,
    'one call': 12,
    pauses: 11,
    crashes: 15,
    settlements: 18,
    'store failures': 60,
  },
  whole: {
    everything: 8,
    'one pause': 14,
    'one call': 14,
    pauses: 12,
    crashes: 60,
    settlements: 60,
    'store failures': 60,
  },
}
