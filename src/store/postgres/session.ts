import { setTimeout as delay } from 'node:timers/promises'
import { backoffMs } from '../retry.ts'
import type { Server } from './address.ts'
import { Ambiguous, type Answer, type Choice, chooseServer } from './choose.ts'
import { connectToPrimary, end, look, QUERY_TIMEOUT_MS, type Target } from './connect.ts'
import { asStoreError, isPermanent, NoServer } from './errors.ts'
import { type Identity, isSameServer, shortcomingOf } from './role.ts'
import { migrate } from './schema.ts'

/** The interval of the session's test that the server answers. */
const PING_EVERY_MS = 1_000
/** The interval of looks at all servers on new connections. */
const LOOK_EVERY_MS = 5_000
/** The longest pause between two tries to connect: a standby that is promoted is used soon after. */
const LONGEST_PAUSE_MS = 1_000

/** The settings and callbacks of a session. */
export interface SessionOptions {
  readonly servers: readonly Server[]
  readonly onUp: (target: Target) => void
  readonly onDown: (error: Error) => void
  readonly onNotice: (notice: string) => void
}

/** The connection that stays open. */
export interface Session {
  /** Resolves when the store is ready or known not to be ready yet; rejects if a retry cannot help. */
  readonly started: Promise<void>
  /** Returns the time by the server's clock, in milliseconds since 1970. */
  now(): number
  /** Leaves the server, which cannot be used any more, and looks for another one. */
  leave(why: Error): void
  close(): Promise<void>
}

/**
 * Keeps one connection open as long as the store: it finds the server that takes writes, migrates the schema, and shows that the
 * server answers. It reconnects by itself.
 */
export function startSession({ servers, onUp, onDown, onNotice }: SessionOptions): Session {
  const started = Promise.withResolvers<void>()
  const closing = new AbortController()
  let leaveNow: (why: Error) => void = () => undefined
  /** The identity of the server that was used last; one that was promoted before it is never used again. */
  let newest: Identity | undefined
  let isStarted = false
  /** The server's clock less the monotonic one; until the server answers, that of this machine. */
  let clockOffsetMs = Date.now() - performance.now()

  function start(): void {
    isStarted = true
    started.resolve()
  }

  /** Runs one connection until it fails. */
  async function runConnection(): Promise<never> {
    const { client, chosen, notices } = await connectToPrimary(servers, newest)
    const lost = Promise.withResolvers<never>()
    // The connection may break during another await, which then fails too.
    lost.promise.catch(() => undefined)
    const onEnd = (): void => lost.reject(new Error('The connection was closed.'))
    client.on('error', lost.reject)
    client.on('end', onEnd)
    closing.signal.addEventListener('abort', onEnd)
    leaveNow = lost.reject
    let pings: NodeJS.Timeout | undefined
    let isPinging = false
    let looks: NodeJS.Timeout | undefined
    try {
      await migrate(client)
      const ping = async (): Promise<void> => {
        const sent = performance.now()
        const { rows } = await client.query('SELECT transload.now_ms() AS now')
        clockOffsetMs = Number(rows[0]?.now) - (sent + performance.now()) / 2
      }
      await ping()
      const { identity } = chosen.role
      if (newest && identity && newest.cluster !== identity.cluster) {
        onNotice(`${chosen.server.place} is of another cluster than the server before: its data may be another's`)
      }
      newest = identity ?? newest
      const target = { server: chosen.server, identity }
      onUp(target)
      notices.forEach(onNotice)
      start()
      // One at a time: a server that hangs must not find a queue.
      pings = setInterval(() => {
        if (isPinging) return
        isPinging = true
        void ping()
          .catch(lost.reject)
          .finally(() => {
            isPinging = false
          })
      }, PING_EVERY_MS)
      looks = setInterval(() => void lookAround(target).catch(lost.reject), LOOK_EVERY_MS)
      return await lost.promise
    } finally {
      clearInterval(pings)
      clearInterval(looks)
      leaveNow = () => undefined
      closing.signal.removeEventListener('abort', onEnd)
      end(client)
    }
  }

  /** Rejects if the server should not be used any more: it commits nothing, another one was promoted, or its name has moved. */
  async function lookAround({ server, identity }: Target): Promise<void> {
    const answers = await look(servers)
    const role = answers.find((answer) => answer.server === server)?.role
    // If it is down for new connections only, the session itself tells.
    if (role && role.kind !== 'primary' && role.kind !== 'down') {
      throw new NoServer(`${server.place} ${shortcomingOf(role.kind)}.`)
    }
    const choice = choiceOf(answers)
    if (!choice || isSameServer(choice.chosen.role.identity, identity)) return
    newest = choice.chosen.role.identity ?? newest
    throw new NoServer(`Another server is the primary by now: ${choice.chosen.server.place}.`)
  }

  function choiceOf(answers: readonly Answer[]): Choice | undefined {
    try {
      return chooseServer(answers, newest)
    } catch (error) {
      if (error instanceof Ambiguous) throw error
      return undefined
    }
  }

  async function reconnect(): Promise<void> {
    for (let failures = 0; !closing.signal.aborted; ) {
      const begun = performance.now()
      await runConnection().catch((error: unknown) => {
        if (closing.signal.aborted) return
        failures = performance.now() - begun > QUERY_TIMEOUT_MS ? 1 : failures + 1
        const known = asStoreError(error)
        // The start fails with the error, which is not reported a second time.
        if (isPermanent(error) && !isStarted) return started.reject(known)
        start()
        onDown(known)
      })
      const pause = backoffMs(failures, LONGEST_PAUSE_MS)
      await delay(pause, undefined, { signal: closing.signal }).catch(() => undefined)
    }
  }

  const ended = reconnect()
  return {
    started: started.promise,
    now: () => Math.round(performance.now() + clockOffsetMs),
    leave: (why) => leaveNow(why),
    async close() {
      closing.abort()
      await ended
    },
  }
}
