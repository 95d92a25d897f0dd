import { parseArgs } from 'node:util'
import { publicView } from '../bookings.ts'
import { EXIT_USAGE } from '../cli.ts'
import { readConfig } from '../config.ts'
import { settingsOf } from '../gateway.ts'
import { newInstance } from '../leases.ts'
import { loadMappings } from '../mappings.ts'
import { type Settlement, settle } from '../settlement.ts'
import { openStore } from '../store/open.ts'
import type { Claim, ClaimState, Store } from '../store/store.ts'

const USAGE = `Usage:
  transload bookings list [--state unknown] [--tenant NAME] [--json]
  transload bookings show KEY
  transload bookings settle KEY --shipment-id ID [--number NUMBER]
  transload bookings settle KEY --not-booked
`
const STATES: ReadonlySet<string> = new Set<ClaimState>(['sending', 'booked', 'refused', 'unknown', 'freed'])

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
  const [verb, key] = positionals
  const { state, tenant, json, 'shipment-id': shipment, number, 'not-booked': notBooked } = values
  const wrongState = state !== undefined && !STATES.has(state)
  if (verb === 'list' && !wrongState) {
    return withStore((store) =>
      list(store, { ...(state && { state: state as ClaimState }), ...(tenant && { tenant }) }, json),
    )
  }
  if (verb === 'show' && key) return withStore((store) => show(store, key))
  if (verb === 'settle' && key && (shipment !== undefined) !== notBooked) {
    return withStore((store) => settleIt(store, key, shipment === undefined ? 'not-booked' : { shipment, number }))
  }
  process.stderr.write(USAGE)
  return EXIT_USAGE
}

async function withStore(work: (store: Store) => Promise<number>): Promise<number> {
  const { STORE_URL } = readConfig({ V2_BASE_URL: 'https://service.example.com', ...process.env })
  const store = await openStore(STORE_URL)
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}

async function list(store: Store, filter: { state?: ClaimState; tenant?: string }, json: boolean): Promise<number> {
  const claims = await store.listClaims(filter)
  for (const claim of claims) {
    process.stdout.write(json ? `${JSON.stringify(publicView(claim))}\n` : `${inColumns(claim)}\n`)
  }
  if (!json) process.stderr.write(`${claims.length} ${claims.length === 1 ? 'booking' : 'bookings'}\n`)
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
  const config = readConfig({ V2_BASE_URL: 'https://service.example.com', ...process.env })
  const catalog = await loadMappings(config.MAPPINGS_DIR, config.LOOKUPS_FILE)
  const settled = await settle(claim, settlement, {
    store,
    catalog,
    settings: settingsOf(config),
    instance: `operator/${newInstance()}`,
    now: Date.now,
  })
  if (settled) {
    process.stdout.write(
      `${handle} is ${settled.state === 'booked' ? `booked as shipment ${settled.shipment}` : 'settled as not booked'}.\n`,
    )
    return 0
  }
  process.stderr.write(`transload: ${handle} is ${claim.state}; only unknown bookings can be settled\n`)
  return 1
}

function unknownKey(handle: string): number {
  process.stderr.write(`transload: there is no booking ${handle}\n`)
  return 1
}

function inColumns(claim: Claim): string {
  const { key, state, created, tenant, reference, vin, shipment } = publicView(claim)
  return [key, state.padEnd(7), created, tenant, reference || '-', vin || '-', shipment || '-'].join('  ')
}
