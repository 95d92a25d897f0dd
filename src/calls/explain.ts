import type { Unused } from '../mapping/explain.ts'
import { meantField, type Problem } from '../mapping/fields.ts'
import { leaves } from '../mapping/paths.ts'
import type { Explanation } from '../mapping/request-run.ts'
import type { Address, Outgoing, Service } from '../service/service.ts'
import { accountOf, type Plan, type Version2Plan } from './plan.ts'

/** A request's translation, explained; nothing was sent. */
export interface DryRun {
  readonly action: string
  readonly ok: boolean
  readonly request: {
    readonly method: string
    readonly url: string
    readonly headers: Readonly<Record<string, string>>
    readonly body?: unknown
    /** The read whose result the body is merged into (`mergeInto` in a declaration). */
    readonly over?: string
  }
  readonly fields: readonly Explanation[]
  readonly unused: readonly Unused[]
  readonly unknown: readonly string[]
  /** The documented fields that unknown names may mean. */
  readonly didYouMean?: Readonly<Record<string, string>>
  /** The facts that a later booking gets, such as the parts of `BillToContact`. */
  readonly remembered?: readonly Explanation[]
  readonly problems: readonly Problem[]
  readonly reply: { readonly example: unknown; readonly v1: Readonly<Record<string, string>> }
  /** The same request as a line for a shell. */
  readonly curl: string
}

/** The service that writes the request, and its address. */
export interface Destination {
  readonly service: Pick<Service, 'outgoing'>
  readonly address: Address
}

/** Explains the plan of a version-1 call. */
export function explainPlan(plan: Plan, to: Destination): DryRun {
  const { request, toService, body, problems, settings, own } = plan
  const { action } = request.compiled
  const { fields, unused, unknown, remembered } = accountOf(plan)
  const meant = unknown.flatMap((name) => {
    const field = meantField(name, request.compiled.fields.names)
    return field === undefined ? [] : [[name, field] as const]
  })
  const written = write(to.service.outgoing(toService, to.address), to.address)
  const { example } = action
  return {
    action: action.name,
    ok: problems.length === 0,
    request: {
      ...written.request,
      ...(written.hasBody && { body }),
      ...(action.service.mergeInto && { over: `GET ${written.request.url}` }),
    },
    fields,
    unused,
    unknown,
    ...(meant.length > 0 && { didYouMean: Object.fromEntries(meant) }),
    ...(remembered.length > 0 && { remembered }),
    problems,
    reply: { example: example.reply, v1: request.compiled.reply(example.reply, { settings, own }).reply },
    curl: written.curl,
  }
}

/** Explains the plan of a version-2 body, leaf by leaf; body and reply pass unchanged. */
export function explainVersion2({ action, parse, toService }: Version2Plan, to: Destination): DryRun {
  const body = parse()
  const written = write(to.service.outgoing(toService, to.address), to.address)
  return {
    action: action.name,
    ok: true,
    request: { ...written.request, ...(written.hasBody && { body }) },
    fields: [...leaves(body)].map(([path, value]) => ({
      to: path,
      from: [path],
      before: value,
      after: value,
      rule: 'unchanged',
      keeps: 'exact',
      origin: 'caller',
    })),
    unused: [],
    unknown: [],
    problems: [],
    reply: { example: action.example.reply, v1: {} },
    curl: written.curl,
  }
}

/** Shows a request as it would go out, with its credential hidden. */
function write(outgoing: Outgoing, { origin, prefix, scheme }: Address) {
  const { method, path, body } = outgoing
  const url = origin + prefix + path
  const headers = { authorization: scheme === 'oauth2' ? 'Bearer ***' : 'Basic ***', ...outgoing.headers }
  return { request: { method, url, headers }, hasBody: body !== undefined, curl: curl(method, url, headers, body) }
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

/** Quotes a word for a shell. */
function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`
}
