import { ADDRCONFIG, type LookupAddress, lookup as lookupBySystem } from 'node:dns'
import type { LookupFunction } from 'node:net'

/** Looks up the addresses of names for many connections at once. */
export interface Names {
  readonly lookup: LookupFunction
  /** Returns whether connections wait for the address of this name. */
  readonly isPending: (hostname: string) => boolean
}

export interface NamesOptions {
  /** The time during which an address is used without asking again. */
  readonly freshMs: number
  /** The time during which an address is used while it is refreshed. */
  readonly usableMs: number
  /** @default the system's resolver */
  readonly lookup?: LookupFunction | undefined
}

interface Known {
  readonly addresses: LookupAddress[]
  /** In milliseconds of `performance.now()`. */
  readonly at: number
}

type Done = (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void

/**
 * Asks for each name once for all connections that wait for it, and caches the answer for seconds. Each question to
 * the system occupies one of libuv's few threads. With one question per connection, calls that will be refused would
 * delay all other calls.
 */
export function createNames({ freshMs, usableMs, lookup = lookupBySystem as LookupFunction }: NamesOptions): Names {
  const known = new Map<string, Known>()
  const waiting = new Map<string, Done[]>()

  function ask(hostname: string, done: Done): void {
    const others = waiting.get(hostname)
    if (others) return void others.push(done)
    const all = [done]
    waiting.set(hostname, all)
    // `net` passes this hint.
    lookup(hostname, { all: true, hints: ADDRCONFIG }, (error, answer, family = 0) => {
      waiting.delete(hostname)
      const addresses = typeof answer === 'string' ? [{ address: answer, family }] : answer
      if (!error) known.set(hostname, { addresses, at: performance.now() })
      for (const told of all) told(error, addresses)
    })
  }

  return {
    isPending: (hostname) => waiting.has(hostname),
    lookup: (hostname, { all, family }, done) => {
      const tell: Done = (error, addresses) => {
        if (error) return done(error, '')
        const version = family === 'IPv4' ? 4 : family === 'IPv6' ? 6 : family
        const fitting = version === 4 || version === 6 ? addresses.filter((one) => one.family === version) : addresses
        const [first] = fitting
        if (!first) return done(Object.assign(new Error(`${hostname} has no such address`), { code: 'ENOTFOUND' }), '')
        return all ? done(null, fitting) : done(null, first.address, first.family)
      }
      const found = known.get(hostname)
      const ageMs = found ? performance.now() - found.at : Number.POSITIVE_INFINITY
      if (!found || ageMs > usableMs) return ask(hostname, tell)
      if (ageMs > freshMs) ask(hostname, () => undefined)
      // Asynchronous in every case: the callback never runs before `lookup` returns.
      return process.nextTick(tell, null, found.addresses)
    },
  }
}
