import type { Problem } from './mapping/fields.ts'
import { type MessageName, type MessageValues, messageText } from './messages.ts'
import { MESSAGE_LIMIT } from './text/service-text.ts'

/** The effect of the call: whether it booked or changed something. */
type Effect = 'no' | 'unknown' | 'already' | 'in progress'

/** The time at which the same call can be sent again: now, after a wait, after a correction, or not at all. */
type Again = 'yes' | 'later' | 'corrected' | 'no'

/**
 * The meaning of an error for its caller: whether anything was booked or changed, whether it is safe to send the call again, and the next
 * step.
 */
type Advice = readonly [done: Effect, again: Again, todo: string]

const CREDENTIAL: Advice = ['no', 'corrected', 'Check the credential.']
const REQUEST: Advice = ['no', 'corrected', 'Correct the request.']
const WAIT: Advice = ['no', 'later', 'Wait for `Retry-After`.']
const AGAIN: Advice = ['unknown', 'yes', 'Send it again.']
const SUPPORT: Advice = ['no', 'no', 'Contact support.']
const READ_FIRST: Advice = ['unknown', 'no', 'Read the record first.']

function row(status: number, title: string, advice: Advice) {
  return { status, title, advice }
}

/** The table of errors: status, title and advice by code. Programs match the code, never a message. */
export const errorTable = {
  'path-unreadable': row(400, 'Malformed path', REQUEST),
  'body-unreadable': row(400, 'The body cannot be read', REQUEST),
  'event-unreadable': row(400, 'The event cannot be read', REQUEST),
  'caller-gone': row(400, 'The caller closed the connection', ['no', 'yes', 'Keep the connection open.']),
  'credential-missing': row(401, 'No usable credential', CREDENTIAL),
  'credential-wrong': row(401, 'Wrong credential', CREDENTIAL),
  'login-refused': row(401, 'The service rejected the credential', CREDENTIAL),
  'signature-wrong': row(403, 'Missing or invalid signature', ['no', 'corrected', 'Sign the event.']),
  'token-not-given': row(403, 'The gateway issues no tokens', ['no', 'corrected', 'Call without a token.']),
  'origin-foreign': row(403, "A call from another site's page", ['no', 'corrected', 'Operator: set `ALLOWED_HOSTS`.']),
  'host-unknown': row(403, 'Unknown host name', ['no', 'corrected', 'Operator: set `ALLOWED_HOSTS`.']),
  'path-unknown': row(404, 'Unknown path', REQUEST),
  'number-unknown': row(404, 'Unknown number', ['no', 'corrected', 'Check the number and VIN.']),
  'method-wrong': row(405, 'Wrong method', REQUEST),
  'numbers-disagree': row(409, 'The fields name different things', ['no', 'corrected', 'Send one number.']),
  'several-matches': row(409, 'The number names several shipments', ['no', 'corrected', 'Add or correct `VinNo`.']),
  'booking-conflict': row(409, 'The reference belongs to another booking', ['already', 'no', 'Update the shipment.']),
  'booking-under-way': row(409, 'The booking is in progress', ['in progress', 'yes', 'Send it again.']),
  'shipment-changed': row(409, 'The shipment kept changing', ['no', 'yes', 'Send it again.']),
  retired: row(410, 'Version 1 has ended', ['no', 'no', 'Move to version 2.']),
  'body-too-large': row(413, 'The body is too large', REQUEST),
  'too-many-fields': row(422, 'The body has too many fields', REQUEST),
  'action-unknown': row(422, 'Unknown ActionName', REQUEST),
  'generations-mixed': row(422, 'The body mixes version 1 and version 2', REQUEST),
  'number-missing': row(422, 'The call names no shipment', REQUEST),
  untranslatable: row(422, 'Some fields cannot be translated', REQUEST),
  'too-many-calls': row(429, 'Too many calls', WAIT),
  'gateway-failed': row(500, 'The gateway failed', ['unknown', 'no', 'Contact support with `X-Request-Id`.']),
  'login-failed': row(502, 'The service issued no token', ['no', 'later', 'Try again later.']),
  'service-refused': row(502, 'The service rejected the request', REQUEST),
  'service-failed': row(502, 'The service failed', AGAIN),
  'service-unreachable': row(502, 'The service cannot be reached', ['no', 'later', 'Try again later.']),
  'reply-doubtful': row(502, "The service's reply does not match the request", ['no', 'later', 'Try again later.']),
  'service-unreadable': row(502, "The service's reply cannot be read", ['no', 'later', 'Try again later.']),
  'service-unavailable': row(503, 'The service is unavailable', WAIT),
  'outcome-unknown': row(503, "The booking's outcome is not known", ['unknown', 'no', 'Contact support with the key.']),
  brownout: row(503, 'Version 1 is temporarily switched off', ['no', 'later', 'Move to version 2.']),
  'circuit-open': row(503, 'The service is failing', WAIT),
  overloaded: row(503, 'The gateway is overloaded', WAIT),
  draining: row(503, 'The gateway is shutting down', WAIT),
  interrupted: row(503, 'The gateway was interrupted before it sent the request', ['no', 'yes', 'Send it again.']),
  'store-down': row(503, 'The store is unavailable', [
    'unknown',
    'later',
    'Bookings: wait for `Retry-After`. Approvals: read the shipment first.',
  ]),
  'service-silent': row(504, 'The service did not answer in time', ['no', 'later', 'Try again later.']),
}

