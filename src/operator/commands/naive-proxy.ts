import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { request as send } from 'undici'
import { loadMappings } from '../../../mappings/load.ts'
import { planCall } from '../../calls/plan.ts'
import { version1 } from '../../calls/read-request.ts'
import { NO_SUBJECT } from '../../calls/subject.ts'
import { answerOf } from '../../calls/version1-answer.ts'
import { readBody } from '../../edge/body/read.ts'
import { readConfig } from '../../language/config/config.ts'
import { translationSettings } from '../../language/config/translation-settings.ts'
import { written } from '../../outside/service/service.ts'
import { stopSignal } from '../commands/process.ts'

const TRIES = 3
const TRY_MS = 1_000
const FIRST_FAILURE = 500

/** Runs a proxy as one writes it in an afternoon: it translates bookings as the gateway does, forwards them, and tries again. */
export async function runNaiveProxy(service: string): Promise<number> {
  const compiled = (await loadMappings()).actions.get('shipment.create')
  if (!compiled) throw new Error('The mappings declare no booking.')
  const settings = translationSettings(readConfig({ V2_BASE_URL: service }))
  const server = createServer(async (incoming, outgoing) => {
    const { authorization = '', 'content-type': type } = incoming.headers
    const sent = readBody(Buffer.concat(await incoming.toArray()), type)
    const plan = planCall(version1(compiled, sent), NO_SUBJECT, settings)
    const { method, path, headers, body = null } = written(plan.toService)
    for (let tries = 0; tries < TRIES; tries += 1) {
      try {
        const signal = AbortSignal.timeout(TRY_MS)
        const reply = await send(service + path, { method, headers: { ...headers, authorization }, body, signal })
        const shipment = await reply.body.json()
        if (reply.statusCode >= FIRST_FAILURE) continue
        const answer = answerOf(plan, shipment)
        return void outgoing.writeHead(answer.status, answer.headers).end(answer.body)
      } catch {
        // It did not answer, so it is asked again: this is what books twice.
      }
    }
    outgoing.writeHead(502).end('{"Message":"The service does not answer.","TransportationBooked":"No"}')
  }).listen(0, '127.0.0.1', () => {
    // A TCP listener's address is never a path or null.
    const { port } = server.address() as AddressInfo
    process.stdout.write(`${JSON.stringify({ msg: 'listening', url: `http://127.0.0.1:${port}` })}\n`)
  })
  await stopSignal()
  server.closeAllConnections()
  server.close()
  return 0
}
