import type { IncomingMessage } from 'node:http'
import type { Call } from './call.ts'
import type { Caller, Credentials } from './credentials.ts'
import { GatewayError, problemsInOneLine } from './errors.ts'
import { type Found, find, type Named } from './find.ts'
import { handOver } from './hand-over.ts'
import { type IntakeDeps, takeIn, type Version1 } from './intake.ts'
import type { Endpoint } from './mapping/catalog.ts'
import type { Settings } from './mapping/declare.ts'
import type { Problem } from './mapping/fields.ts'
import { type Draft, valueAt } from './mapping/paths.ts'
import type { KnownFacts } from './mapping/request.ts'
import type { Perform } from './perform.ts'
import type { Sending, Service } from './service.ts'
import { vinKey, type Xref } from './xref.ts'

/** What the corridor needs; the same for every call. */
export interface LegacyDeps extends IntakeDeps {
  readonly settings: Settings
  readonly credentials: Credentials
  readonly service: Service
  readonly perform: Perform
  readonly xref: Xref
  readonly timeoutMs: number
}

/** An answer before it is written. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Buffer
}

/** The whole life of a `.php` call, in order. */
export async function legacy(
  incoming: IncomingMessage,
  endpoint: Endpoint,
  call: Call,
  deps: LegacyDeps,
): Promise<Answer> {
  const intake = await takeIn(incoming, endpoint, call, deps)
  const caller = deps.credentials.identify(incoming.headers)
  call.tenant = caller.tenant
  const sending: Sending = { caller, requestId: call.id, deadline: performance.now() + deps.timeoutMs }
  if (intake.generation === 2) return handOver(intake, endpoint, sending, deps.service)

  const { compiled, fields } = intake
  const found = await findMeant(intake, sending, deps)
  const quote = found ? quoteFacts(found) : await recall(intake, caller, deps.xref)
  const { body, problems } = compiled.request(fields, { settings: deps.settings, facts: quote?.facts })
  const all = [...unnamed(intake), ...problems]
  if (all.length > 0) throw new GatewayError('untranslatable', problemsInOneLine(all), { problems: all })

  const done = await deps.perform(
    { compiled, body: withoutName(intake, body, found?.by), found, vin: vinOf(intake) },
    sending,
  )

  const own = ownNumber(intake, found)
  const { reply, missing } = compiled.reply(done.body, { settings: deps.settings, own })
  if (missing.length > 0) {
    const message = `The service answered without ${missing.join(' and ')}, which the reply needs. Try again later.`
    throw new GatewayError('service-unreadable', message)
  }
  // A number that the caller is about to be given, or whose booking it is told of, has to resolve from now on.
  await keep(intake, caller, body, done.body, found, own ?? quote?.own, deps)
  return { status: 200, headers: idHeaders(intake, done.body), body: JSON.stringify(reply) }
}

async function findMeant(intake: Version1, sending: Sending, deps: LegacyDeps): Promise<Found | undefined> {
  const { finds } = intake.compiled.action
  const named = namedIn(intake)
  return finds && named && find(finds, named, sending, deps)
}

/** How the call names the thing it is about; undefined where it does not. */
export function namedIn(intake: Version1): Named | undefined {
  const { finds, service } = intake.compiled.action
  const names = namesIn(intake, finds?.by ?? [])
  if (names.length === 0) return undefined
  const manner = { newestWillDo: service.method === 'GET', changesVin: service.over === 'current' }
  return { names, vin: vinOf(intake), ...manner }
}

/** What is remembered of a quote. */
export interface Recalled {
  readonly facts: KnownFacts
  readonly own: string | undefined
}

/** The remembered quote that a field of the call may name. */
export async function recall(
  intake: Version1,
  { tenant }: Pick<Caller, 'tenant'>,
  xref: Xref,
): Promise<Recalled | undefined> {
  const { action } = intake.compiled
  if (action.finds) return undefined
  for (const [, name] of namesIn(intake, action.recalls ?? [])) {
    const quote = (await xref.known(tenant, name)).find(({ kind }) => kind === 'quote')
    if (!quote) continue
    const { own, facts } = await xref.memory(tenant, quote.id)
    return { facts: { ...facts, quote_id: quote.id }, own }
  }
  return undefined
}

/** The facts of the quote that was found. */
export function quoteFacts({ id, facts, own }: Found): Recalled {
  return { facts: { ...facts, quote_id: id }, own }
}

/** A call that has to name something and names nothing. */
export function unnamed(intake: Version1): readonly Problem[] {
  const { finds } = intake.compiled.action
  if (!finds || namesIn(intake, finds.by).length > 0) return []
  const field = finds.by[0] ?? ''
  return [{ field, code: 'required', message: `${finds.by.join(' or ')} is required to name the ${finds.kind}` }]
}

function namesIn(intake: Version1, fields: readonly string[]): readonly (readonly [field: string, value: string])[] {
  return fields.flatMap((field) => {
    const value = intake.sent(field)
    return value === undefined ? [] : [[field, value] as const]
  })
}

function vinOf(intake: Version1): string | undefined {
  const { finds, keeps } = intake.compiled.action
  const field = finds?.among ?? keeps?.with
  return field && intake.sent(field)
}

/** The caller's own number for the thing: of a quote the one it sent, of a shipment the one that is on record. */
export function ownNumber(intake: Version1, found: Found | undefined): string | undefined {
  const { finds } = intake.compiled.action
  return finds?.kind === 'shipment' ? found?.own : (intake.sent('ShipmentNumber') ?? found?.own)
}

/** A field that was needed to find the shipment is no change to it. */
export function withoutName(intake: Version1, body: Draft, by: string | undefined): Draft {
  const row = intake.compiled.action.request.find((candidate) => candidate.kind === 'move' && candidate.v1 === by)
  if (row?.kind !== 'move') return body
  const { [row.v2]: _, ...rest } = body
  return rest
}

async function keep(
  intake: Version1,
  { tenant }: Caller,
  body: Draft,
  reply: unknown,
  found: Found | undefined,
  own: string | undefined,
  { xref, settings }: LegacyDeps,
): Promise<void> {
  const { compiled, fields } = intake
  const { keeps, remember } = compiled.action
  if (!keeps) return
  const id = idAt(reply, keeps.id) ?? found?.id
  if (id === undefined || (keeps.kind === 'shipment' && id === found?.id)) return
  const names = [
    ...namesIn(intake, keeps.under).map(([, name]) => name),
    ...(keeps.also ?? []).flatMap((place) => idAt(reply, place) ?? []),
  ]
  const facts = remember && { ...found?.facts, ...compiled.remember(fields, body, settings).facts }
  const vin = keeps.with ? vinKey(intake.sent(keeps.with)) : ''
  await xref.keep(tenant, { kind: keeps.kind, id, names, vin, own, facts })
}

function idHeaders({ compiled }: Version1, reply: unknown): Record<string, string> {
  const { keeps } = compiled.action
  if (keeps?.kind !== 'shipment') return {}
  const id = idAt(reply, keeps.id)
  const number = idAt(reply, 'number')
  return {
    ...(id !== undefined && { 'Transload-Shipment-Id': headerSafe(id) }),
    ...(number !== undefined && { 'Transload-Shipment-Number': headerSafe(number) }),
  }
}

function idAt(reply: unknown, key: string): string | undefined {
  const value = valueAt(reply, [key])
  return (typeof value === 'string' && value !== '') || typeof value === 'number' ? String(value) : undefined
}

/** What the service calls a thing is not ours to trust in a header. */
function headerSafe(text: string): string {
  return text.replace(/[^\x21-\x7e]/g, encodeURIComponent)
}
