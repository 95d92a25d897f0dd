/** A parsed PHC string, `$scrypt$ln=15,r=8,p=1$<salt>$<hash>`. */
export interface SecretHash {
  /** The logarithm of the number of rounds, to base 2. */
  readonly costLog2: number
  readonly block: number
  readonly parallel: number
  readonly salt: Buffer
  readonly hash: Buffer
}

const FORM = /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{22,86})$/
/** The highest accepted cost. More expensive hashes would allow denial of service. */
const LIMITS = { costLog2: 17, block: 8, parallel: 4 } as const

/** Parses a hash; undefined if the text is not a hash or its check would cost too much. */
export function parseSecretHash(text: string): SecretHash | undefined {
  const [, cost = '0', blocks = '0', lanes = '0', salt = '', hash = ''] = FORM.exec(text) ?? []
  const [costLog2, block, parallel] = [Number(cost), Number(blocks), Number(lanes)]
  const isBearable =
    isBetween(costLog2, LIMITS.costLog2) && isBetween(block, LIMITS.block) && isBetween(parallel, LIMITS.parallel)
  if (!isBearable) return undefined
  return { costLog2, block, parallel, salt: Buffer.from(salt, 'base64'), hash: Buffer.from(hash, 'base64') }
}

const isBetween = (value: number, most: number) => value >= 1 && value <= most
