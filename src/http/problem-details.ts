import type { Answer } from '../answer.ts'
import { errorTable, type GatewayError, oneLine } from '../errors.ts'

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