export type ErrorCode = keyof typeof errorTable

/** Messages whose meaning differs from their code's. */
const messageAdvice: Readonly<Partial<Record<MessageName, Advice>>> = {
  'booking-conflict/under-way': ['in progress', 'later', 'Wait for its result.'],
  'booking-conflict/vin': ['already', 'corrected', 'Check the VIN.'],
  'booking-under-way/approval': ['no', 'yes', 'Send it again.'],
  'booking-under-way/quote': ['no', 'later', 'Send it again later.'],
  'too-many-calls/secrets': CREDENTIAL,
  'service-refused/not-served': SUPPORT,
  'service-refused/401': CREDENTIAL,
  'service-refused/403': ['no', 'no', 'Ask the service for access.'],
  'service-refused/404': ['no', 'corrected', 'Check the number and VIN.'],
  'service-refused/429': WAIT,
  'service-refused/canceled': ['no', 'no', 'Get a new quote.'],
  'service-failed/lost': ['no', 'yes', 'Send it again.'],
  'service-failed/perhaps-done': READ_FIRST,
  'service-unreadable/json-change': AGAIN,
  'service-unreadable/size': SUPPORT,
  'service-unreadable/size-change': ['unknown', 'no', 'Contact support.'],
  'service-unreadable/size-perhaps-done': READ_FIRST,
  'reply-doubtful/change': AGAIN,
  'reply-doubtful/cancellation': AGAIN,
  'reply-doubtful/part': SUPPORT,
  'reply-doubtful/accepted': READ_FIRST,
  'service-unavailable/approved-part': SUPPORT,
  'outcome-unknown/under-way': ['in progress', 'yes', 'Send it again.'],
  'outcome-unknown/vehicle': ['no', 'later', 'Contact support with the key.'],
  'outcome-unknown/approved': ['already', 'yes', 'Send the same booking again.'],
  'service-silent/change': AGAIN,
  'service-silent/perhaps-done': READ_FIRST,
}

/** Returns an error's title: a missing page or verdict is not a caller's wrong path. */
export const titleOf = ({ code, about }: Pick<GatewayError, 'code' | 'about'>): string =>
  about === 'path-unknown/check' ? 'Nothing was checked' : errorTable[code].title

/** Returns a message's anchor in the reference of errors. */
export const anchorOf = (name: string): string => name.replace('/', '-')

/** Returns what a message means to its caller, as `docs/wire.md` and the reference show it. */
export function adviceFor(name: MessageName): Advice {
  const [code = name] = name.split('/')
  // As in `gatewayError`.
  return messageAdvice[name] ?? errorTable[code as ErrorCode].advice
}

/** The gateway's own errors. A brownout and the end of version 1 are the operator's decision. */
const OWN_FAULTS: ReadonlySet<string> = new Set<ErrorCode>([
  'gateway-failed',
  'overloaded',
  'draining',
  'interrupted',
  'store-down',
])

/** Returns who is at fault for an error. A code that is not in the table is a status of the service: `service-404`. */
export function faultOf(code: string): 'caller' | 'gateway' | 'service' | 'nobody' {
  if (code === '' || code === 'brownout' || code === 'retired') return 'nobody'
  if (OWN_FAULTS.has(code)) return 'gateway'
  const status = Object.hasOwn(errorTable, code) ? errorTable[code as ErrorCode].status : Number(code.split('-').at(-1))
  return status >= 400 && status < 500 ? 'caller' : 'service'
}

