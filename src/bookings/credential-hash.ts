import { scrypt } from 'node:crypto'
import { promisify } from 'node:util'
import { LRUCache } from 'lru-cache'

const CREDENTIALS_KEPT = 10_000
const HASH_BYTES = 32

interface TenantCredential {
  readonly tenant: string
  readonly credential: string
}

/** Makes a hash of credentials that is slow to reverse, because it is stored; each credential costs that time once. */
export function createCredentialHash(): (of: TenantCredential) => Promise<string> {
  const slowHash = promisify<string, string, number, Buffer>(scrypt)
  const known = new LRUCache<string, Promise<string>>({ max: CREDENTIALS_KEPT })
  return ({ tenant, credential }) => {
    const id = JSON.stringify([tenant, credential])
    const found = known.get(id)
    if (found) return found
    const made = slowHash(credential, `transload ${tenant}`, HASH_BYTES).then((hash) => hash.toString('base64url'))
    known.set(id, made)
    return made
  }
}
