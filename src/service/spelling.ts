/** Chooses between two documented spellings of a request. */
export interface Spelling<T> {
  /**
   * Tries the current spelling, and the other one if the service does not know it. A 404 to a request with an id means
   * an unknown id, unless no spelling has been confirmed yet.
   */
  readonly send: <R extends { readonly status: number }>(
    namesAnId: boolean,
    attempt: (spelling: T) => Promise<R>,
  ) => Promise<R>
  /** The spelling in use. */
  readonly current: () => T
}

/** Starts with the first spelling, and switches when the service knows only the other. */
export function autoSpelling<T>(first: T, second: T): Spelling<T> {
  let current = first
  let confirmed = false
  return {
    current: () => current,
    send: async (namesAnId, attempt) => {
      const tried = current
      const reply = await attempt(tried)
      if (!unknownPath(reply.status)) {
        confirmed ||= proves(reply.status)
        return reply
      }
      if (namesAnId && confirmed) return reply
      const other = tried === first ? second : first
      const secondReply = await attempt(other)
      if (unknownPath(secondReply.status)) return reply
      if (proves(secondReply.status)) {
        current = other
        confirmed = true
      }
      return secondReply
    },
  }
}

/** Always uses the spelling that the operator chose. */
export function fixedSpelling<T>(only: T): Spelling<T> {
  return { current: () => only, send: (_namesAnId, attempt) => attempt(only) }
}

const unknownPath = (status: number) => status === 404 || status === 405

/** Any other refusal may come from a layer before the path, such as a login or a rate limit. */
const proves = (status: number) =>
  (status >= 200 && status < 300) || status === 400 || status === 409 || status === 412 || status === 422
