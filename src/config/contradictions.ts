import type { Config, Environment } from './config.ts'
import { overlap } from './values.ts'

/** Returns the errors of variables that contradict each other. */
export function contradictions(set: Environment, valid: Partial<Config>): string[] {
  return [
    ...incompletePairs(set),
    ...twoModes(set),
    ...unusedWebhookVariables(set),
    ...unsharedStore(set),
    ...sharedPort(valid),
    ...brownoutsWithout(set),
    ...forgottenUse(valid),
    ...forgottenQuotes(valid),
    ...bodyWithoutRoom(valid),
  ]
}

/** Variables that are set together or not at all. */
const PAIRS = [
  ['V2_CLIENT_ID', 'V2_CLIENT_SECRET'],
  ['WEBHOOK_CLIENT_ID', 'WEBHOOK_CLIENT_SECRET'],
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

/** Variables for events that the mode does not use: a secret that opens nothing would hide a mistake. */
function unusedWebhookVariables(set: Environment): string[] {
  const ofTenants = { WEBHOOK_SECRET: 'webhook_secret', WEBHOOK_SIGNING_SECRET: 'webhook_signing_secret' }
  const errors: string[] = []
  for (const [name, key] of Object.entries(ofTenants)) {
    if (set[name] !== undefined && set['TENANTS_FILE'] !== undefined)
      errors.push(`TENANTS_FILE and ${name} are both set; remove ${name}, because each tenant has a ${key} of its own`)
  }
  for (const mode of ['TENANTS_FILE', 'V2_CLIENT_ID']) {
    if (set['WEBHOOK_CLIENT_ID'] !== undefined && set[mode] !== undefined)
      errors.push(`${mode} and WEBHOOK_CLIENT_ID are both set; remove WEBHOOK_CLIENT_ID, which serves client mode only`)
  }
  if (set['WEBHOOK_SIGNING_SECRET'] !== undefined && set['WEBHOOK_SECRET'] === undefined && errors.length === 0)
    errors.push('WEBHOOK_SECRET is required because WEBHOOK_SIGNING_SECRET is set')
  return errors
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

/** The verdict needs the counts of all quiet days. */
function forgottenUse({ QUIET_DAYS: quiet, SCOREBOARD_DAYS: kept }: Partial<Config>): string[] {
  if (quiet === undefined || kept === undefined || quiet < kept) return []
  return [`QUIET_DAYS is ${quiet}d, and SCOREBOARD_DAYS only ${kept}d; keep the counts longer`]
}

/** Pruning deletes a quote with its unused numbers, however long its memory is configured. */
function forgottenQuotes({ QUOTE_MEMORY: memoryMs, BOOKING_DAYS: days }: Partial<Config>): string[] {
  if (memoryMs === undefined || days === undefined || memoryMs <= days * DAY_MS) return []
  return [`QUOTE_MEMORY is longer than BOOKING_DAYS, which is ${days}; keep bookings at least as long as quotes`]
}

function bodyWithoutRoom({ BODY_LIMIT_BYTES: one, BODIES_LIMIT_BYTES: all }: Partial<Config>): string[] {
  if (one === undefined || all === undefined || one <= all) return []
  return [`BODIES_LIMIT_BYTES is ${all}, less than BODY_LIMIT_BYTES, which is ${one}; make room for several bodies`]
}

const DAY_MS = 86_400_000
