import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { metricsOf, type TestGateway } from '../gateway.ts'
import { openLine } from '../http/line.ts'
import type { WireReply } from '../http/wire.ts'

/** A connection from a given address. */
export interface Stranger {
  readonly socket: Socket
  readonly write: (bytes: string | Uint8Array) => void
  /** Resolves with the first reply; undefined if the connection ends without one. */
  readonly reply: Promise<WireReply | undefined>
  readonly isClosed: () => boolean
}

/** Connects from an address of 127.0.0.0/8, all of which belong to this machine. */
export async function connectFrom({ url }: Pick<TestGateway, 'url'>, localAddress: string): Promise<Stranger> {
  const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1', localAddress, noDelay: true })
  const { write, replies, isClosed } = await openLine({ url }, socket)
  const first = replies(1).then(async ([one]) => (one && one.status < 200 ? (await replies(2))[1] : one))
  return { socket, write, reply: first, isClosed }
}

/** The current usage of all callers, from the gateway's gauges. */
export interface HeldResources {
  readonly connections: number
  readonly calls: number
  readonly bodyBytes: number
}

const LOOK_AGAIN_MS = 10

/** Reads the gauges. */
export async function heldBy(gateway: Pick<TestGateway, 'adminUrl'>): Promise<HeldResources> {
  const text = await metricsOf(gateway)
  const read = (name: string) => Number(new RegExp(`^transload_${name} (\\d+)$`, 'm').exec(text)?.[1])
  return { connections: read('connections'), calls: read('calls_under_way'), bodyBytes: read('body_bytes') }
}

/** Resolves when the gauges are as wanted. */
export async function held(
  gateway: Pick<TestGateway, 'adminUrl'>,
  isWanted: (held: HeldResources) => boolean,
): Promise<HeldResources> {
  for (;;) {
    const now = await heldBy(gateway)
    if (isWanted(now)) return now
    await pause(LOOK_AGAIN_MS)
  }
}
