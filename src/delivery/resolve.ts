import { lookup, Resolver } from 'node:dns/promises'

/** Returns every address of a name. */
export type Resolve = (hostname: string) => Promise<readonly string[]>

const TIMEOUT_MS = 5_000
const TRIES = 2

export interface ResolveOptions {
  /** The name servers, as addresses with ports. @default those of the machine */
  readonly servers?: readonly string[]
}

/**
 * Makes a resolver that asks the name servers without libuv's few threads: a name server that does not answer for one
 * endpoint holds up no other look-up. A name that they do not know may be in the machine's own list.
 */
export function createResolve({ servers }: ResolveOptions = {}): Resolve {
  const resolver = new Resolver({ timeout: TIMEOUT_MS, tries: TRIES })
  if (servers) resolver.setServers(servers)
  return async (hostname) => {
    const answers = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)])
    const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
    if (addresses.length > 0) return addresses
    const failures = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason] : []))
    const unanswered = failures.find((failure) => !NOT_KNOWN.has(codeOf(failure)))
    if (unanswered !== undefined) throw unanswered
    return (await lookup(hostname, { all: true })).map(({ address }) => address)
  }
}

const NOT_KNOWN = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME'])

const codeOf = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : '')
