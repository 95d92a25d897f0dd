import { randomUUID } from 'node:crypto'
import { hostname, userInfo } from 'node:os'
import { createInterface } from 'node:readline/promises'
import { loadMappings } from '../../../mappings/load.ts'
import { type Config, readConfig } from '../../language/config/config.ts'
import { translationSettings } from '../../language/config/translation-settings.ts'
import { GatewayError } from '../../language/errors.ts'
import { scalarText } from '../../language/text/json.ts'
import { FIELD_LIMIT, isPlainId, shownText } from '../../language/text/service-text.ts'
import { isSuccess, NoReply, type UpstreamReply } from '../../outside/service/exchange.ts'
import { idAt, isCanceled, shipmentNamed, shipmentWithId } from '../../outside/service/proofs.ts'
import { createService } from '../../outside/service/service.ts'
import { openUpstream } from '../../outside/service/upstream.ts'
import { LIST_LIMIT, toldBy } from '../../outside/store/claim.ts'
import type { AuditEntry, Claim, ClaimState, Store } from '../../outside/store/store.ts'
import { publicView } from '../../state/bookings/bookings.ts'
import {
  type BookedShipment,
  type HealedBy,
  healedBy,
  type Settlement,
  type SettlementResult,
  settle as settleClaim,
  reopen as takeBack,
} from '../../state/bookings/settlement.ts'
import { durationOf, STATES, sentenceOf, stateOf } from '../words.ts'
import { ownAccounts } from './accounts.ts'
import { CommandFailed, UsageError } from './failures.ts'
import { timeOf, withExistingStore, withoutService } from './open-store.ts'
import { aligned, print, printError, printJson } from './output.ts'

interface ListOptions {
  readonly state?: ClaimState
  readonly tenant?: string
  readonly reference?: string
  readonly since?: string
  readonly after?: string
  readonly limit?: number
  readonly json?: boolean
}

const COLUMNS = ['key', 'state', 'created', 'tenant', 'reference', 'vin', 'shipment'] as const

/** Lists bookings, the oldest first. */
export function list({ json = false, limit = LIST_LIMIT, ...options }: ListOptions): Promise<number> {
  const { state, tenant, reference } = options
  const since = timeOf('--since', options.since, 'past')
  return withExistingStore(async (store) => {
    const after = options.after === undefined ? undefined : await claimOf(store, options.after)
    const filter = { state, tenant, since }
    const claims =
      reference === undefined
        ? await store.listClaims({ ...filter, after, limit: limit + 1 })
        : (await store.claimsNamed(reference, LIST_LIMIT)).filter(
            (claim) =>
              (state === undefined || claim.state === state) &&
              (tenant === undefined || claim.tenant === tenant) &&
              (since === undefined || claim.createdAt >= since),
          )
    const shown = claims.slice(0, limit)
    const rows: (readonly string[])[] = []
    for (const claim of shown) {
      const healed = await howHealed(store, claim)
      const view = { ...publicView(claim), ...(healed && { healed }) }
      if (json) printJson(view)
      else rows.push([...COLUMNS.map((name) => view[name] || '-'), ...(healed ? [`healed: ${healed}`] : [])])
    }
    if (!json && rows.length > 0) print(...aligned([COLUMNS.map((name) => name.toUpperCase()), ...rows]))
    if (!json) printError(`${shown.length} ${shown.length === 1 ? 'booking' : 'bookings'}`)
    const last = shown.at(-1)
    if (last && claims.length > shown.length)
      printError(
        reference === undefined ? `There are more: --after ${last.handle}` : 'There are more: --limit shows them',
      )
    return 0
  })
}

/** Returns how the gateway found the shipment of a booking that was unknown; undefined for any other booking. */
async function howHealed(store: Store, { state, handle }: Claim): Promise<HealedBy | undefined> {
  return state === 'booked' ? healedBy(await store.audit(handle)) : undefined
}

