import type { IncomingHttpHeaders } from 'node:http'

/** A request that the stand-in received. */
export interface RecordedRequest {
  method: string
  /** The raw target: path and query as they came. */
  path: string
  headers: IncomingHttpHeaders
  /** As text; empty where a fault cut the request off before it was read. */
  body: string
  at: Date
}

/** The log of requests, with ways to wait for them. */
export interface Traffic {
  requests: RecordedRequest[]
  record(request: RecordedRequest): void
  /** Resolves at the next request that matches; earlier ones do not count. */
  next(matches?: (request: RecordedRequest) => boolean): Promise<RecordedRequest>
  /** Counts an answer or a webhook as under way until the returned function is called. */
  begin(): () => void
  /** Resolves when nothing is under way. */
  idle(): Promise<void>
}

// A long load run must not fill the memory: the older half is dropped.
const MOST_REQUESTS = 200_000

/** Makes an empty log. */
export function traffic(): Traffic {
  const requests: RecordedRequest[] = []
  let waiting: { matches: (request: RecordedRequest) => boolean; resolve: (request: RecordedRequest) => void }[] = []
  let atRest: (() => void)[] = []
  let underWay = 0

  return {
    requests,
    record(request) {
      if (requests.length >= MOST_REQUESTS) requests.splice(0, MOST_REQUESTS / 2)
      requests.push(request)
      if (waiting.length === 0) return
      const matched = new Set(waiting.filter(({ matches }) => matches(request)))
      waiting = waiting.filter((waiter) => !matched.has(waiter))
      for (const { resolve } of matched) resolve(request)
    },
    next(matches = () => true) {
      return new Promise((resolve) => waiting.push({ matches, resolve }))
    },
    begin() {
      underWay += 1
      let ended = false
      return () => {
        if (ended) return
        ended = true
        underWay -= 1
        if (underWay > 0) return
        for (const resolve of atRest) resolve()
        atRest = []
      }
    },
    idle() {
      return underWay === 0 ? Promise.resolve() : new Promise((resolve) => atRest.push(resolve))
    },
  }
}
