import type { Lease } from '../../../src/state/bookings/protocol.ts'
import type { EmergencyEntry, LateWork } from '../../../src/state/bookings/record.ts'
import type { Job } from './programs.ts'
import type { Operation, Part } from './replay.ts'
import type { Budget } from './scenarios.ts'
import type { Table } from './table.ts'

/** A request that has left a gateway, and the service's action: nothing yet, a refusal, or a shipment; it may answer 202 before. */
export interface Request {
  readonly handle: string
  readonly done: 'nothing' | 'refused' | { readonly made: string }
  readonly isAccepted?: boolean
}

/** A gateway process, and the memory that its jobs share. */
export interface Gateway {
  readonly instance: string
  readonly lease: Lease
  readonly backlog: readonly (readonly [key: string, work: LateWork])[]
}

/** The state of a job, the same for all histories with the same answers. */
export interface Progress {
  readonly id: number
  readonly job: Job
  readonly history: readonly Part[]
  /** Absent before its first part. */
  readonly operation?: Operation
}

/** A state of everything. */
export interface World {
  /** In milliseconds. */
  readonly time: number
  readonly table: Table
  readonly log: readonly EmergencyEntry[]
  readonly requests: readonly Request[]
  /** The shipments at the service. */
  readonly shipments: readonly { readonly id: string; readonly handle: string; readonly isLive: boolean }[]
  readonly events: readonly { readonly shipment: string; readonly receivedAt: number }[]
  readonly gateways: readonly Gateway[]
  /** The running jobs, by place: the name of a call, or the kind of a job and its gateway. */
  readonly jobs: Readonly<Record<string, Progress>>
  /** The calls that have begun, and those that got an answer or died with their gateway. */
  readonly begun: readonly string[]
  readonly over: readonly string[]
  /** The shipments that the store has ever recorded as booked. */
  readonly recorded: readonly string[]
  /** How often an operator said `not booked` about something that is or may be booked. */
  readonly mistakes: number
  readonly left: Budget
}

/** Returns the same text for equal worlds. */
export function keyOf({ time, table, mistakes, jobs, gateways, ...others }: World): string {
  const places = Object.entries(jobs).map(([place, { id }]) => `${place} ${id}`)
  const texts = [...Object.values(others), ...gateways].map(textOf)
  return `${time} ${table.id} ${mistakes} ${places.sort().join()} ${texts.join('')}`
}

const texts = new WeakMap<object, string>()

/** Returns a value as JSON; that of an object is cached. */
export function textOf(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value)
  const found = texts.get(value)
  if (found !== undefined) return found
  const text = JSON.stringify(value)
  texts.set(value, text)
  return text
}

/** Returns the world after a change to one gateway, if it runs. */
export const inGateway =
  (instance: string, change: (gateway: Gateway) => Gateway) =>
  (world: World): World => ({
    ...world,
    gateways: world.gateways.map((gateway) => (gateway.instance === instance ? change(gateway) : gateway)),
  })

/** Reports whether a request may still make a shipment, or has made one that is not canceled. */
export function isMadePerhaps({ requests, shipments }: World, handle: string): boolean {
  const isOpen = requests.some((request) => request.handle === handle && request.done === 'nothing')
  return isOpen || shipments.some((shipment) => shipment.handle === handle && shipment.isLive)
}
