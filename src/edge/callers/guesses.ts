import { createHmac, createSecretKey, randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { availableParallelism } from 'node:os'
import { MADE_SECRET } from '../../language/config/tenants-file.ts'
import { gatewayError, retryAfter } from '../../language/errors.ts'
import { type BasicPair, basicOf } from '../../outside/service/credential.ts'
import { createBoundedCache } from '../../runtime/collections.ts'
import { createTurns } from '../limits/turns.ts'
import type { Caller } from './caller.ts'
import { fastHash, isSameHash, matchesHash } from './hashes.ts'

/*
 * Checks a credential that claims to be a tenant's: each one only once by its slow hash, with few wrong guesses, and without revealing
 * which ids exist.
 */

/** A hash that an id's secret may match, and the caller that the secret then proves; undefined for a decoy. */
export interface Candidate {
  readonly hash: string
  readonly caller: Caller | undefined
}

/** The credentials of a tenants file. */
export interface Candidates {
  readonly has: (id: string) => boolean
  /** The candidates for secrets that the gateway has made. */
  readonly fast: (id: string) => readonly Candidate[]
  /** Never empty: an unknown id has candidates, too, so that refusing it takes as long. */
  readonly slow: (id: string) => readonly Candidate[]
}

/** The prefix of lanes for unknown ids. */
const UNKNOWN = '? '
const VERIFIED_KEPT = 100_000
/** The most wrong secrets for one id from one source per period; further guesses are refused unchecked. */
const GUESSES = 10
/** The most wrong secrets for all ids together from one source per period: invented ids cost the sender nothing. */
const GUESSES_OF_SOURCE = 20
const GUESSES_WINDOW_MS = 60_000
const GUESSES_KEPT = 10_000

/** Leaves at least two of libuv's four threads free for DNS and files. */
const HASHES_AT_ONCE = Math.min(2, availableParallelism())
/** After a start, the first call of every tenant waits here. Callers in PHP wait a minute for an answer. */
const HASH_WAIT_MS = 55_000

/** Verifies credentials against the candidates that `current` returns, each one only once by its slow hash. */
export function createVerification(
  /** The most calls under way in the gateway. */
  mostCalls: number,
  current: () => Candidates,
) {
  // With a key that only this process has, the remembered values are useless elsewhere.
  const key = createSecretKey(randomBytes(32))
  const digest = (text: string) => createHmac('sha256', key).update(text).digest('base64url')
  const verified = createBoundedCache<string, Caller>(VERIFIED_KEPT)
  // An old secret that keeps being sent uses up no guesses and no hashing time.
  const refused = createBoundedCache<string, true>(GUESSES_KEPT, { ttl: GUESSES_WINDOW_MS })
  const guesses = createBoundedCache<string, number>(GUESSES_KEPT, { ttl: GUESSES_WINDOW_MS, noUpdateTTL: true })
  // Calls with one credential share one hash.
  const hashes = createTurns<undefined>({
    atOnce: HASHES_AT_ONCE,
    atOnceOfSource: HASHES_AT_ONCE,
    calls: mostCalls,
    // Sources without wrong secrets come before the others, and known ids before unknown ones.
    rankOf: (lane) =>
      (lane.startsWith(UNKNOWN) ? GUESSES_OF_SOURCE : 0) + (guesses.peek(digest(lane.replace(UNKNOWN, ''))) ?? 0),
    waitMs: HASH_WAIT_MS,
  })

  async function check(
    pair: BasicPair,
    id: string,
    incoming: IncomingMessage,
    source: string,
  ): Promise<Caller | undefined> {
    const guessers = [
      [digest(`${source} ${pair.id}`), GUESSES],
      [digest(source), GUESSES_OF_SOURCE],
    ] as const
    demandGuesses(guessers)
    const lane = current().has(pair.id) ? source : UNKNOWN + source
    const { leave } = await hashes.enter(incoming, lane, id, () => undefined)
    try {
      const known = verified.get(id)
      if (known || refused.has(id)) return known
      demandGuesses(guessers)
      return await decide(pair, id, guessers)
    } finally {
      leave()
    }
  }

  type Guessers = readonly (readonly [guesser: string, most: number])[]

  function demandGuesses(guessers: Guessers): void {
    for (const [guesser, most] of guessers)
      if ((guesses.get(guesser) ?? 0) >= most) throw gatewayError('too-many-calls/secrets', {}, retryAfter(60))
  }

  function count(guessers: Guessers, by: number): void {
    for (const [guesser] of guessers) guesses.set(guesser, Math.max(0, (guesses.get(guesser) ?? 0) + by))
  }

  /** Counts a guess before its result is known, because concurrent guesses count too. */
  async function decide(pair: BasicPair, id: string, guessers: Guessers): Promise<Caller | undefined> {
    const asked = current()
    count(guessers, 1)
    const caller = await callerMatching(pair.secret, asked.slow(pair.id))
    if (caller) count(guessers, -1)
    // A result from a list that was replaced in the meantime is not remembered.
    if (asked !== current()) return caller
    if (caller) verified.set(id, caller)
    else refused.set(id, true)
    hashes.decide(id)
    return caller
  }

  return {
    /** Returns the caller; undefined if the credential is wrong. Throws if the credential was not checked. */
    verify: (pair: BasicPair, incoming: IncomingMessage, source: string) => {
      const id = digest(basicOf(pair.id, pair.secret))
      const known = verified.get(id)
      if (known || refused.has(id)) return known
      // The secret's form alone decides how it is checked, so the time tells nothing about the id.
      if (!MADE_SECRET.test(pair.secret)) return check(pair, id, incoming, source)
      const made = fastHash(pair.secret)
      const match = current()
        .fast(pair.id)
        .find(({ hash: text }) => isSameHash(text, made))
      if (match?.caller) verified.set(id, match.caller)
      return match?.caller
    },
    /** Forgets wrong credentials, and verified ones of removed callers. */
    renew: (isCurrent: (caller: Caller) => boolean): void => {
      // Unchanged tenants need no new slow hash.
      for (const [id, caller] of verified) if (!isCurrent(caller)) verified.delete(id)
      refused.clear()
      guesses.clear()
    },
  }
}

async function callerMatching(secret: string, candidates: readonly Candidate[]): Promise<Caller | undefined> {
  for (const { hash, caller } of candidates) if (await matchesHash(secret, hash)) return caller
  return undefined
}

/** A hash that no secret has, for a tenants file without credentials. */
const NO_HASH = `$scrypt$ln=15,r=8,p=1$${'A'.repeat(22)}$${'A'.repeat(43)}`
const PICK_BYTES = 4

/**
 * Makes decoys for unknown ids: a known id's hashes without a caller, always the same ones for the same unknown id. An unknown id then
 * takes as long to refuse as a known one, even if tenants' hashes differ in cost.
 */
export function createDecoys(): (id: string, all: readonly (readonly Candidate[])[]) => readonly Candidate[] {
  const key = createSecretKey(randomBytes(32))
  return (id, all) => {
    const pick = createHmac('sha256', key).update(id).digest().readUIntBE(0, PICK_BYTES)
    const candidates = all[pick % all.length] ?? [{ hash: NO_HASH }]
    return candidates.map(({ hash }) => ({ hash, caller: undefined }))
  }
}
