import type { IncomingMessage } from 'node:http'
import { gatewayError, RETRY_SOON } from '../../language/errors.ts'

/* Turns for expensive work, such as a slow hash or the check of a credential: few at a time, round robin by source. */

/** Turns of calls in groups: a credential is decided once for all calls that carry it. */
export type Turns<T> = ReturnType<typeof createTurns<T>>

/** Makes turns, few at a time, served round robin by source. */
export function createTurns<T>(options: FairQueueOptions) {
  const queue = createFairQueue(options)
  const groups = new Map<string, { readonly shared: T; readonly turns: Set<Turn> }>()
  return {
    /**
     * Waits for a turn, until the group is decided, or until the caller hangs up. A group shares the result of `make`. `leave` is called
     * when one of its calls is over, any number of times.
     */
    enter: async ({ socket }: IncomingMessage, source: string, name: string, make: () => T) => {
      const group = groups.get(name) ?? { shared: make(), turns: new Set() }
      groups.set(name, group)
      const turn = queue.enter(source)
      group.turns.add(turn)
      const leave = () => {
        turn.end()
        group.turns.delete(turn)
        if (group.turns.size === 0 && groups.get(name) === group) groups.delete(name)
      }
      const hungUp = () => turn.settle(gatewayError('caller-gone', {}))
      if (socket.destroyed) hungUp()
      // Any number of pipelined calls may wait on a connection.
      socket.setMaxListeners(0).once('close', hungUp)
      try {
        await turn.ready
      } catch (error) {
        leave()
        throw error
      } finally {
        socket.off('close', hungUp)
      }
      return { shared: group.shared, leave }
    },
    /** Ends a group's wait: its calls proceed, or throw. With `endsAll`, those that proceed no longer need a turn. */
    decide: (name: string, refusal?: Error, endsAll = false): void => {
      for (const turn of groups.get(name)?.turns ?? []) {
        turn.settle(refusal)
        if (endsAll) turn.end()
      }
    },
  }
}

/** A place in the queue. */
export interface Turn {
  /** Resolves when the work may begin; rejects when it may not. */
  readonly ready: Promise<void>
  /** Ends the turn, or leaves the queue. */
  readonly end: () => void
  /** Ends a wait at once without using a turn: `ready` resolves, or rejects with the error. Does nothing if the wait is over. */
  readonly settle: (error?: Error) => void
}

interface FairQueueOptions {
  readonly atOnce: number
  /** The concurrent work of one source. */
  readonly atOnceOfSource: number
  /** The most calls under way in the gateway, of which only a part may wait here. */
  readonly calls: number
  /**
   * Sources with a lower number come first.
   * @default all are equal
   */
  readonly rankOf?: (source: string) => number
  /** How long to wait for a turn. @default 10 s */
  readonly waitMs?: number
}

const WAITING_SHARE = 1 / 2
const WAITING_SHARE_OF_SOURCE = 1 / 4
const WAIT_MS = 10_000

/** The calls of one source, in a queue. */
interface Line {
  readonly name: string
  running: number
  readonly waiting: Waiting[]
}

interface Waiting extends Turn {
  readonly begin: () => void
}

/**
 * Makes a queue that limits concurrent work and serves sources round robin, however many calls each has waiting. One source cannot fill it:
 * if it is full, a new entry displaces the last entry of the longest line.
 */
export function createFairQueue(options: FairQueueOptions) {
  const { atOnce, atOnceOfSource, calls, rankOf = () => 0, waitMs = WAIT_MS } = options
  const mostWaiting = Math.ceil(calls * WAITING_SHARE)
  const mostWaitingOfSource = Math.ceil(calls * WAITING_SHARE_OF_SOURCE)
  /** In the order of their turns. */
  const lines = new Map<string, Line>()
  let running = 0
  let waiting = 0

  /** Counts a line's work and moves the line to the end; an empty line is forgotten. */
  function run(line: Line, more: number): void {
    running += more
    line.running += more
    lines.delete(line.name)
    if (line.running + line.waiting.length > 0) lines.set(line.name, line)
  }

  function startNext(): void {
    while (running < atOnce && waiting > 0) {
      let next: Line | undefined
      let best = Number.POSITIVE_INFINITY
      for (const line of lines.values()) {
        if (line.waiting.length === 0 || line.running >= atOnceOfSource) continue
        const rank = rankOf(line.name)
        if (rank < best) [next, best] = [line, rank]
      }
      if (!next) return
      next.waiting[0]?.begin()
    }
  }

  /** Refuses the last entry of the longest line when too many wait in total; of equally long lines, another source's. */
  function refuseLast(own: Line): void {
    let longest = own
    let length = own.waiting.length - 1
    for (const line of lines.values()) {
      if (line !== own && line.waiting.length > length) [longest, length] = [line, line.waiting.length]
    }
    longest.waiting.at(-1)?.settle(overloaded())
  }

  return {
    enter: (name: string): Turn => {
      const line = lines.get(name) ?? { name, running: 0, waiting: [] }
      lines.set(name, line)
      const { promise: ready, resolve, reject } = Promise.withResolvers<void>()
      let timer: NodeJS.Timeout | undefined
      let isRunning = false
      const stopWaiting = () => {
        line.waiting.splice(line.waiting.indexOf(turn), 1)
        waiting -= 1
        clearTimeout(timer)
      }
      const turn: Waiting = {
        ready,
        begin: () => {
          stopWaiting()
          isRunning = true
          run(line, 1)
          resolve()
        },
        settle: (error) => {
          if (!line.waiting.includes(turn)) return
          stopWaiting()
          if (line.running + line.waiting.length === 0) lines.delete(name)
          if (error) reject(error)
          else resolve()
        },
        end: () => {
          if (!isRunning) return turn.settle()
          isRunning = false
          run(line, -1)
          startNext()
        },
      }
      line.waiting.push(turn)
      waiting += 1
      startNext()
      if (isRunning) return turn
      timer = setTimeout(() => turn.settle(overloaded()), waitMs)
      if (line.waiting.length > mostWaitingOfSource)
        turn.settle(gatewayError('too-many-calls/credentials', {}, RETRY_SOON))
      else if (waiting > mostWaiting) refuseLast(line)
      return turn
    },
  }
}

const overloaded = () => gatewayError('overloaded/credentials', {}, RETRY_SOON)
