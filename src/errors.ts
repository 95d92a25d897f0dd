import type { Problem } from './mapping/fields.ts'

/** Every way a call can end badly: its code, status and title. Match on the code. */
export const errorTable = {
  'path-unreadable': { status: 400, title: 'The path cannot be read' },
  'request-refused': { status: 400, title: 'The request is not one that this gateway takes' },
  'body-unreadable': { status: 400, title: 'The body cannot be read' },
  'credential-missing': { status: 401, title: 'No usable credential' },
  'login-refused': { status: 401, title: 'The service gives no token for the credential' },
  'path-unknown': { status: 404, title: 'Nothing is served here' },
  'number-unknown': { status: 404, title: 'The number is not known' },
  'method-wrong': { status: 405, title: 'The path does not take this method' },
  'several-matches': { status: 409, title: 'The number stands for several shipments' },
  'booking-conflict': { status: 409, title: 'Another booking holds this key' },
  'booking-under-way': { status: 409, title: 'The same booking is under way' },
  'shipment-changed': { status: 409, title: 'The shipment kept changing' },
  'body-too-large': { status: 413, title: 'The body is too large' },
  'too-many-fields': { status: 422, title: 'The body has too many fields' },
  'action-unknown': { status: 422, title: 'The ActionName is not known here' },
  'generations-mixed': { status: 422, title: 'The body mixes version 1 and version 2' },
  'number-missing': { status: 422, title: 'The call names nothing' },
  untranslatable: { status: 422, title: 'Some fields cannot be translated' },
  'too-many-calls': { status: 429, title: 'Too many calls' },
  'gateway-failed': { status: 500, title: 'The gateway failed' },
  'login-failed': { status: 502, title: 'The service gives no token now' },
  'service-refused': { status: 502, title: 'The service refused' },
  'service-failed': { status: 502, title: 'The service failed' },
  'service-unreachable': { status: 502, title: 'The service cannot be reached' },
  'service-unreadable': { status: 502, title: 'The reply of the service cannot be read' },
  'service-unavailable': { status: 503, title: 'The service is not available' },
  'outcome-unknown': { status: 503, title: 'The outcome of the booking is not known' },
  'circuit-open': { status: 503, title: 'The service keeps failing' },
  overloaded: { status: 503, title: 'The gateway is overloaded' },
  draining: { status: 503, title: 'The gateway is shutting down' },
  interrupted: { status: 503, title: 'The gateway was interrupted before it sent the call' },
  'store-down': { status: 503, title: 'The store is not available' },
  'service-silent': { status: 504, title: 'The service did not answer in time' },
} as const

/** The challenge of every 401 (RFC 7617): version-1 callers can send Basic authentication only. */
export const CHALLENGE = 'Basic realm="transload", charset="UTF-8"'

export type ErrorCode = keyof typeof errorTable

export interface ErrorDetails extends ErrorOptions {
  /** Only where the service's own status is handed on. */
  readonly status?: number
  /** What the service answered, where an answer of its is the cause. */
  readonly serviceStatus?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly problems?: readonly Problem[]
}

/** The one error that the gateway answers with; anything else that is thrown is a fault of the gateway. */
export class GatewayError extends Error {
  override readonly name = 'GatewayError'
  readonly code: ErrorCode
  readonly status: number
  readonly serviceStatus: number | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly problems: readonly Problem[]

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    const { status, serviceStatus, headers = {}, problems = [], ...options } = details
    super(message, options)
    this.code = code
    this.status = status ?? errorTable[code].status
    this.serviceStatus = serviceStatus
    this.headers = headers
    this.problems = problems
  }
}

const MESSAGE_LIMIT_CHARACTERS = 500

const CONTROL = /[\p{Cc}\p{Zl}\p{Zp}]+/gu

/** One line of plain text, free of control characters and never longer than old parsers take. */
export function oneLine(text: string): string {
  const line = text.replace(CONTROL, ' ').replace(/ {2,}/g, ' ').trim().toWellFormed()
  if (line.length <= MESSAGE_LIMIT_CHARACTERS) return line
  return `${line.slice(0, MESSAGE_LIMIT_CHARACTERS - 1).toWellFormed()}…`
}

/** Every problem at once: in whole sentences where they fit, else each field with its code. */
export function problemsInOneLine(problems: readonly Problem[]): string {
  const sentences = `${problems.map((problem) => problem.message).join('; ')}.`
  if (sentences.length <= MESSAGE_LIMIT_CHARACTERS) return oneLine(sentences)
  const names = problems.map((problem) => `${problem.field} (${problem.code})`)
  return oneLine(`${names.length} fields cannot be translated: ${names.join(', ')}.`)
}
