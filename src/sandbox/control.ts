import * as z from 'zod'
import { type FaultQueue, faultSchema } from './faults.ts'
import type { Call, Reply } from './service.ts'
import type { RecordedRequest } from './traffic.ts'

/** The prefix of what steers the stand-in and is no part of the service. */
export const CONTROL_PREFIX = '/__sandbox/'

const faultsSchema = z.union([z.array(faultSchema), faultSchema.transform((fault) => [fault])])

/** Answers the stand-in's own endpoints, for those who steer it from outside. */
export function answerControl(faults: FaultQueue, requests: readonly RecordedRequest[], call: Call): Reply {
  switch (`${call.method} ${call.target}`) {
    case 'GET /__sandbox/requests':
      return { status: 200, body: { requests } }
    case 'DELETE /__sandbox/faults':
      faults.clear()
      return { status: 200, body: { faults: faults.size() } }
    case 'POST /__sandbox/faults':
      return addFaults(faults, call.body)
    default:
      return refused(404, 'Use GET /__sandbox/requests, or POST or DELETE /__sandbox/faults')
  }
}

function addFaults(faults: FaultQueue, text: string): Reply {
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    return refused(400, 'The body is not JSON')
  }
  const parsed = faultsSchema.safeParse(body)
  if (!parsed.success) return refused(422, z.prettifyError(parsed.error))
  faults.add(...parsed.data)
  return { status: 200, body: { faults: faults.size() } }
}

function refused(status: number, message: string): Reply {
  return { status, body: { error: { code: 'control', message } } }
}