/** Shows a booking with its audit trail. */
export function show(handle: string, { json = false }: { readonly json?: boolean }): Promise<number> {
  return withExistingStore(async (store) => {
    const trail = await store.audit(handle)
    const claim = await store.claimByHandle(handle)
    if (!claim && trail.length === 0) throw noBooking(handle)
    const healed = claim && (await howHealed(store, claim))
    // The row of a key that was free belongs to the later booking; only the audit trail remains of the earlier one.
    const view = claim
      ? { ...publicView(claim), ...(healed && { healed }) }
      : { key: handle, state: trail.at(-1)?.to, superseded: true }
    if (json)
      printJson({ ...view, audit: trail.map((entry) => ({ ...entry, at: new Date(entry.at).toISOString() })) }, 2)
    else print(...cardOf(handle, claim, trail, store.now()))
    return 0
  })
}

/** Returns a booking for people: what it is, what became of it, and what to do. */
function cardOf(
  handle: string,
  claim: Claim | undefined,
  trail: readonly AuditEntry[],
  now: number,
): readonly string[] {
  const last = trail.at(-1)
  const state = claim?.state ?? last?.to ?? 'freed'
  const isOpen = state === 'unknown' || state === 'sending'
  const title = [
    handle,
    (claim ? stateOf(claim) : STATES[state]).toLowerCase(),
    ...(claim && isOpen ? [durationOf(now - claim.createdAt)] : []),
    ...(claim ? [] : ['the same was booked again later']),
  ].join(' · ')
  const { tenant = '', reference, vin, shipment } = claim ?? {}
  const { year, make, model } = claim ? toldBy(claim) : {}
  const vehicle = [year, make, model].filter(Boolean).join(' ')
  const facts = Object.entries({
    Tenant: tenant,
    Reference: reference,
    VIN: vin,
    Vehicle: vehicle,
    Shipment: shipment,
  }).flatMap(([name, value]) => (value ? [[name, value]] : []))
  const settle = `transload bookings settle ${handle}`
  const choices = [
    '',
    "If the service has the shipment, the caller's next attempt gets it as its answer:",
    `  ${settle} --shipment-id ID`,
    "If the service has none, the caller's next attempt is sent to it:",
    `  ${settle} --not-booked`,
  ]
  return [
    title,
    '',
    ...(claim ? [...aligned(facts), ''] : []),
    ...aligned(trail.map(({ at, instance, ...entry }) => [secondOf(at), sentenceOf(entry), `(${instance})`])),
    ...(claim && state === 'unknown' ? choices : []),
  ]
}

/** Writes a time to the second. */
const secondOf = (at: number): string => `${new Date(at).toISOString().slice(0, 'yyyy-mm-ddThh:mm:ss'.length)}Z`

interface SettleOptions {
  readonly shipmentId?: string
  readonly number?: string
  readonly notBooked?: boolean
  readonly unchecked?: boolean
  readonly yes?: boolean
}

