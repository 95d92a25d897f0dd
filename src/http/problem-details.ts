import { STATUS_CODES } from 'node:http'
import type { Answer } from '../answer.ts'
import { errorTable, type GatewayError, oneLine } from '../errors.ts'
import type { Refusal } from './refusals.ts'

const PROBLEM_TYPE = 'application/problem+json; charset=utf-8'

/** Returns an error as RFC 9457 problem details, the format of the gateway's own endpoints. */
export function problemDetails(error: GatewayError): Answer {
  const body = {
    type: `urn:transload:error:${error.code}`,
    title: errorTable[error.code].title,
    status: error.status,
    detail: oneLine(error.message),
    ...(error.problems.length > 0 && { problems: error.problems }),
  }
  return {
    status: error.status,
    headers: { 'Content-Type': PROBLEM_TYPE, ...error.headers },
    body: JSON.stringify(body),
  }
}

/** Returns the refusal of a listener in the same format; its status says it all (RFC 9457, 4.2.1). */
export function refusalDetails({ status, message }: Refusal): Answer {
  const body = { type: 'about:blank', title: STATUS_CODES[status], status, detail: message }
  return { status, headers: { 'Content-Type': PROBLEM_TYPE }, body: JSON.stringify(body) }
}
