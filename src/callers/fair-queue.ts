import { gatewayError } from '../errors.ts'

/** A place in the queue. */
export interface Turn {
  /** Resolves when the work may begin; rejects when it may not. */
  readonly ready: Promise<void>
  /** Ends the turn, or leaves the queue. */
  readonly end: () => void
  /** Ends the wait at once, if it still lasts: `ready` resolves, or rejects with the error. No turn is used. */
  readonly settle: (error?: Error) => void
}

/** Limits concurrent work, and serves sources round robin, regardless of how many calls each has waiting. */
export interface FairQueue {
  readonly enter: (source: string) => Turn
}

export interface FairQueueOptions {
  readonly atOnce: number
  /** The concurrent work of one source. */
  readonly atOnceOfSource: number
  /** The most calls under way in the gateway; only a share of them may wait here. */
  readonly calls: number
  /**
   * Sources with a lower number come first.
   * @default all are equal
   */
  readonly rankOf?: (source: string) => number
}

const WAITING_SHARE = 1 / 2
const WAITING_SHARE_OF_SOURCE = 1 / 4
const WAIT_MS = 10_000

interface Entry {
  readonly resolve: () => void
  readonly reject: (error: Error) => void
  readonly timer: NodeJS.Timeout
}

interface Source {
  running: number
  readonly waiting: Entry[]
}

/** Makes a queue that one source cannot fill: if it is full, a new entry displaces the last entry of the longest line. */
export function createFairQueue(options: FairQueueOptions): FairQueue {
  const mostWaiting = Math.ceil(options.calls * WAITING_SHARE)
  const mostWaitingOfSource = Math.ceil(options.calls * WAITING_SHARE_OF_SOURCE)
  /** In the order of their turns. */
  const sources = new Map<string, Source>()
  let running = 0
  let waiting = 0

  function start(name: string, source: Source): void {
    running += 1
    source.running += 1
    goLast(name, source)
  }

  function goLast(name: string, source: Source): void {
    sources.delete(name)
    sources.set(name, source)
  }

  function stop(name: string, source: Source): void {
    running -= 1
    source.running -= 1
    // Others may have entered since it began.
    goLast(name, source)
    forget(name, source)
    startNext()
  }

  function startNext(): void {
    while (running < options.atOnce && waiting > 0) {
      const next = nextSource()
      if (!next) return
      const [name, source] = next
      const entry = source.waiting[0]
      if (!entry) return
      takeOut(source, entry)
      start(name, source)
      entry.resolve()
    }
  }

  function nextSource(): [name: string, source: Source] | undefined {
    const ready = sources
      .entries()
      .filter(([, { waiting: line, running: busy }]) => line.length > 0 && busy < options.atOnceOfSource)
    const { rankOf } = options
    if (!rankOf) return ready.next().value
    let best: { readonly entry: [string, Source]; readonly rank: number } | undefined
    for (const entry of ready) {
      const rank = rankOf(entry[0])
      if (!best || rank < best.rank) best = { entry, rank }
    }
    return best?.entry
  }

  function takeOut(source: Source, entry: Entry): void {
    source.waiting.splice(source.waiting.indexOf(entry), 1)
    clearTimeout(entry.timer)
    waiting -= 1
  }

  function forget(name: string, source: Source): void {
    if (source.running === 0 && source.waiting.length === 0 && sources.get(name) === source) sources.delete(name)
  }

  function displace(by: Source): void {
    let longest = ''
    let length = by.waiting.length
    for (const [name, { waiting: line }] of sources) if (line.length > length) [longest, length] = [name, line.length]
    const source = sources.get(longest)
    const last = source?.waiting.at(-1)
    if (!source || !last) throw overloaded()
    takeOut(source, last)
    forget(longest, source)
    last.reject(overloaded())
  }

  /** Throws if there is no room. */
  function makeRoom(source: Source): void {
    if (source.waiting.length >= mostWaitingOfSource) throw tooMany()
    if (waiting >= mostWaiting) displace(source)
  }

  return {
    enter: (name) => {
      const source = sources.get(name) ?? { running: 0, waiting: [] }
      sources.set(name, source)
      if (running < options.atOnce && source.running < options.atOnceOfSource && source.waiting.length === 0) {
        start(name, source)
        return { ready: Promise.resolve(), end: once(() => stop(name, source)), settle: () => undefined }
      }
      try {
        makeRoom(source)
      } catch (error) {
        forget(name, source)
        return { ready: Promise.reject(error), end: () => undefined, settle: () => undefined }
      }
      return waitingTurn(name, source)
    },
  }

  function waitingTurn(name: string, source: Source): Turn {
    const { promise: ready, resolve, reject } = Promise.withResolvers<void>()
    let began = false
    const timer = setTimeout(() => settle(overloaded()), WAIT_MS)
    const begin = () => {
      began = true
      resolve()
    }
    const entry = { resolve: begin, reject, timer }
    source.waiting.push(entry)
    waiting += 1
    const settle = (error?: Error) => {
      if (!source.waiting.includes(entry)) return
      takeOut(source, entry)
      forget(name, source)
      if (error) reject(error)
      else resolve()
    }
    const end = once(() => {
      if (began) stop(name, source)
      else settle()
    })
    return { ready, end, settle }
  }
}

function once(work: () => void): () => void {
  let isDone = false
  return () => {
    if (isDone) return
    isDone = true
    work()
  }
}

const LATER = { headers: { 'Retry-After': '5' } } as const

const overloaded = () => gatewayError('overloaded/credentials', {}, LATER)
const tooMany = () => gatewayError('too-many-calls/credentials', {}, LATER)
