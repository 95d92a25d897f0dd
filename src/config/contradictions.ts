import type { Config, Environment } from './config.ts'
import { overlap } from './values.ts'

/** Returns the errors of variables that contradict each other. */
export function contradictions(set: Environment, valid: Partial<Config>): string[] {
  return [
    ...incompletePairs(set),
    ...twoModes(set),
    ...unsharedStore(set),
    ...sharedPort(valid),
    ...brownoutsWithout(set),
  ]
}

/** Variables that are set together or not at all. */
const PAIRS = [
  ['V2_CLIENT_ID', 'V2_CLIENT_SECRET'],
  ['V2_CERT_FILE', 'V2_KEY_FILE'],
  ['TLS_CERT_FILE', 'TLS_KEY_FILE'],
] as const

function incompletePairs(set: Environment): string[] {
  return PAIRS.flatMap(([one, other]) => {
    if ((set[one] === undefined) === (set[other] === undefined)) return []
    const [missing, given] = set[one] === undefined ? [one, other] : [other, one]
    return [`${missing} is required because ${given} is set`]
  })
}

function twoModes(set: Environment): string[] {
  if (set['TENANTS_FILE'] === undefined || set['V2_CLIENT_ID'] === undefined) return []
  return ['TENANTS_FILE and V2_CLIENT_ID are both set; remove one, because each tenant has a client id of its own']
}

function unsharedStore(set: Environment): string[] {
  if (!/^\s*memory:/i.test(set['STORE_URL'] ?? '') || !(Number(set['WORKERS']) > 1)) return []
  return ['STORE_URL=memory: works only with WORKERS=1, because workers do not share memory']
}

/** A port of 0 is any free one, or turns the admin listener off. */
function sharedPort({ HOST, PORT, ADMIN_HOST, ADMIN_PORT }: Partial<Config>): string[] {
  if (!PORT || PORT !== ADMIN_PORT || HOST === undefined || ADMIN_HOST === undefined) return []
  return overlap(HOST, ADMIN_HOST) ? [`PORT and ADMIN_PORT are both ${PORT}; choose different ports`] : []
}

function brownoutsWithout(set: Environment): string[] {
  if (set['BROWNOUT_BOOKINGS'] !== 'true' || set['BROWNOUTS'] !== undefined || set['TENANTS_FILE'] !== undefined)
    return []
  return ['BROWNOUT_BOOKINGS=true has no effect without BROWNOUTS']
}
