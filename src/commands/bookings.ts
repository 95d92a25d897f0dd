import { hostname, userInfo } from 'node:os'
import { publicView } from '../bookings/bookings.ts'
import {
  type HealedBy,
  healedBy,
  reopen,
  type Settlement,
  type SettlementResult,
  settle,
} from '../bookings/settlement.ts'
import { readConfig } from '../config/config.ts'
import { loadMappings } from '../config/mappings.ts'
import { translationSettings } from '../config/translation-settings.ts'
import { LIST_LIMIT } from '../store/claim.ts'
import type { Claim, ClaimState, Store } from '../store/store.ts'
import { suggestion } from '../text/nearest.ts'
import { isPlainId } from '../text/service-text.ts'
import { readArguments } from './arguments.ts'
import { CommandFailed, UsageError } from './failures.ts'
import { print, printError, printJson } from './output.ts'
import { checkShipment } from './shipment-check.ts'
import { withExistingStore, withoutService } from './store.ts'

const USAGE = [
  'Usage:',
  '  transload bookings list [--state unknown] [--tenant NAME] [--json]',
  '  transload bookings show KEY [--json]',
  '  transload bookings settle KEY --shipment-id ID [--number NUMBER] [--unchecked]',
  '  transload bookings settle KEY --not-booked',
  '  transload bookings reopen KEY',
]
const EXPLAINED = {
  state: 'Lists only bookings in this state: sending, booked, refused, unknown or freed.',
  tenant: 'Lists only bookings of this tenant.',
  json: 'Prints JSON: a line for each booking, or one booking with its audit trail.',
  'shipment-id': 'The id of the shipment that the service made.',
  number: 'The number of that shipment, if callers know it by the number.',
  unchecked: 'Settles without asking the service for the shipment.',
  'not-booked': 'Records that the service made no shipment.',
}
const EXAMPLES = [
  'transload bookings list --state unknown',
  'transload bookings show bk_0123456789ab',
  'transload bookings settle bk_0123456789ab --shipment-id 6f1c1f5e-0000-4000-8000-000000000001',
  'transload bookings settle bk_0123456789ab --not-booked',
  'transload bookings reopen bk_0123456789ab',
]
const STATES: readonly ClaimState[] = ['sending', 'booked', 'refused', 'unknown', 'freed']

/** Lists, shows, settles and reopens bookings, on the store of running gateways. */
export async function bookings(args: readonly string[]): Promise<number> {
  const { verb, operands, values } = readArguments(args, {
    usage: USAGE,
    options: {
      state: { type: 'string' },
      tenant: { type: 'string' },
      json: { type: 'boolean' },
      'shipment-id': { type: 'string' },
      number: { type: 'string' },
      unchecked: { type: 'boolean' },
      'not-booked': { type: 'boolean' },
    },
    explained: EXPLAINED,
    examples: EXAMPLES,
    verbs: {
      list: { operands: [], options: ['state', 'tenant', 'json'] },
      show: { operands: ['KEY'], options: ['json'] },
      settle: { operands: ['KEY'], options: ['shipment-id', 'number', 'unchecked', 'not-booked'] },
      reopen: { operands: ['KEY'], options: [] },
    },
  })
  const [key = ''] = operands
  switch (verb) {
    case 'list': {
      const { tenant, json = false } = values
      const state = stateOf(values.state)
      return withExistingStore((store) => list(store, { ...(state && { state }), ...(tenant && { tenant }) }, json))
    }
    case 'show':
      return withExistingStore((store) => show(store, key, values.json ?? false))
    case 'settle': {
      const settlement = settlementOf(values)
      return withExistingStore((store) => settleOne(store, key, settlement, values.unchecked ?? false))
    }
    case 'reopen':
      return withExistingStore((store) => reopenOne(store, key))
    default:
      return verb satisfies never
  }
}

function stateOf(text: string | undefined): ClaimState | undefined {
  const state = STATES.find((known) => known === text)
  if (text === undefined || state !== undefined) return state
  throw new UsageError(
    `unknown state ${text}${suggestion(text, STATES) || `; the states are ${STATES.join(', ')}`}`,
    USAGE,
  )
}

interface SettleOptions {
  readonly 'shipment-id'?: string | undefined
  readonly number?: string | undefined
  readonly 'not-booked'?: boolean | undefined
}

function settlementOf({ 'shipment-id': shipment, number, 'not-booked': notBooked = false }: SettleOptions): Settlement {
  if ((shipment !== undefined) === notBooked) {
    throw new UsageError('settle needs either --shipment-id or --not-booked', USAGE)
  }
  if (shipment === undefined) {
    if (number !== undefined) throw new UsageError('--number does not apply to --not-booked', USAGE)
    return 'not-booked'
  }
  for (const [option, text] of Object.entries({ '--shipment-id': shipment, '--number': number })) {
    if (text !== undefined && !isPlainId(text)) {
      throw new UsageError(`${option} takes up to 64 letters, digits, dots, dashes and underscores`, USAGE)
    }
  }
  return { shipment, number }
}

