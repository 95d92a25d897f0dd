import { createLog, type Logger } from '../observe/log.ts'
import { print, printColored } from './output.ts'

/** A request that the service received. */
interface SentRequest {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: string
}

const FIRST_REFUSAL = 400
const FIRST_FAILURE = 500
/** A longer body is cut. */
const SHOWN_CHARACTERS = 400

/** Makes a log that prints a colored line for each call, and below it the requests that the service received for it. */
export function createDemoLog(service: { readonly requests: SentRequest[] }): Logger {
  return createLog('info', {
    write: (line) => {
      const { level, msg, ...entry }: Readonly<Record<string, unknown>> = JSON.parse(line)
      if (msg === 'call' || msg === 'call failed') printCall(entry, takeRequests(service.requests, entry['id']))
      else if (level !== 'info') print(line.trimEnd())
    },
  })
}

function printCall(call: Readonly<Record<string, unknown>>, sent: readonly SentRequest[]): void {
  const { method, path, action, status, ms, error } = call
  const words = [status, method, path, action, `${ms} ms`, error].filter((word) => word !== undefined)
  printColored(colorOf(Number(status)), words.join('  '))
  for (const request of sent) {
    const body = request.body.length > SHOWN_CHARACTERS ? `${request.body.slice(0, SHOWN_CHARACTERS)}…` : request.body
    printColored('dim', `     → ${request.method} ${request.path} ${body}`.trimEnd())
  }
}

function colorOf(status: number): 'green' | 'yellow' | 'red' {
  if (status < FIRST_REFUSAL) return 'green'
  return status < FIRST_FAILURE ? 'yellow' : 'red'
}

/** Takes the requests of one call out of those that the service received. */
function takeRequests(requests: SentRequest[], id: unknown): readonly SentRequest[] {
  const taken = requests.filter(({ headers }) => headers['x-request-id'] === id)
  for (const request of taken) requests.splice(requests.indexOf(request), 1)
  return taken
}
