import type { Answer } from '../answer.ts'
import { commonDeprecation, type DeprecationConfig } from '../callers/caller.ts'
import type { Config } from '../config/config.ts'
import { GatewayError, oneLine } from '../errors.ts'
import type { Catalog, Endpoint } from '../mapping/catalog.ts'
import type { Call } from '../observe/call.ts'
import { problemDetails, refusalDetails } from './problem-details.ts'
import type { AnswerRefusal, Refusal } from './refusals.ts'
import { type Router, WEBHOOK_ROUTE } from './routing.ts'

/** The facts of a call that decide the shape of its error, as far as they are known. */
type ErrorPlace = Pick<Call, 'route' | 'own'> &
  Partial<Pick<Call, 'errorStatus' | 'legacyHeaders'>> & {
    /** The target of the request, as it was sent. */
    readonly target: string
  }

/** Returns an error in the shape that callers of its path read: on legacy paths, and on unknown ones, that of version 1. */
export type AnswerError = (error: GatewayError | Refusal, place: ErrorPlace) => Answer

/** Makes the answers to all errors of the public listener. */
export function createErrorAnswers(
  config: DeprecationConfig & Pick<Config, 'ERROR_STATUS'>,
  catalog: Catalog,
): AnswerError {
  const shapes = new Map([...catalog.endpoints.values()].map((one) => [`/legacy${one.path}`, errorShape(one)]))
  const { headers: deprecation } = commonDeprecation(config)
  return (error, { route, target, own, errorStatus = config.ERROR_STATUS, legacyHeaders = deprecation }) => {
    const shape = shapes.get(route)
    if (shape) {
      const { status, headers, body } = legacyError(error, shape, own)
      return { status: errorStatus === 'ok' ? OK : status, headers: { ...legacyHeaders, ...headers }, body }
    }
    if (!isOwn(error, route, target)) return legacyError(error, 'booking', '')
    return error instanceof GatewayError ? problemDetails(error) : refusalDetails(error)
  }
}

const OK = 200

/** Makes the answers to the requests that the public listener refuses before they are routed. */
export function createRefusalAnswers(answerError: AnswerError, route: Router): AnswerRefusal {
  return (refused, incoming) => {
    const target = incoming?.url ?? ''
    return answerError(refused, { route: route(target), target, own: '' })
  }
}

/**
 * Tells if an error is answered with problem details: one of a dry run, or of an event. Any other path may be a version-1
 * caller's mistake.
 */
function isOwn(error: GatewayError | Refusal, route: string, target: string): boolean {
  if (route === WEBHOOK_ROUTE) return !(error instanceof GatewayError && error.code === 'path-unknown')
  return DRY_RUN.test(target)
}

const DRY_RUN = /^\/dry-run(\/|$)/

/** The paths whose errors have one shape: those of quotes, those that book, and those about a shipment that exists. */
export type ErrorShape = 'quote' | 'booking' | 'shipment'

/** Returns the shape of the errors of a path. */
export const errorShape = ({ family, actions }: Endpoint): ErrorShape =>
  family === 'shipment' && actions.some(({ action }) => action.service.notIdempotent) ? 'booking' : family

/** Returns an error in the shape that version-1 callers of a path read; `own` is the caller's own number. */
export function legacyError(error: GatewayError | Refusal, shape: ErrorShape, own: string): Answer {
  const { status, headers = {}, mayHaveBooked = false }: Partial<GatewayError> & Refusal = error
  const message = oneLine(error.message)
  // Without an answer, a shipment that exists may be booked or canceled; a number that is not known is neither.
  const isUnknown = mayHaveBooked || (shape === 'shipment' && status !== NOT_FOUND)
  const body =
    shape === 'quote'
      ? { Cost: '', ShipmentNumber: own, Message: message }
      : { Message: message, TransportationBooked: isUnknown ? 'Unknown' : 'No' }
  return { status, headers, body: JSON.stringify(body) }
}

const NOT_FOUND = 404