async function list(store: Store, filter: { state?: ClaimState; tenant?: string }, json: boolean): Promise<number> {
  const claims = await store.listClaims(filter)
  for (const claim of claims) {
    const healed = await howHealed(store, claim)
    if (json) printJson({ ...publicView(claim), ...(healed && { healed }) })
    else print(lineOf(claim, healed))
  }
  if (!json) printError(`${claims.length} ${claims.length === 1 ? 'booking' : 'bookings'}`)
  if (claims.length === LIST_LIMIT) printError(`These are the oldest ${LIST_LIMIT}; there may be more.`)
  return 0
}

async function show(store: Store, handle: string, json: boolean): Promise<number> {
  const trail = await store.audit(handle)
  const claim = await store.claimByHandle(handle)
  if (!claim && trail.length === 0) throw noBooking(handle)
  const healed = claim && (await howHealed(store, claim))
  // The row of a key that was free belongs to the later booking; only the audit trail remains of the earlier one.
  const view = claim
    ? { ...publicView(claim), ...(healed && { healed }) }
    : { key: handle, state: trail.at(-1)?.to, superseded: true }
  const audit = trail.map((entry) => ({ ...entry, at: new Date(entry.at).toISOString() }))
  printJson(json ? { ...view, audit } : view, 2)
  if (!json) print(...audit.map(({ at, from, to, instance, why }) => `${at}  ${from} → ${to}  ${why}  (${instance})`))
  return 0
}

/** Returns how the gateway found the shipment of a booking that was unknown; undefined for any other booking. */
async function howHealed(store: Store, { state, handle }: Claim): Promise<HealedBy | undefined> {
  return state === 'booked' ? healedBy(await store.audit(handle)) : undefined
}

async function settleOne(store: Store, handle: string, settlement: Settlement, unchecked: boolean): Promise<number> {
  const claim = await claimOf(store, handle)
  const isChecked = settlement !== 'not-booked' && !unchecked && claim.state === 'unknown'
  const config = readConfig(isChecked ? process.env : withoutService())
  const catalog = await loadMappings(config.MAPPINGS_DIR, config.LOOKUPS_FILE)
  const settled = await settle(claim, isChecked ? await checkShipment(claim, settlement, config) : settlement, {
    store,
    catalog,
    settings: translationSettings(config),
    instance: operator(),
  })
  const { state, shipment } = changed(settled, handle, 'only unknown bookings can be settled')
  print(`${handle} is ${state === 'booked' ? `booked as shipment ${shipment}` : 'settled as not booked'}.`)
  return 0
}

async function reopenOne(store: Store, handle: string): Promise<number> {
  const claim = await claimOf(store, handle)
  const reopened = await reopen(claim, { store, instance: operator() })
  changed(reopened, handle, 'only settled bookings can be reopened')
  print(`${handle} is unknown again.`)
  return 0
}

function changed(result: SettlementResult, handle: string, rule: string): Claim {
  switch (result.outcome) {
    case 'changed':
      return result.claim
    case 'wrong-state':
      throw new CommandFailed(`${handle} is ${result.state}; ${rule}`)
    case 'taken':
      throw new CommandFailed(`the booking ${result.by} has this shipment already`)
    default:
      return result satisfies never
  }
}

async function claimOf(store: Store, handle: string): Promise<Claim> {
  const claim = await store.claimByHandle(handle)
  if (claim) return claim
  const last = (await store.audit(handle)).at(-1)
  if (!last) throw noBooking(handle)
  throw new CommandFailed(
    `${handle} is over (${last.why}), and the same was booked again later; find that booking with transload bookings list`,
  )
}

const noBooking = (handle: string) => new CommandFailed(`there is no booking ${handle}`)

/** Returns the user and host, for the audit trail. */
function operator(): string {
  return `operator ${userName()} on ${hostname()}`
}

function userName(): string {
  try {
    return userInfo().username
  } catch {
    // In a container, a user may have a number and no name.
    return `uid ${process.getuid?.()}`
  }
}

function lineOf(claim: Claim, healed: HealedBy | undefined): string {
  const { key, state, created, tenant, reference, vin, shipment } = publicView(claim)
  return [
    key,
    state.padEnd(7),
    created,
    tenant,
    reference || '-',
    vin || '-',
    shipment || '-',
    healed ? `healed: ${healed}` : [],
  ]
    .flat()
    .join('  ')
}
