import type { Answer } from '../language/answer.ts'
import { TEXT_TYPE } from './answers.ts'

/** The answer of `/healthz`: the process runs. */
export const alive: Answer = { status: 200, headers: {}, body: JSON.stringify({ status: 'alive' }) }

/** Returns the answer of `/readyz`, which tells load balancers whether to send calls here. */
export function readiness(ready: boolean): Answer {
  return { status: ready ? 200 : 503, headers: {}, body: JSON.stringify({ status: ready ? 'ready' : 'not ready' }) }
}

/** The answer of `/` to programs. */
export const welcome: Answer = {
  status: 200,
  headers: { 'Content-Type': TEXT_TYPE },
  body: `Transload answers the version-1 calls of a vehicle-transport service from its version 2.
Point the old integration at this host, or try a call below /dry-run first. The interface: /openapi.json
`,
}
