import { configNames } from '../config/config.ts'
import { nearest } from '../text/nearest.ts'

/** Variables with these beginnings are hardly meant for another program. */
const OWN_PREFIX = /^(V2|UPSTREAM|LEGACY)_/i
/** Shorter names, such as `HOST`, are near to those of other programs. */
const SHORTEST_LIKENESS = 6

/** Returns a warning for each variable that looks like a slip; `used` are names that the tenants file mentions. */
export function slipsIn(env: NodeJS.ProcessEnv, used: ReadonlySet<string>): readonly string[] {
  return Object.keys(env)
    .filter((name) => !configNames.includes(name) && !used.has(name))
    .flatMap((name) => {
      const meant = meantBy(name)
      if (meant === undefined && !OWN_PREFIX.test(name)) return []
      return [`${name} is not a variable of the gateway${meant === undefined ? '' : `; did you mean ${meant}?`}`]
    })
}

function meantBy(name: string): string | undefined {
  if (name.length < SHORTEST_LIKENESS || !name.includes('_')) return undefined
  // Other programs know names such as `SSL_CERT_FILE`.
  if (!OWN_PREFIX.test(name)) return nearest(name, configNames, 1)
  const near = nearest(name, configNames)
  if (near !== undefined) return near
  // `V2_TIMEOUT` has the word of `UPSTREAM_TIMEOUT_MS`.
  const words = name.toUpperCase().replace(OWN_PREFIX, '')
  const [found, ...more] = configNames.filter((known) => `_${known}_`.includes(`_${words}_`))
  return more.length === 0 ? found : undefined
}