/** Records the outcome of an unknown booking, of whose shipment the service is asked first. */
export function settle(handle: string, { unchecked = false, yes = false, ...options }: SettleOptions): Promise<number> {
  const settlement = settlementOf(options)
  return withExistingStore(async (store) => {
    const claim = await claimOf(store, handle)
    const isChecked = !unchecked && claim.state === 'unknown'
    const config = readConfig(isChecked ? process.env : withoutService())
    if (settlement === 'not-booked' && claim.state === 'unknown') {
      if (isChecked) await requireAbsent(claim, config)
      await requireConfirmed(claim, store.now(), yes)
    }
    const isOfShipment = settlement !== 'not-booked' && isChecked
    const settled = await settleClaim(
      claim,
      isOfShipment ? await checkShipment(claim, settlement, config) : settlement,
      {
        store,
        catalog: await loadMappings(config.MAPPINGS_DIR, config.LOOKUPS_FILE),
        settings: translationSettings(config),
        instance: operator(),
      },
    )
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
    `${handle} is over (${last.why}), and the same was booked again later; see "transload bookings list"`,
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

/**
 * Reads the shipment of a booking from the service; throws `CommandFailed` unless it clearly belongs to the booking.
 */
async function checkShipment(
  claim: Claim,
  { shipment, number }: BookedShipment,
  config: Config,
): Promise<BookedShipment> {
  const reply = await read(claim.tenant, shipment, config)
  if (reply.status === 404 || reply.status === 410) throw unconfirmed(`the service knows no shipment ${shipment}`)
  if (!isSuccess(reply.status)) throw unconfirmed(`the service answers ${reply.status} for shipment ${shipment}`)
  const found = identityIn(reply, shipment)
  if (!found) throw unconfirmed(`the service answers something else than shipment ${shipment}`)
  if (found.isCanceled) throw unconfirmed(`shipment ${shipment} is canceled; settle the booking as --not-booked`)
  if (claim.reference !== '' && found.reference !== '' && found.reference !== claim.reference) {
    throw unconfirmed(`shipment ${shipment} has the reference ${found.reference}, and the booking ${claim.reference}`)
  }
  if (number !== undefined && found.number !== undefined && number !== found.number) {
    throw unconfirmed(`shipment ${shipment} has the number ${found.number}, not ${number}`)
  }
  return { shipment: found.id, number: number ?? found.number }
}

/** Throws unless the service answers that it knows no shipment by the reference of a booking. */
async function requireAbsent({ tenant, reference }: Claim, config: Config): Promise<void> {
  if (!isPlainId(reference)) {
    throw unconfirmed('the service cannot be asked for this booking: it has no reference that fits into an address')
  }
  const reply = await read(tenant, reference, config)
  if (NOT_THERE.has(reply.status)) return
  if (!isSuccess(reply.status)) throw unconfirmed(`the service answers ${reply.status} for ${reference}`)
  let found: ReturnType<typeof shipmentNamed>
  try {
    found = shipmentNamed(reply, reference)
  } catch (error) {
    if (error instanceof GatewayError) throw unconfirmed(`the service answers something else than ${reference}`)
    throw error
  }
  const id = shownText(found.id, FIELD_LIMIT)
  if (!isCanceled(found.body)) {
    throw unconfirmed(`the service has the shipment ${id} under ${reference}; settle with --shipment-id ${id}`)
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
    "If it is settled as not booked, the caller's next attempt is sent to the service. If the service made a shipment, that is a second one.",
  )
  if (yes) return
  if (!process.stdin.isTTY)
    throw new CommandFailed('there is no terminal to confirm this; add --yes. Nothing is settled')
  const questions = createInterface({ input: process.stdin, output: process.stderr })
  const answer = await questions.question('Settle it as not booked? [y/N] ')
  questions.close()
  if (!/^y(es)?$/i.test(answer.trim())) throw new CommandFailed('nothing is settled')
}

function unconfirmed(reason: string): CommandFailed {
  return new CommandFailed(`${reason}. Nothing is settled; --unchecked settles without asking the service`)
}

async function read(tenant: string, shipment: string, config: Config): Promise<UpstreamReply> {
  const accounts = await ownAccounts(config)
  if (accounts.length === 0) {
    throw unconfirmed('in client mode the gateway has no credential of its own to ask the service with')
  }
  const own = accounts.find((account) => account.tenant === tenant)
  if (!own) throw unconfirmed(`the booking belongs to ${tenant}, for whom the configuration has no credential`)
  const upstream = openUpstream(config)
  try {
    return await createService(config, upstream).send(
      { method: 'GET', path: `/v2/shipments/${encodeURIComponent(shipment)}`, namesAnId: true },
      {
        account: own.open(upstream, own.scheme),
        requestId: randomUUID(),
        deadline: performance.now() + config.UPSTREAM_TIMEOUT_MS,
      },
    )
  } catch (error) {
    if (error instanceof NoReply) throw unconfirmed(`the service does not answer (${error.silence})`)
    if (error instanceof GatewayError) throw unconfirmed(`the service cannot be asked: ${error.message}`)
    throw error
  } finally {
    await upstream.close()
  }
}

/** Returns the identifying fields of a reply; undefined if the reply is not the shipment with this id. */
function identityIn(reply: UpstreamReply, wanted: string) {
  try {
    const { id, body } = shipmentWithId(reply, wanted)
    const reference = shownText(scalarText(body['external_id']) ?? '', FIELD_LIMIT)
    return { id, number: idAt(body, 'number'), isCanceled: isCanceled(body), reference }
  } catch (error) {
    if (error instanceof GatewayError) return undefined
    throw error
  }
}
