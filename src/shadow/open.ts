import type { Config } from '../config/config.ts'
import type { Logger } from '../observe/log.ts'
import { openUpstream } from '../service/open.ts'
import { SHADOW_CONNECTIONS, type Shadow, type ShadowDeps, startShadow } from './shadow.ts'

/** How long the shadow waits for one answer of the service; live calls do not wait for it. */
const SHADOW_TIMEOUT_MS = 10_000

/** Starts to shadow as configured; undefined if that is off. */
export function openShadow(
  config: Config,
  deps: Pick<ShadowDeps, 'service' | 'store' | 'instance' | 'everyMs'> & { readonly log: Pick<Logger, 'warn'> },
): Shadow | undefined {
  if (config.SHADOW_SHARE === 0) return undefined
  const { log, ...rest } = deps
  const timeoutMs = Math.min(SHADOW_TIMEOUT_MS, config.UPSTREAM_TIMEOUT_MS)
  return startShadow({
    ...rest,
    share: config.SHADOW_SHARE,
    perSecond: config.SHADOW_PER_SECOND,
    nativePath: config.V2_NATIVE_PATH,
    upstream: openUpstream({ ...config, UPSTREAM_CONNECTIONS: SHADOW_CONNECTIONS, UPSTREAM_TIMEOUT_MS: timeoutMs }),
    timeoutMs,
    keptDays: config.SCOREBOARD_DAYS,
    onFirst: (difference) => log.warn(difference, "an answer differs from the service's own version-1 answer"),
    onError: (err) => log.warn({ err }, 'the results of shadowed calls could not be stored'),
  })
}
