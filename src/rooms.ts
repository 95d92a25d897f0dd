import type { CallRooms } from './calls/verb.ts'
import type { ErrorPage } from './edge/answers.ts'
import type { BrowserChecks } from './edge/callers/browsers.ts'
import type { Callers } from './edge/callers/open.ts'
import type { Shares } from './edge/callers/shares.ts'
import type { Demands, Env } from './edge/door.ts'
import type { Router } from './edge/routing.ts'
import type { Answer } from './language/answer.ts'
import type { EndCall } from './runtime/call.ts'
import type { Metrics } from './runtime/metrics.ts'
import type { CallRecorder } from './runtime/record.ts'
import type { Reloads } from './runtime/reloads.ts'
import type { Tracing } from './runtime/tracing.ts'
import type { ServiceEvents } from './state/events/events.ts'

/** The open rooms of a gateway, which its routes and pages stand on. */
export interface GatewayRooms extends CallRooms {
  readonly callers: Callers
  readonly shares: Shares
  readonly browserChecks: BrowserChecks
  readonly events: ServiceEvents
  readonly metrics: Metrics
  readonly reloads: Reloads
  /** Decides the route of a request, on its decoded path. */
  readonly route: Router
  readonly ready: () => boolean
  readonly endCall: EndCall
  /** Undefined without an SDK of OpenTelemetry. */
  readonly tracing: Tracing | undefined
  /** Undefined without RECORD_FILE. */
  readonly recorder: CallRecorder | undefined
  /** The largest body of a version-1 call, and of one that is explained. */
  readonly mostBytesOfCall: number
  readonly mostExplainedBytes: number
}

/** The pages of both listeners. */
export interface Pages {
  readonly public: readonly PageRoute[]
  readonly admin: readonly AdminRoute[]
  readonly publicError: ErrorPage
  readonly adminError: ErrorPage
  readonly close: () => void
}

/** A page of the public listener. The bytes are those of a body, for a page that takes one. */
interface PageRoute {
  readonly path: string
  readonly demands: Demands<Buffer | undefined, undefined>
  /** Undefined once it has answered by itself. */
  readonly answer: (
    request: Env['Bindings']['incoming'],
    bytes: Buffer | undefined,
    env: Env['Bindings'],
  ) => Answer | undefined | Promise<Answer | undefined>
}

/** A route of the admin listener. It only reads; the parameter is the last part of a path such as `/bookings/:name`. */
export interface AdminRoute {
  readonly path: string
  readonly answer: (request: Env['Bindings']['incoming'], parameter: string | undefined) => Answer | Promise<Answer>
}
