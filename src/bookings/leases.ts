import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import type { Logger } from '../observe/log.ts'
import type { Claims, Store } from '../store/store.ts'

/** This gateway's sign of life among the gateways of one store. */
export interface Leases {
  readonly instance: string
  /** Resolves when the lease is fresh in the store. */
  readonly hold: () => Promise<void>
  /** Ends the lease; claims that are still under way are then nobody's. */
  readonly end: () => Promise<void>
}

/** A gateway that is silent for so long counts as gone. */
const SILENT_FOR_MS = 10_000
const BEAT_EVERY_MS = 2_500
/** A lease older than this is renewed before a claim relies on it. */
const FRESH_FOR_MS = 5_000

export interface LeasesDeps {
  readonly store: Store
  readonly log: Logger
  /** What else is due at every beat. */
  readonly catchUp: () => Promise<void>
  /** @default 10 seconds */
  readonly silentForMs?: number
}

/** Keeps this gateway's lease, and turns the claims of gateways that are gone into unknown ones. */
export async function keepLeases(
  instance: string,
  { store, log, catchUp, silentForMs = SILENT_FOR_MS }: LeasesDeps,
): Promise<Leases> {
  let beatenAt = Number.NEGATIVE_INFINITY
  const beat = async () => {
    const at = performance.now()
    await store.beat(instance)
    beatenAt = at
  }
  const round = async () => {
    try {
      await beat()
      for (const { handle, tenant } of await store.orphan(silentForMs, instance)) {
        log.error({ booking: handle, tenant, why: 'its gateway is gone' }, 'the outcome of a booking is not known')
      }
      await catchUp()
    } catch (err) {
      log.warn({ err }, 'the lease could not be renewed')
    }
  }
  await endDeadLeases(store).catch((err: unknown) => log.warn({ err }, 'the leases of earlier runs could not be ended'))
  await round()
  let running: Promise<void> | undefined
  const timer = setInterval(() => {
    // A store that hangs must not find a queue of beats when it comes back.
    running ??= round().finally(() => {
      running = undefined
    })
  }, BEAT_EVERY_MS)
  return {
    instance,
    hold: async () => {
      if (performance.now() - beatenAt > FRESH_FOR_MS) await beat()
    },
    end: async () => {
      clearInterval(timer)
      await running
      await store.leave(instance).catch((err: unknown) => log.warn({ err }, 'the lease could not be ended'))
    },
  }
}

/** A name that tells whether the process that bears it still lives. */
export function newInstance(): string {
  return [hostname(), process.pid, startOf(process.pid) ?? 0, crypto.randomUUID().slice(0, 8)].join('/')
}

/** On the embedded store every gateway is a process of this machine, so that a restart knows at once who is gone. */
async function endDeadLeases(store: Claims & Pick<Store, 'engine'>): Promise<void> {
  if (store.engine !== 'sqlite') return
  const sending = await store.listClaims({ state: 'sending' })
  const gone = new Set(sending.map(({ instance }) => instance).filter((instance) => !lives(instance)))
  for (const instance of gone) await store.leave(instance)
}

function lives(instance: string): boolean {
  const [host, pid, start] = instance.split('/')
  // Another host's processes cannot be seen from here; their leases run out by themselves.
  if (host !== hostname()) return true
  try {
    process.kill(Number(pid), 0)
  } catch (error) {
    // EPERM: it is there and belongs to somebody else.
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
  const startNow = startOf(Number(pid))
  return startNow === undefined || startNow === start
}

/** Field 22 of `/proc/<pid>/stat` is the start time (proc(5)); counted from the field after the name, which is the third. */
const START_TIME_AFTER_NAME = 19

/** When a process started, in ticks since boot, for pids are used again; undefined where there is no /proc. */
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name stands in parentheses and may hold blanks and parentheses itself.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[START_TIME_AFTER_NAME]
  } catch {
    return undefined
  }
}
