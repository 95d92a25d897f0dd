import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { answerControl, CONTROL_PREFIX } from './control.ts'
import type { Fault, FaultQueue, RequestFault } from './faults.ts'
import { send, sendFaulty } from './send.ts'
import { answer, type Call } from './service.ts'
import type { Traffic } from './traffic.ts'
import type { World } from './world.ts'

const NEVER_ANSWERED: ReadonlySet<Fault['kind']> = new Set(['timeout', 'timeout-unprocessed'])

/** The life of a request to the stand-in: meet a fault or none, be read, logged, carried out and answered. */
export function listener(world: World, faults: FaultQueue, log: Traffic, closing: AbortSignal): RequestListener {
  return function receive(request, response) {
    response.setHeader('Sandbox', 'true')
    const { method = 'GET', url: target = '/', headers } = request
    const steering = target.startsWith(CONTROL_PREFIX)
    const fault = steering ? undefined : faults.takeForRequest(method, target.split('?', 1)[0] ?? target)
    if (fault?.kind === 'reset-before') {
      record(request, '')
      return void sendFaulty(request, response, fault, undefined, closing)
    }
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const call = { method, target, headers, body: Buffer.concat(chunks).toString() }
      if (steering) return send(response, answerControl(faults, log.requests, call))
      record(request, call.body)
      if (fault) return respondFaulty(request, response, fault, call)
      response.on('close', log.begin())
      send(response, answer(world, call))
    })
  }

  function respondFaulty(request: IncomingMessage, response: ServerResponse, fault: RequestFault, call: Call): void {
    const undone = fault.kind === 'timeout-unprocessed' || (fault.kind === 'status' && !fault.process)
    const reply = undone ? undefined : answer(world, call)
    if (!NEVER_ANSWERED.has(fault.kind)) response.on('close', log.begin())
    // Only the pauses of a closing stand-in reject.
    sendFaulty(request, response, fault, reply, closing).catch(() => response.destroy())
  }

  function record({ method = 'GET', url = '/', headers }: IncomingMessage, body: string): void {
    log.record({ method, path: url, headers, body, at: world.settings.clock() })
  }
}
