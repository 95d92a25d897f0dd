import { registerHooks } from 'node:module'

/*
 * Loaded before the gateway (node --import), it removes one defense, to show that tests notice:
 * WEAKENED=proof node --import ./test/strangers/weakened.ts src/main.ts serve
 */

/** The function that makes each defense, and what it returns instead. */
const WITHOUT = {
  /** A booking is claimed and sent before the service has accepted its credential. */
  proof: { file: '/src/edge/callers/prove.ts', name: 'createProve', instead: '() => undefined' },
  /** One source may take everything. */
  shares: {
    file: '/src/edge/callers/shares.ts',
    name: 'shortage',
    instead: "heldByAll + more > limit ? 'all' : undefined",
  },
  /** Pages of other sites may act. */
  browsers: {
    file: '/src/edge/callers/browsers.ts',
    name: 'createBrowserChecks',
    instead: '{ demandOwnOrigin: () => {}, demandOwnHost: () => {} }',
  },
  /** Slow hashes and new credentials run all at once. */
  queue: {
    file: '/src/edge/callers/turns.ts',
    name: 'createFairQueue',
    instead: '{ enter: () => ({ ready: Promise.resolve(), end: () => {}, settle: () => {} }) }',
  },
  /** Any path that begins with /v2/ is passed through. */
  paths: { file: '/src/edge/routing.ts', name: 'isBelowVersion2', instead: 'true' },
} as const

/** A defense that can be removed. */
export type Defense = keyof typeof WITHOUT

const weakened = process.env['WEAKENED']
if (weakened !== undefined) {
  const replaced = Object.entries(WITHOUT).find(([name]) => name === weakened)?.[1]
  if (!replaced) throw new Error(`WEAKENED=${weakened} is none of ${Object.keys(WITHOUT).join(', ')}.`)
  const { file, name, instead } = replaced
  const head = new RegExp(`function ${name}\\([^]*?\\): [^\\n]*\\{\\n`)
  registerHooks({
    load: (url, context, next) => {
      const loaded = next(url, context)
      if (!url.endsWith(file)) return loaded
      const source = String(loaded.source)
      const weak = source.replace(head, (found) => `${found}return ${instead};\n`)
      if (weak === source) throw new Error(`${file} has no function ${name}.`)
      return { ...loaded, source: weak }
    },
  })
}
