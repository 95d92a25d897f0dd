import { createHmac, createSecretKey, randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { availableParallelism } from 'node:os'
import { createBoundedCache } from '../collections/bounded-cache.ts'
import { gatewayError } from '../errors.ts'
import { type BasicPair, basicOf } from '../service/basic.ts'
import type { Caller, CredentialsDeps } from './caller.ts'
import { turnOf } from './caller-gone.ts'
import { createFairQueue, type Turn } from './fair-queue.ts'
import { matchesHash } from './secret-hash.ts'
import { sourceOf } from './source-address.ts'

/** A hash that the secret of an id may match, and the caller that the secret proves; undefined for a decoy. */
export interface Candidate {
  readonly hash: string
  readonly caller: Caller | undefined
}

/** The credentials of a tenants file. */
export interface Candidates {
  /** Never empty: an unknown id has candidates too, so refusing it takes as long. */
  readonly of: (id: string) => readonly Candidate[]
}

/** Verifies each credential once by its slow hash. */
export interface Verification {
  /** Returns the caller; undefined if the credential is wrong. Throws if the credential was not checked. */
  readonly verify: (
    pair: Pick<BasicPair, 'id' | 'secret'>,
    incoming: IncomingMessage,
  ) => Caller | undefined | Promise<Caller | undefined>
  /** Forgets wrong credentials, and verified ones of removed callers. */
  readonly renew: (isCurrent: (caller: Caller) => boolean) => void
}

const VERIFIED_KEPT = 100_000
/** Wrong secrets for one id from one source per period; further guesses are refused unchecked. */
const GUESSES = 10
/** Wrong secrets for all ids together from one source per period: invented ids cost the sender nothing. */
const GUESSES_OF_SOURCE = 20
const GUESSES_WINDOW_MS = 60_000
const GUESSES_KEPT = 10_000

/** At least two of libuv's four threads stay free for DNS and files, and one core for calls. */
const HASHES_AT_ONCE = Math.max(1, Math.min(2, availableParallelism() - 1))

/** Verifies credentials against the candidates that `current` returns. */
export function createVerification(
  { config: { MAX_IN_FLIGHT }, addressOf }: Pick<CredentialsDeps, 'config' | 'addressOf'>,
  current: () => Candidates,
): Verification {
  // The key exists in this process only, so the remembered values are useless elsewhere.
  const key = createSecretKey(randomBytes(32))
  const digest = (text: string) => createHmac('sha256', key).update(text).digest('base64url')
  const verified = createBoundedCache<string, Caller>(VERIFIED_KEPT)
  // An old secret that is sent again and again uses no guesses and no hashing time.
  const refused = createBoundedCache<string, true>(GUESSES_KEPT, { ttl: GUESSES_WINDOW_MS })
  const guesses = createBoundedCache<string, number>(GUESSES_KEPT, { ttl: GUESSES_WINDOW_MS, noUpdateTTL: true })
  const hashes = createFairQueue({
    atOnce: HASHES_AT_ONCE,
    atOnceOfSource: HASHES_AT_ONCE,
    calls: MAX_IN_FLIGHT,
    // A source that has sent no wrong secret comes before those that have.
    rankOf: (source) => guesses.peek(digest(source)) ?? 0,
  })
  /** The turns of calls with one credential, which share one hash. */
  const underWay = new Map<string, Set<Turn>>()

  async function check(
    pair: Pick<BasicPair, 'id' | 'secret'>,
    id: string,
    incoming: IncomingMessage,
  ): Promise<Caller | undefined> {
    const source = sourceOf(addressOf(incoming))
    const guessers = [
      [digest(`${source} ${pair.id}`), GUESSES],
      [digest(source), GUESSES_OF_SOURCE],
    ] as const
    demandGuesses(guessers)
    const turn = hashes.enter(source)
    const turns = underWay.get(id) ?? new Set()
    underWay.set(id, turns.add(turn))
    try {
      await turnOf(incoming, turn)
      const known = verified.get(id)
      if (known || refused.has(id)) return known
      demandGuesses(guessers)
      return await decide(pair, id, guessers)
    } finally {
      turn.end()
      turns.delete(turn)
      if (turns.size === 0 && underWay.get(id) === turns) underWay.delete(id)
    }
  }

  type Guessers = readonly (readonly [guesser: string, most: number])[]

  function demandGuesses(guessers: Guessers): void {
    for (const [guesser, most] of guessers) if ((guesses.get(guesser) ?? 0) >= most) throw tooManyGuesses()
  }

  function count(guessers: Guessers, by: number): void {
    for (const [guesser] of guessers) guesses.set(guesser, Math.max(0, (guesses.get(guesser) ?? 0) + by))
  }

  /** Counts a guess before its result is known, because concurrent guesses count too. */
  async function decide(
    pair: Pick<BasicPair, 'id' | 'secret'>,
    id: string,
    guessers: Guessers,
  ): Promise<Caller | undefined> {
    const asked = current()
    count(guessers, 1)
    const caller = await matching(pair.secret, asked.of(pair.id))
    if (caller) count(guessers, -1)
    // A result from a list that was replaced in the meantime is not remembered.
    if (asked !== current()) return caller
    if (caller) verified.set(id, caller)
    else refused.set(id, true)
    for (const turn of underWay.get(id) ?? []) turn.settle()
    return caller
  }

  return {
    verify: (pair, incoming) => {
      const id = digest(basicOf(pair.id, pair.secret))
      const known = verified.get(id)
      if (known || refused.has(id)) return known
      return check(pair, id, incoming)
    },
    renew: (isCurrent) => {
      // Tenants that did not change need no new slow hash.
      for (const [id, caller] of verified) if (!isCurrent(caller)) verified.delete(id)
      refused.clear()
      guesses.clear()
    },
  }
}

async function matching(secret: string, candidates: readonly Candidate[]): Promise<Caller | undefined> {
  for (const { hash, caller } of candidates) if (await matchesHash(secret, hash)) return caller
  return undefined
}

const tooManyGuesses = () => gatewayError('too-many-calls/secrets', {}, { headers: { 'Retry-After': '60' } })
