import { hostname, userInfo } from 'node:os'
import { parseArgs } from 'node:util'
import { publicView } from '../bookings/bookings.ts'
import { type Settlement, settle } from '../bookings/settlement.ts'
import { readConfig } from '../config/config.ts'
import { loadMappings } from '../config/mappings.ts'
import { EXIT_USAGE } from '../exit-codes.ts'
import { settingsOf } from '../gateway.ts'
import { LIST_LIMIT } from '../store/claim.ts'
import type { Claim, ClaimState, Store } from '../store/store.ts'
import { NO_SERVICE, withLiveStore } from './with-store.ts'

const USAGE = `Usage:
  transload bookings list [--state unknown] [--tenant NAME] [--json]
  transload bookings show KEY
  transload bookings settle KEY --shipment-id ID [--number NUMBER]
  transload bookings settle KEY --not-booked
`
const STATES: ReadonlySet<string> = new Set<ClaimState>(['sending', 'booked', 'refused', 'unknown', 'freed'])
/** What may stand in a header of the answer, where the id and the number go. */
const PLAIN = /^[\x21-\x7e]{1,200}$/

/** Lists, shows and settles bookings, on a store that gateways are using. */
export async function bookings(words: readonly string[]): Promise<number> {
  const { positionals, values } = parseArgs({
    args: [...words],
    allowPositionals: true,
    options: {
      state: { type: 'string' },
      tenant: { type: 'string' },
      json: { type: 'boolean', default: false },
      'shipment-id': { type: 'string' },
      number: { type: 'string' },
      'not-booked': { type: 'boolean', default: false },
    },
  })
  const [verb, key, ...more] = positionals
  const { state, tenant, json, 'shipment-id': shipment, number, 'not-booked': notBooked } = values
  if (more.length > 0) return misused(`there is no use for ${more.join(' ')}`)
  if (verb === 'list' && key === undefined) {
    if (state !== undefined && !isState(state)) return misused(`the states are ${[...STATES].join(', ')}`)
    return withLiveStore((store) => list(store, { ...(state && { state }), ...(tenant && { tenant }) }, json))
  }
  if (verb === 'show' && key) return withLiveStore((store) => show(store, key))
  if (verb === 'settle' && key) {
    if ((shipment !== undefined) === notBooked) return misused('say either --shipment-id or --not-booked')
    if (notBooked && number !== undefined) return misused('what is not booked has no --number')
    if (![shipment, number].every((text) => text === undefined || PLAIN.test(text))) {
      return misused('an id or a number is plain text without blanks, as the service gave it')
    }
    return withLiveStore((store) => settleIt(store, key, shipment === undefined ? 'not-booked' : { shipment, number }))
  }
  return misused(key === undefined && (verb === 'show' || verb === 'settle') ? 'say which KEY' : undefined)
}

const isState = (text: string): text is ClaimState => STATES.has(text)

function misused(how?: string): number {
  process.stderr.write(`${how === undefined ? '' : `transload: ${how}\n\n`}${USAGE}`)
  return EXIT_USAGE
}

async function list(store: Store, filter: { state?: ClaimState; tenant?: string }, json: boolean): Promise<number> {
  const claims = await store.listClaims(filter)
  for (const claim of claims) {
    process.stdout.write(json ? `${JSON.stringify(publicView(claim))}\n` : `${inColumns(claim)}\n`)
  }
  if (!json) process.stderr.write(`${claims.length} ${claims.length === 1 ? 'booking' : 'bookings'}\n`)
  if (claims.length === LIST_LIMIT) process.stderr.write('There are perhaps more: these are the oldest.\n')
  return 0
}

async function show(store: Store, handle: string): Promise<number> {
  const claim = await store.claimByHandle(handle)
  if (!claim) return unknownKey(handle)
  process.stdout.write(`${JSON.stringify(publicView(claim), null, 2)}\n`)
  for (const { at, from, to, instance, why } of await store.audit(handle)) {
    process.stdout.write(`${new Date(at).toISOString()}  ${from} → ${to}  ${why}  (${instance})\n`)
  }
  return 0
}

async function settleIt(store: Store, handle: string, settlement: Settlement): Promise<number> {
  const claim = await store.claimByHandle(handle)
  if (!claim) return unknownKey(handle)
  const config = readConfig({ ...NO_SERVICE, ...process.env })
  const catalog = await loadMappings(config.MAPPINGS_DIR, config.LOOKUPS_FILE)
  const settled = await settle(claim, settlement, {
    store,
    catalog,
    settings: settingsOf(config),
    instance: `operator ${userName()} on ${hostname()}`,
    now: Date.now,
  })
  if (settled) {
    process.stdout.write(
      `${handle} is ${settled.state === 'booked' ? `booked as shipment ${settled.shipment}` : 'settled as not booked'}.\n`,
    )
    return 0
  }
  const { state } = (await store.claimByHandle(handle)) ?? claim
  process.stderr.write(`transload: ${handle} is ${state}; only unknown bookings can be settled\n`)
  return 1
}

/** Who settles, as far as the machine knows. */
function userName(): string {
  try {
    return userInfo().username
  } catch {
    // In a container the user may have a number and no name.
    return `uid ${process.getuid?.()}`
  }
}

function unknownKey(handle: string): number {
  process.stderr.write(`transload: there is no booking ${handle}\n`)
  return 1
}

function inColumns(claim: Claim): string {
  const { key, state, created, tenant, reference, vin, shipment } = publicView(claim)
  return [key, state.padEnd(7), created, tenant, reference || '-', vin || '-', shipment || '-'].join('  ')
}
