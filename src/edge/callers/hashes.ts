import { hash, randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { MADE_SECRET, parseSecretHash } from '../../language/config/tenants-file.ts'

/* The hashes of secrets in a tenants file: slow ones for secrets that people chose, fast ones for secrets that the gateway made. */

const MADE_BYTES = 32

/** Makes a secret that needs no slow hash. */
export const makeSecret = (): string => `tl_${randomBytes(MADE_BYTES).toString('base64url')}`

/** Returns the hash of a secret that the gateway has made. */
export const fastHash = (secret: string): string => `$sha256$${base64(hash('sha256', secret, 'buffer'))}`

export const isSameHash = (one: string, other: string) =>
  one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other))

/** The cost of a hash: 2^15 rounds of 1 KiB, about 0.1 s and 32 MiB. */
const COST_LOG2 = 15
const BLOCK = 8
const PARALLEL = 1
const SALT_BYTES = 16
const HASH_BYTES = 32
/** The memory limit of scrypt: 128 bytes per block and round, with a margin. */
const MEMORY_BYTES = 256 * 1024 * 1024

const derive = promisify<string, Buffer, number, { N: number; r: number; p: number; maxmem: number }, Buffer>(scrypt)

/**
 * Returns the hash of a secret for the tenants file: a salted, slow one as a PHC string, `$scrypt$ln=15,r=8,p=1$<salt>$<hash>`, or
 * `$sha256$<hash>` for a secret that the gateway has made.
 */
export async function hashSecret(secret: string): Promise<string> {
  if (MADE_SECRET.test(secret)) return fastHash(secret)
  const salt = randomBytes(SALT_BYTES)
  const derived = await derive(secret, salt, HASH_BYTES, {
    N: 2 ** COST_LOG2,
    r: BLOCK,
    p: PARALLEL,
    maxmem: MEMORY_BYTES,
  })
  return `$scrypt$ln=${COST_LOG2},r=${BLOCK},p=${PARALLEL}$${base64(salt)}$${base64(derived)}`
}

/** Reports whether the secret has this hash; takes the same time either way. */
export async function matchesHash(secret: string, text: string): Promise<boolean> {
  const parsed = parseSecretHash(text)
  if (!parsed) return false
  const { costLog2, block, parallel, salt, hash } = parsed
  const options = { N: 2 ** costLog2, r: block, p: parallel, maxmem: MEMORY_BYTES }
  return timingSafeEqual(await derive(secret, salt, hash.length, options), hash)
}

/** PHC strings carry no padding. */
const base64 = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '')
