import { registerHooks } from 'node:module'
import type { Invariant } from './invariants.ts'
import type { ScenarioName } from './scenarios.ts'

/* Mistakes in the gateway's own code, each of which breaks an invariant. */

/** A change of one place in a file of `src`. */
export interface Mistake {
  readonly breaks: Invariant
  readonly scenario: ScenarioName
  readonly file: string
  readonly right: string
  readonly wrong: string
}

export const MISTAKES = {
  'a booking is sent without the claim': {
    breaks: 'one shipment',
    scenario: 'store failures',
    file: 'src/bookings/bookings.ts',
    right: 'if (won) {',
    wrong: 'if (true) {',
  },
  'an unknown key is claimed again': {
    breaks: 'one shipment',
    scenario: 'settlements',
    file: 'src/store/claim.ts',
    right: "case 'refused':\n    case 'freed':\n      return true",
    wrong: "case 'refused':\n    case 'freed':\n    case 'unknown':\n      return true",
  },
  'a claim of a gateway that is gone is freed': {
    breaks: 'one shipment',
    scenario: 'crashes',
    file: 'src/store/claim.ts',
    right: "{ state: 'unknown', instance: by,",
    wrong: "{ state: 'freed', instance: by,",
  },
  'the claim is not looked at again before the request': {
    breaks: 'sent from its own claim',
    scenario: 'one pause',
    file: 'src/bookings/leases.ts',
    right: 'return () => isHeldSince(term, state.lease, age())',
    wrong: 'return () => true',
  },
  'a renewal after a pause hides the pause': {
    breaks: 'sent from its own claim',
    scenario: 'one pause',
    file: 'src/bookings/protocol.ts',
    right: 'return { confirmedAt, term: isUnbroken ? term : term + 1 }',
    wrong: 'return { confirmedAt, term }',
  },
  'a booking is answered before it is recorded': {
    breaks: 'acknowledged is recorded',
    scenario: 'settlements',
    file: 'src/bookings/bookings.ts',
    right: 'await record.made(claim, result)',
    wrong: 'void record.made(claim, result).catch(() => undefined)',
  },
  'a booking that cannot be recorded is answered': {
    breaks: 'acknowledged is recorded',
    scenario: 'store failures',
    file: 'src/bookings/record.ts',
    right: "'a booking was made and could not be recorded')\n      throw err",
    wrong: "'a booking was made and could not be recorded')",
  },
  'a change does not compare the version': {
    breaks: 'settled stays',
    scenario: 'settlements',
    file: 'src/store/claim.ts',
    right: 'return before?.version === version ? yield* updateClaim(before, change) : undefined',
    wrong: 'return before ? yield* updateClaim(before, change) : undefined',
  },
  'a late fact overrides a settlement': {
    breaks: 'settled stays',
    scenario: 'one pause',
    file: 'src/bookings/protocol.ts',
    right: "current?.state === 'unknown' && change.state !== 'unknown' ? 'override' : 'lost'",
    wrong: "'override'",
  },
  'an event settles what an operator reopened': {
    breaks: 'settled stays',
    scenario: 'settlements',
    file: 'src/events/healing.ts',
    right: ' || isReopened(await store.audit(handle))',
    wrong: '',
  },
  'a time-out counts as a refusal': {
    breaks: 'no is no',
    scenario: 'settlements',
    file: 'src/bookings/protocol.ts',
    right: ": { state: 'unknown', why: error.silence }",
    wrong: ": { state: 'refused', why: 'answered 422' }",
  },
  'a time-out frees the key': {
    breaks: 'freed is free',
    scenario: 'settlements',
    file: 'src/bookings/protocol.ts',
    right: ": { state: 'unknown', why: error.silence }",
    wrong: ": { state: 'freed', why: 'never sent' }",
  },
  'a claim of a gateway that is gone counts as refused': {
    breaks: 'known steps',
    scenario: 'crashes',
    file: 'src/store/claim.ts',
    right: "{ state: 'unknown', instance: by,",
    wrong: "{ state: 'refused', instance: by,",
  },
} as const satisfies Readonly<Record<string, Mistake>>

/** Adds a mistake to every module that is imported with `?mistake=` and its name, and to what such a module imports. */
export function allowMistakes(): void {
  const nameIn = (url: string | undefined) => (url?.includes('?mistake=') ? url.slice(url.indexOf('?')) : '')
  registerHooks({
    resolve(specifier, context, next) {
      const resolved = next(specifier, context)
      const isOurs = specifier.startsWith('.') && !resolved.url.includes('/node_modules/')
      const query = nameIn(context.parentURL)
      return isOurs && !resolved.url.includes('?') ? { ...resolved, url: resolved.url + query } : resolved
    },
    load(url, context, next) {
      const loaded = next(url, context)
      const name = decodeURIComponent(nameIn(url).replace('?mistake=', ''))
      const mistake: Mistake | undefined = Object.entries(MISTAKES).find(([one]) => one === name)?.[1]
      if (!mistake || !url.split('?')[0]?.endsWith(mistake.file)) return loaded
      const source = String(loaded.source)
      if (source.split(mistake.right).length !== 2)
        throw new Error(`${mistake.file} does not contain: ${mistake.right}`)
      return { ...loaded, source: source.replace(mistake.right, mistake.wrong) }
    },
  })
}
