import { hostname, userInfo } from 'node:os'
import { createInterface } from 'node:readline/promises'
import { type Config, readConfig } from '../../language/config/config.ts'
import { translationSettings } from '../../language/config/translation-settings.ts'
import { GatewayError } from '../../language/errors.ts'
import { scalarText } from '../../language/text/json.ts'
import { FIELD_LIMIT, isPlainId, shownText } from '../../language/text/service-text.ts'
import { NoReply } from '../../outside/service/exchange.ts'
import { idAt, isCanceled, shipmentNamed, shipmentWithId } from '../../outside/service/proofs.ts'
import { isSuccess, type UpstreamReply } from '../../outside/service/reply.ts'
import { openService, sendingOf, shipmentRead } from '../../outside/service/service.ts'
import { toldBy } from '../../outside/store/claim.ts'
import { pages } from '../../outside/store/copy.ts'
import type { AuditEntry, Claim, ClaimState, Store } from '../../outside/store/store.ts'
import { publicView } from '../../state/bookings/listing.ts'
import {
  type BookedShipment,
  type Settlement,
  type SettlementResult,
  settle as settleClaim,
  reopen as takeBack,
} from '../../state/bookings/settlement.ts'
import { aligned, durationOf, isoTime, plural, STATES, sentenceOf, stateOf } from '../words.ts'
import { ownAccounts } from './accounts.ts'
import { CommandFailed, UsageError } from './failures.ts'
import { mappingsOf, timeOf, withExistingStore, withoutService } from './open-store.ts'
import { type JsonOption, type Options, print, printError, printJson, printPages } from './output.ts'

type ListOptions = Options<'json', 'tenant' | 'reference' | 'since'> & { readonly state?: ClaimState }

const COLUMNS = ['key', 'state', 'created', 'tenant', 'reference', 'vin', 'shipment'] as const
/** How many bookings are listed in one step. */
const PAGE = 500

/** Lists bookings, the oldest first. */
export function list({ json = false, state, tenant, reference, ...options }: ListOptions): Promise<number> {
  const since = timeOf('--since', options.since, 'past')
  return withExistingStore(async (store) => {
    const filter = { state, tenant, since, name: reference, limit: PAGE }
    const listed = await printPages(
      pages<Claim>((after) => store.listClaims({ ...filter, after }), PAGE),
      { json },
      publicView,
      COLUMNS,
    )
    if (!json) printError(plural(listed, 'booking'))
    return 0
  })
}

/** Shows a booking with its audit trail. */
export function show(handle: string, { json }: JsonOption): Promise<number> {
  return withExistingStore(async (store) => {
    const trail = await store.audit(handle)
    const claim = await store.claimByHandle(handle)
    if (!claim && trail.length === 0) throw noBooking(handle)
    // The row of a key that was free belongs to the later booking; only the audit trail remains of the earlier one.
    const view = claim ? publicView(claim) : { key: handle, state: trail.at(-1)?.to, superseded: true }
    if (json) printJson({ ...view, audit: trail.map((entry) => ({ ...entry, at: isoTime(entry.at) })) }, 2)
    else print(...cardOf(handle, claim, trail, store.now()))
    return 0
  })
}

/** Returns a booking for people: the booking, its history, and what to do. */
function cardOf(
  handle: string,
  claim: Claim | undefined,
  trail: readonly AuditEntry[],
  now: number,
): readonly string[] {
  const history = aligned(
    trail.map(({ at, instance, ...entry }) => {
      const second = isoTime(at).slice(0, 'yyyy-mm-ddThh:mm:ss'.length)
      return [`${second}Z`, sentenceOf(entry), `(${instance})`]
    }),
  )
  if (!claim) {
    const state = STATES[trail.at(-1)?.to ?? 'freed'].toLowerCase()
    return [`${handle} · ${state} · booked again later`, '', ...history]
  }
  const { state, tenant, reference, vin, shipment, createdAt } = claim
  const { year, make, model } = toldBy(claim)
  const isOpen = state === 'unknown' || state === 'sending'
  const facts = [
    ['Tenant', tenant],
    ['Reference', reference],
    ['VIN', vin],
    ['Vehicle', [year, make, model].filter(Boolean).join(' ')],
    ['Shipment', shipment],
  ].filter(([, value]) => value)
  const settle = `transload bookings settle ${handle}`
  const choices = [
    '',
    "If the service has the shipment, the caller's next attempt is answered with it:",
    `  ${settle} --shipment-id ID`,
    "If the service does not have it, the caller's next attempt is sent to the service:",
    `  ${settle} --not-booked`,
  ]
  return [
    [handle, stateOf(claim).toLowerCase(), ...(isOpen ? [durationOf(now - createdAt)] : [])].join(' · '),
    '',
    ...aligned(facts),
    '',
    ...history,
    ...(state === 'unknown' ? choices : []),
  ]
}