/** The challenge of every 401 (RFC 7617): version-1 callers can only send Basic authentication. */
export const CHALLENGE = { headers: { 'WWW-Authenticate': 'Basic realm="transload", charset="UTF-8"' } } as const

interface ErrorDetails extends ErrorOptions {
  /** The name of the message. @default the code */
  readonly about?: string
  /** The service's own status, if that is passed on instead of the table's. */
  readonly status?: number
  /** The status of the service's reply, if that is the cause. */
  readonly serviceStatus?: number | undefined
  readonly headers?: Readonly<Record<string, string>>
  readonly problems?: readonly Problem[]
  /**
   * True if the service may have made a booking.
   * @default only for `outcome-unknown`
   */
  readonly mayHaveBooked?: boolean
}

/** An error that the caller gets as an answer. Anything else that is thrown is the gateway's fault. */
export class GatewayError extends Error {
  override readonly name = 'GatewayError'
  readonly code: ErrorCode
  /** The name of the message, which leads to its explanation. */
  readonly about: string
  readonly status: number
  readonly serviceStatus: number | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly problems: readonly Problem[]
  readonly mayHaveBooked: boolean

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    const { about = code, status, serviceStatus, headers = {}, problems = [], mayHaveBooked, ...options } = details
    super(message, options)
    this.code = code
    this.about = about
    this.status = status ?? errorTable[code].status
    this.serviceStatus = serviceStatus
    this.headers = headers
    this.problems = problems
    this.mayHaveBooked = mayHaveBooked ?? code === 'outcome-unknown'
  }
}

/** Details of an error that will pass in this many seconds, or at this time. */
export const retryAfter = (time: number | string) => ({ headers: { 'Retry-After': String(time) } })

export const RETRY_SOON = retryAfter(5)

/** Makes an error with a message from the table. */
export function gatewayError<Name extends MessageName>(
  name: Name,
  values: MessageValues<Name>,
  details: ErrorDetails = {},
): GatewayError {
  const [code = name] = name.split('/')
  // The part of a name before the slash is a code, as the type of `messages` requires.
  return new GatewayError(code as ErrorCode, messageText(name, values), { about: name, ...details })
}

/** Returns an error that says that the service may have made the booking, for this call or an earlier one. */
export function perhapsBooked(error: GatewayError): GatewayError {
  const { code, about, message, status, serviceStatus, headers, problems } = error
  return new GatewayError(code, message, {
    about,
    status,
    serviceStatus,
    headers,
    problems,
    cause: error,
    mayHaveBooked: true,
  })
}

/** Makes the error of a call with fields that cannot be translated, or of an update that asks for no change. */
export const untranslatable = (problems: readonly Problem[]): GatewayError =>
  problems.every(asksForNothing)
    ? gatewayError('untranslatable/blank', { problems: listed(problems.map(({ message }) => message)) }, { problems })
    : gatewayError('untranslatable', { problems: problemsInOneLine(problems) }, { problems })

/** The codes of problems that only say why a field changes nothing. */
const NOTHING_ASKED = new Set(['unknown', 'blank', 'unchangeable', 'nothing'])

/** Reports whether a problem only says why a field of an update changes nothing. */
export const asksForNothing = ({ code }: Problem): boolean => NOTHING_ASKED.has(code)

/** `A`, `A, and B`, `A, B, and C`. */
function listed(texts: readonly string[]): string {
  const all = [...new Set(texts)]
  return all.length < 2 ? all.join('') : `${all.slice(0, -1).join(', ')}, and ${all.at(-1)}`
}

/** Returns all problems in one line: as sentences if they fit, otherwise each field with its code, or the fields alone. */
function problemsInOneLine(problems: readonly Problem[]): string {
  const sentences = `${[...new Set(problems.map((problem) => problem.message))].join('; ')}.`
  if (sentences.length <= MESSAGE_LIMIT) return sentences
  const list = (names: readonly string[]) => `${problems.length} fields cannot be translated: ${names.join(', ')}.`
  const coded = list(problems.map(({ field, code }) => `${field} (${code})`))
  return coded.length <= MESSAGE_LIMIT ? coded : list(problems.map(({ field }) => field))
}
