import type { Answer } from '../answer.ts'

/** The answer of `/healthz`: the process runs. */
export const alive: Answer = { status: 200, headers: {}, body: JSON.stringify({ status: 'alive' }) }

/** Returns the answer of `/readyz`, which tells load balancers whether to send calls here. */
export function readiness(ready: boolean): Answer {
  return { status: ready ? 200 : 503, headers: {}, body: JSON.stringify({ status: ready ? 'ready' : 'not ready' }) }
}
