import * as z from 'zod'
import { type FaultQueue, faultSchema } from './faults.ts'
import { NATIVE_ERROR_NAMES } from './native-errors.ts'
import type { Reply, SandboxRequest } from './service.ts'
import type { SandboxSettings } from './state.ts'
import type { RecordedRequest } from './traffic.ts'

/** The prefix of the control endpoints, which are not part of the service. */
export const CONTROL_PREFIX = '/__sandbox/'

const faultsSchema = z.union([z.array(faultSchema), faultSchema.transform((fault) => [fault])])

/** The settings that can change over HTTP. */
const settingsSchema = z
  .strictObject({
    auth: z.enum(['basic', 'bearer', 'both']),
    tokenExpiresIn: z.number().nullable(),
    shipmentPath: z.enum(['plural', 'singular', 'both']),
    quoteMethod: z.enum(['POST', 'GET', 'both']),
    etag: z.boolean(),
    repeatedCancel: z.literal([200, 404, 409]),
    approvalBooks: z.boolean(),
    findsByReference: z.boolean(),
    nativeError: z.enum(NATIVE_ERROR_NAMES),
    nativeNoise: z.boolean(),
    movingPrices: z.int().nonnegative(),
  } satisfies Partial<Record<keyof SandboxSettings, z.ZodType>>)
  .partial()

/** The state that the control endpoints read and change. */
export interface Controlled {
  readonly faults: FaultQueue
  readonly requests: readonly RecordedRequest[]
  readonly settings: SandboxSettings
}

/** Answers the stand-in's own endpoints. */
export function answerControl({ faults, requests, settings }: Controlled, call: SandboxRequest): Reply {
  switch (`${call.method} ${call.target}`) {
    case 'GET /__sandbox/requests':
      return { status: 200, body: { requests } }
    case 'DELETE /__sandbox/faults':
      faults.clear()
      return { status: 200, body: { faults: faults.size() } }
    case 'POST /__sandbox/faults':
      return change(faultsSchema, call.body, (added) => {
        faults.add(...added)
        return { faults: faults.size() }
      })
    case 'POST /__sandbox/settings':
      return change(settingsSchema, call.body, (changed) => {
        Object.assign(settings, changed)
        return { changed: Object.keys(changed) }
      })
    default:
      return refused(404, 'Use GET /__sandbox/requests, POST or DELETE /__sandbox/faults, or POST /__sandbox/settings')
  }
}

/** Reads a body with a schema, and answers what the change returns. */
function change<T>(schema: z.ZodType<T>, text: string, apply: (value: T) => object): Reply {
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    return refused(400, 'The body is not JSON')
  }
  const parsed = schema.safeParse(body)
  return parsed.success ? { status: 200, body: apply(parsed.data) } : refused(422, z.prettifyError(parsed.error))
}

function refused(status: number, message: string): Reply {
  return { status, body: { error: { code: 'control', message } } }
}