type SettleOptions = Options<'notBooked' | 'unchecked' | 'yes', 'shipmentId' | 'number'>

/** Records the outcome of an unknown booking, of whose shipment the service is asked first. */
export function settle(handle: string, { unchecked, yes = false, ...options }: SettleOptions): Promise<number> {
  const settlement = settlementOf(options)
  return withExistingStore(async (store) => {
    const claim = await claimOf(store, handle)
    const isChecked = !unchecked && claim.state === 'unknown'
    const config = readConfig(isChecked ? process.env : withoutService())
    if (settlement === 'not-booked' && claim.state === 'unknown') {
      if (isChecked) await requireAbsent(claim, store, config)
      else printError('The service was not asked.')
      await requireConfirmed(claim, store.now(), yes)
    }
    const checked =
      settlement !== 'not-booked' && isChecked ? await checkShipment(claim, settlement, config) : settlement
    const deps = { store, catalog: await mappingsOf(config), settings: translationSettings(config) }
    const settled = await settleClaim(claim, checked, { ...deps, instance: operator() })
    const { state, shipment } = changed(settled, handle, 'only unknown bookings can be settled')
    print(`${handle} is ${state === 'booked' ? `booked as shipment ${shipment}` : 'settled as not booked'}.`)
    return 0
  })
}

function settlementOf({ shipmentId: shipment, number, notBooked }: SettleOptions): Settlement {
  if (notBooked) return 'not-booked'
  if (shipment === undefined) throw new UsageError('settle needs either --shipment-id or --not-booked')
  for (const [option, text] of Object.entries({ '--shipment-id': shipment, '--number': number })) {
    if (text !== undefined && !isPlainId(text)) {
      throw new UsageError(`${option} takes up to 64 letters, digits, dots, dashes and underscores`)
    }
  }
  return { shipment, number }
}

/** Reverts a settlement. */
export function reopen(handle: string): Promise<number> {
  return withExistingStore(async (store) => {
    const reopened = await takeBack(await claimOf(store, handle), { store, instance: operator() })
    changed(reopened, handle, 'only settled bookings can be reopened')
    print(`${handle} is unknown again.`)
    return 0
  })
}

function changed(result: SettlementResult, handle: string, rule: string): Claim {
  if (result.outcome === 'wrong-state') throw new CommandFailed(`${handle} is ${result.state}; ${rule}`)
  if (result.outcome === 'taken') throw new CommandFailed(`the booking ${result.by} already has this shipment`)
  return result.claim
}

async function claimOf(store: Store, handle: string): Promise<Claim> {
  const claim = await store.claimByHandle(handle)
  if (claim) return claim
  const last = (await store.audit(handle)).at(-1)
  if (!last) throw noBooking(handle)
  throw new CommandFailed(`${handle} has ended (${last.why}) and was booked again later; see "transload bookings list"`)
}

const noBooking = (handle: string) => new CommandFailed(`there is no booking ${handle}`)

/** Returns the user and host, for the audit trail. */
function operator(): string {
  let user = `uid ${process.getuid?.()}`
  try {
    user = userInfo().username
  } catch {
    // In a container, a user may have a number and no name.
  }
  return `operator ${user} on ${hostname()}`
}

/** Reads the shipment of a booking from the service; throws `CommandFailed` unless it clearly belongs to the booking. */
async function checkShipment(
  claim: Claim,
  { shipment, number }: BookedShipment,
  config: Config,
): Promise<BookedShipment> {
  const reply = await read(claim.tenant, shipment, config)
  if (reply.status === 404 || reply.status === 410) throw unconfirmed(`the service has no shipment ${shipment}`)
  const { id, body } = provenShipment(reply, shipmentWithId, shipment, `shipment ${shipment}`)
  if (isCanceled(body)) throw unconfirmed(`shipment ${shipment} is canceled; settle the booking as --not-booked`)
  const reference = (scalarText(body['external_id']) ?? '').trim()
  if (claim.reference !== '' && reference !== '' && reference !== claim.reference) {
    const shown = shownText(reference, FIELD_LIMIT)
    throw unconfirmed(`shipment ${shipment} has the reference ${shown}, but the booking has ${claim.reference}`)
  }
  const own = idAt(body, 'number')
  if (number !== undefined && own !== undefined && number !== own)
    throw unconfirmed(`shipment ${shipment} has the number ${own}, not ${number}`)
  return { shipment: id, number: number ?? own }
}

