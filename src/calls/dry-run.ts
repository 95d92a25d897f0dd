import type { IncomingMessage } from 'node:http'
import { readBytes } from '../body/bytes.ts'
import { GatewayError } from '../errors.ts'
import { accountForReply, accountForRequest, type ReplyAccount, type Unused } from '../mapping/account.ts'
import type { Endpoint } from '../mapping/catalog.ts'
import type { CompiledAction } from '../mapping/compile.ts'
import type { Problem } from '../mapping/fields.ts'
import { leaves } from '../mapping/paths.ts'
import type { Explanation } from '../mapping/request.ts'
import type { Settings } from '../mapping/settings.ts'
import type { Call } from '../observe/call.ts'
import type { Address, Outgoing, Service } from '../service/service.ts'
import { findKnown, isId, pathSegment } from './find.ts'
import type { LegacyDeps } from './legacy.ts'
import { namedIn, ownNumber, quoteFacts, type Recalled, recall, unnamed, withoutName } from './names.ts'
import { classify, receive, type Version1, type Version2 } from './read-request.ts'
import { requestOf } from './send.ts'
import { handedOver } from './version-2-body.ts'

/** A request's translation, explained; nothing was sent. */
export interface DryRun {
  readonly action: string
  readonly ok: boolean
  readonly request: {
    readonly method: string
    readonly url: string
    readonly headers: Readonly<Record<string, string>>
    readonly body?: unknown
    /** What the body is laid over, where a call reads before it writes. */
    readonly over?: string
  }
  readonly fields: readonly Explanation[]
  readonly unused: readonly Unused[]
  readonly unknown: readonly string[]
  readonly problems: readonly Problem[]
  readonly reply: { readonly example: unknown; readonly v1: Readonly<Record<string, string>> }
  /** The same request for a shell. */
  readonly curl: string
}

/** What is known about the thing that a dry run is about. */
export interface Resolution {
  /** The id as it stands in the path, or words that stand for it. */
  readonly segment?: string
  /** The field that names the thing. */
  readonly by?: string
  readonly quote?: Recalled | undefined
  readonly own?: string | undefined
  readonly problems?: readonly Problem[]
}

/** Everything that a legacy path would do with this request, but for doing it. */
export async function dryRun(
  incoming: IncomingMessage,
  endpoint: Endpoint,
  call: Call,
  deps: LegacyDeps,
): Promise<DryRun> {
  const sent = await receive(incoming, call, deps.bodyLimitBytes)
  call.share.enter()
  const caller = await deps.credentials.verified(incoming)
  call.tenant = caller?.tenant
  const intake = classify(sent, endpoint, call, deps.catalog, caller?.profile.synonyms ?? {})
  const address = caller?.account ?? deps.address
  if (intake.generation === 2) return explainHandOver(intake, endpoint, deps.service, address)
  const resolution = caller ? await resolve(intake, caller.tenant, deps) : unresolved(intake)
  const settings = caller?.profile.settings ?? deps.settings
  return explain(intake, resolution, settings, deps.service, address)
}

/** A body that is version 2 already goes on as it is, leaf by leaf, and so does the reply. */
function explainHandOver(
  intake: Version2,
  endpoint: Endpoint,
  service: Pick<Service, 'outgoing'>,
  address: Address,
): DryRun {
  const { action, request } = handedOver(intake, endpoint)
  const outgoing = service.outgoing(request, address)
  const url = address.origin + address.prefix + outgoing.path
  const headers = shownHeaders(outgoing, address)
  const as = { rule: 'unchanged', origin: 'caller' } as const
  return {
    action: action.name,
    ok: true,
    request: { method: outgoing.method, url, headers, ...(outgoing.body !== undefined && { body: intake.body }) },
    fields: [...leaves(intake.body)].map(([path, value]) => ({
      to: path,
      from: [path],
      before: value,
      after: value,
      ...as,
    })),
    unused: [],
    unknown: [],
    problems: [],
    reply: { example: action.example.reply, v1: {} },
    curl: curl(outgoing.method, url, headers, outgoing.body),
  }
}

function shownHeaders({ headers }: Outgoing, { scheme }: Address): Readonly<Record<string, string>> {
  return { authorization: scheme === 'oauth2' ? 'Bearer ***' : 'Basic ***', ...headers }
}

