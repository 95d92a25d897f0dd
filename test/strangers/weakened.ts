import { registerHooks } from 'node:module'

/*
 * Loaded before the gateway (node --import), it removes one defense, to show that tests notice:
 * WEAKENED=proof node --import ./test/strangers/weakened.ts src/main.ts serve
 */

/** The file of each defense, and its replacement. */
const WITHOUT = {
  /** A booking is claimed and sent before the service has accepted its credential. */
  proof: { file: '/src/callers/prove.ts', source: 'export const createProve = () => () => undefined' },
  /** One source may take everything. */
  shares: {
    file: '/src/callers/fair-share.ts',
    source:
      "export const shortage = ({ limit }, heldByAll, _held, more) => (heldByAll + more > limit ? 'all' : undefined)",
  },
  /** Pages of other sites may act. */
  browsers: {
    file: '/src/callers/browsers.ts',
    source: `
      const nothing = () => {}
      export const createBrowserChecks = () => ({ demandOwnOrigin: nothing, demandOwnHost: nothing })
      export const checkNetworkCallers = (credentials) => credentials`,
  },
  /** Slow hashes and new credentials run all at once. */
  queue: {
    file: '/src/callers/fair-queue.ts',
    source: `
      const turn = { ready: Promise.resolve(), end: () => {}, settle: () => {} }
      export const createFairQueue = () => ({ enter: () => turn })`,
  },
  /** Any path that begins with /v2/ is passed through. */
  paths: {
    file: '/src/http/version-2-path.ts',
    source: 'export const isBelowVersion2 = () => true\nexport const fullyDecoded = (path) => path',
  },
} as const

/** A defense that can be removed. */
export type Defense = keyof typeof WITHOUT

const weakened = process.env['WEAKENED']
if (weakened !== undefined) {
  const replaced = Object.entries(WITHOUT).find(([name]) => name === weakened)?.[1]
  if (!replaced) throw new Error(`WEAKENED=${weakened} is none of ${Object.keys(WITHOUT).join(', ')}.`)
  registerHooks({
    load: (url, context, next) =>
      url.endsWith(replaced.file)
        ? { format: 'module', source: replaced.source, shortCircuit: true }
        : next(url, context),
  })
}
