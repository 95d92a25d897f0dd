import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { answerControl, CONTROL_PREFIX } from './control.ts'
import { answerDeviating } from './deviations.ts'
import type { Fault, FaultQueue, RequestFault } from './faults.ts'
import { send, sendFaulty } from './send.ts'
import type { SandboxRequest } from './service.ts'
import type { SandboxState } from './state.ts'
import type { Traffic } from './traffic.ts'

const NEVER_ANSWERED: ReadonlySet<Fault['kind']> = new Set(['timeout', 'timeout-unprocessed'])

/** The dependencies of the listener. */
export interface ListenerDeps {
  readonly state: SandboxState
  readonly faults: FaultQueue
  readonly log: Traffic
  readonly closing: AbortSignal
}

/** Takes a fault for each request, or none, and reads, logs, carries out and answers it. */
export function listener({ state, faults, log, closing }: ListenerDeps): RequestListener {
  return function receive(request, response) {
    response.setHeader('Sandbox', 'true')
    const { method = 'GET', url: target = '/', headers } = request
    const isControl = target.startsWith(CONTROL_PREFIX)
    const fault = isControl ? undefined : faults.takeForRequest(method, target.split('?', 1)[0] ?? target)
    if (fault?.kind === 'reset-before') {
      record(request, '')
      return void sendFaulty(request, response, fault, undefined, closing)
    }
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const call = { method, target, headers, body: Buffer.concat(chunks).toString() }
      if (isControl)
        return send(response, answerControl({ faults, requests: log.requests, settings: state.settings }, call))
      record(request, call.body)
      if (fault) return respondFaulty(request, response, fault, call)
      response.on('close', log.begin())
      send(response, answerDeviating(state, call))
    })
  }

  function respondFaulty(
    request: IncomingMessage,
    response: ServerResponse,
    fault: RequestFault,
    call: SandboxRequest,
  ): void {
    const undone = fault.kind === 'timeout-unprocessed' || (fault.kind === 'status' && !fault.process)
    const reply = undone ? undefined : answerDeviating(state, call)
    if (!NEVER_ANSWERED.has(fault.kind)) response.on('close', log.begin())
    // Only a pause that closing interrupts rejects.
    sendFaulty(request, response, fault, reply, closing).catch(() => response.destroy())
  }

  function record({ method = 'GET', url = '/', headers }: IncomingMessage, body: string): void {
    log.record({ method, path: url, headers, body, at: state.settings.clock() })
  }
}
