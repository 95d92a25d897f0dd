import type { Reply, SandboxRequest } from './service.ts'
import type { SandboxState } from './state.ts'

/** The kind of a request. */
export type Kind =
  | 'token'
  | 'quote'
  | 'quote update'
  | 'approval'
  | 'booking'
  | 'read'
  | 'update'
  | 'cancellation'
  | 'version 1'
  | 'other'

/** A request, with what deviations look at. */
export interface Call extends SandboxRequest {
  readonly kind: Kind
  /** The name in the path; empty if there is none. */
  readonly id: string
  readonly state: SandboxState
}

/** One way in which the stand-in behaves otherwise than the service is assumed to. */
export interface Deviation {
  /** @default every kind */
  readonly on?: readonly Kind[]
  /** Changes a request, or answers it. */
  readonly before?: (call: Call) => Partial<SandboxRequest> | Reply | undefined
  /** Changes an answer. */
  readonly after?: (reply: Reply, call: Call) => Reply
}

/** A body as an object, for changes. */
export type Members = Readonly<Record<string, unknown>>

/** Returns the body of a request as an object. */
export function bodyOf({ body }: SandboxRequest): Members {
  try {
    return Object(JSON.parse(body))
  } catch {
    return {}
  }
}

/** Returns what a request for a quote asks for: its body, or its query. */
export function askedBy(call: Call): Members {
  return call.method === 'GET' ? Object.fromEntries(new URLSearchParams(call.target.split('?')[1])) : bodyOf(call)
}

/** Returns true for a successful answer. */
export const isDone = ({ status }: Reply): boolean => status < 300

/** Changes the members of successful answers. */
export const changing =
  (change: (body: Members, call: Call) => object): NonNullable<Deviation['after']> =>
  (reply, call) =>
    isDone(reply) ? { ...reply, body: change({ ...reply.body }, call) } : reply

/** Answers one status as another. */
export const instead =
  (status: number, other: number): NonNullable<Deviation['after']> =>
  (reply) =>
    reply.status === status ? { ...reply, status: other } : reply

export const refusal = (status: number, message: string): Reply => ({
  status,
  body: { error: { code: 'deviation', message } },
})

/** Returns an object without a member. */
export function lacking(body: Members, name: string): Members {
  const { [name]: _, ...rest } = body
  return rest
}

/** Changes a part of a shipment, such as its pickup. */
export const inPart = (body: Members, part: string, change: (members: Members) => Members): Members =>
  body[part] === undefined ? body : { ...body, [part]: change(Object(body[part])) }

/** Changes every vehicle of a shipment. */
export const inVehicles = (body: Members, change: (vehicle: Members) => Members): Members =>
  Array.isArray(body['vehicles']) ? { ...body, vehicles: body['vehicles'].map((one) => change(Object(one))) } : body

/** Sends a request with another body. */
export const sending = (body: Members) => ({ body: JSON.stringify(body) })