/** Explains by the very rows, and the very writing of the request, that a call uses. */
export function explain(
  intake: Version1,
  resolution: Resolution,
  settings: Settings,
  service: Pick<Service, 'outgoing'>,
  address: Address,
): DryRun {
  const { compiled, fields } = intake
  const account = accountForRequest(compiled, fields, settings, resolution.quote?.facts)
  const body = withoutName(intake, account.body, resolution.by)
  const naming = (row: Explanation) => body !== account.body && row.from[0] === resolution.by
  const problems = [...(resolution.problems ?? []), ...unnamed(intake), ...account.problems]

  const request = requestOf(compiled, body, compiled.action.finds && STAND_IN)
  const outgoing = service.outgoing(request, address)
  const urlOf = (path: string) =>
    address.origin + address.prefix + path.replace(STAND_IN, () => resolution.segment ?? nameless(compiled))
  const url = urlOf(outgoing.path)
  const headers = shownHeaders(outgoing, address)
  const { example } = compiled.action
  return {
    action: compiled.action.name,
    ok: problems.length === 0,
    request: {
      method: outgoing.method,
      url,
      headers,
      ...(outgoing.body !== undefined && { body }),
      ...(compiled.action.service.mergeInto && { over: `GET ${url}` }),
    },
    fields: account.fields.filter((row) => !naming(row)),
    unused: [
      ...account.unused,
      ...account.fields
        .filter(naming)
        .map(({ from }) => ({ field: String(from[0]), why: 'names the thing: its id stands in the path' })),
    ],
    unknown: account.unknown,
    problems,
    reply: { example: example.reply, v1: compiled.reply(example.reply, { settings, own: resolution.own }).reply },
    curl: curl(outgoing.method, url, headers, outgoing.body),
  }
}

/** Stands for the id while the request is written: no character of it changes in a path. */
const STAND_IN = '00000000-id-0000'

const nameless = ({ action }: CompiledAction) => `{${action.finds?.kind}_id}`

/** Without a verified caller nobody's numbers are looked up: the id is shown by what names it, unless that is an id. */
export function unresolved(intake: Version1): Resolution {
  const names = namedIn(intake)?.names ?? []
  const itself = names.find(([, value]) => isId(value))
  if (itself) return { by: itself[0], segment: itself[1], own: intake.sent('ShipmentNumber') }
  const [first] = names
  if (!first) return { own: intake.sent('ShipmentNumber') }
  const [by, value] = first
  const kind = intake.compiled.action.finds?.kind
  return { by, segment: `{${kind}_id of ${value}}`, own: intake.sent('ShipmentNumber') }
}

async function resolve(intake: Version1, tenant: string, { xref }: LegacyDeps): Promise<Resolution> {
  const { finds } = intake.compiled.action
  const named = namedIn(intake)
  if (!finds || !named) {
    return { quote: await recall(intake, { tenant }, xref), own: ownNumber(intake, undefined) }
  }
  try {
    const found = await findKnown(finds, named, tenant, xref, async () => undefined)
    if (!found) return unresolved(intake)
    return { segment: pathSegment(found.id), by: found.by, quote: quoteFacts(found), own: ownNumber(intake, found) }
  } catch (error) {
    if (!(error instanceof GatewayError) || error.code !== 'several-matches') throw error
    const [field = ''] = named.names[0] ?? []
    return { ...unresolved(intake), problems: [{ field, code: error.code, message: error.message }] }
  }
}

/** A reply's translation, explained. */
export interface ReplyDryRun extends Pick<ReplyAccount, 'fields' | 'unused' | 'unknown'> {
  readonly action: string
  readonly ok: boolean
  readonly problems: readonly Problem[]
  readonly reply: { readonly v2: unknown; readonly v1: Readonly<Record<string, string>> }
}

/** Reads a version-2 reply and explains its version-1 form. */
export async function dryRunReply(
  incoming: IncomingMessage,
  compiled: CompiledAction,
  call: Call,
  deps: LegacyDeps,
): Promise<ReplyDryRun> {
  const bytes = await readBytes(incoming, deps.bodyLimitBytes, call.share)
  call.share.enter()
  let body: unknown
  try {
    body = JSON.parse(bytes.toString('utf8'))
  } catch (cause) {
    throw new GatewayError('body-unreadable', 'The body is not JSON. Send a reply of version 2.', { cause })
  }
  return explainReply(compiled, body, deps.settings)
}

/** Explains a reply by the very rows that a call uses. */
function explainReply(compiled: CompiledAction, body: unknown, settings: Settings): ReplyDryRun {
  const { reply, missing, ...account } = accountForReply(compiled, body, settings, undefined)
  const problems = missing.map((field) => ({ field, code: 'required', message: `${field} is missing from the reply` }))
  return {
    action: compiled.action.name,
    ok: missing.length === 0,
    reply: { v2: body, v1: reply },
    ...account,
    problems,
  }
}

function curl(
  method: string,
  url: string,
  headers: Readonly<Record<string, string>>,
  body: string | undefined,
): string {
  const words = ['curl', '--request', method, quoted(url)]
  for (const [name, value] of Object.entries(headers)) words.push('--header', quoted(`${name}: ${value}`))
  if (body !== undefined) words.push('--data-raw', quoted(body))
  return words.join(' ')
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`
}