/** Throws unless the service answers that it knows no shipment by the reference of a booking. Says what it was asked, and what that proves. */
async function requireAbsent(claim: Claim, store: Store, config: Config): Promise<void> {
  const { tenant, reference, vin } = claim
  if (!isPlainId(reference)) {
    const why = reference === '' ? 'it has no reference' : 'its reference does not fit into a URL'
    throw unconfirmed(`the service cannot be asked for this booking, because ${why}`)
  }
  const reply = await read(tenant, reference, config)
  if (NOT_THERE.has(reply.status)) {
    printError(
      `The service was asked for ${reference} and answered ${reply.status}. That proves nothing: it may find shipments only by its own ids. Look for ${reference}${vin && ` and VIN ${vin}`} in its own list of shipments.`,
    )
    return
  }
  const { id, body } = provenShipment(reply, shipmentNamed, reference, reference)
  const shown = shownText(id, FIELD_LIMIT)
  const [other] = (await store.claimsOfShipment(tenant, id)).filter(({ handle }) => handle !== claim.handle)
  if (other) {
    const look = `look for VIN ${vin || '(none)'} in the service's own list of shipments, and settle with --unchecked`
    throw unconfirmed(`the service shows ${shown} under ${reference}, which ${other.handle} booked; ${look}`)
  }
  if (!isCanceled(body))
    throw unconfirmed(`the service has the shipment ${shown} under ${reference}; settle with --shipment-id ${shown}`)
  printError(`The service was asked for ${reference} and shows the shipment ${shown}, which is canceled.`)
}

/** Returns the shipment of a reply that is what was asked for; `what` names that. */
function provenShipment(reply: UpstreamReply, prove: typeof shipmentWithId, wanted: string, what: string) {
  if (!isSuccess(reply.status)) throw unconfirmed(`the service answered ${reply.status} for ${what}`)
  try {
    return prove(reply, wanted)
  } catch (error) {
    if (error instanceof GatewayError) throw unconfirmed(`the service answered with something other than ${what}`)
    throw error
  }
}

/** Statuses that a service may return for a reference that it does not know. */
const NOT_THERE = new Set([400, 404, 405, 410, 422])

/** Shows what is at stake, and asks; where nobody can answer, `--yes` has to. */
async function requireConfirmed(
  { handle, tenant, reference, vin, createdAt }: Claim,
  now: number,
  yes: boolean,
): Promise<void> {
  printError(
    `${handle}: tenant ${tenant}, reference ${reference || '-'}, VIN ${vin || '-'}, sent ${durationOf(now - createdAt)} ago.`,
    "If it is settled as not booked, the caller's next attempt is sent to the service. If the service made a shipment, this makes a second one.",
  )
  if (yes) return
  if (!process.stdin.isTTY)
    throw new CommandFailed('there is no terminal to confirm this; add --yes. Nothing was settled')
  const questions = createInterface({ input: process.stdin, output: process.stderr })
  const answer = await questions.question('Settle it as not booked? [y/N] ')
  questions.close()
  if (!/^y(es)?$/i.test(answer.trim())) throw new CommandFailed('nothing was settled')
}

function unconfirmed(reason: string): CommandFailed {
  return new CommandFailed(`${reason}. Nothing was settled; --unchecked settles without asking the service`)
}

async function read(tenant: string, shipment: string, config: Config): Promise<UpstreamReply> {
  const accounts = await ownAccounts(config)
  if (accounts.length === 0) {
    throw unconfirmed('in client mode the gateway has no credential of its own to ask the service with')
  }
  const own = accounts.find((account) => account.tenant === tenant)
  if (!own) throw unconfirmed(`the booking belongs to ${tenant}, for whom the configuration has no credential`)
  const { service, upstream } = openService(config)
  try {
    return await service.send(shipmentRead(shipment), sendingOf(own.open(upstream), config.UPSTREAM_TIMEOUT_MS))
  } catch (error) {
    if (error instanceof NoReply) throw unconfirmed(error.message)
    if (error instanceof GatewayError) throw unconfirmed(`the service cannot be asked: ${error.message}`)
    throw error
  } finally {
    await upstream.close()
  }
}
