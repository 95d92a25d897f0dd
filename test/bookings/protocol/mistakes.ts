import type { Invariant } from './invariants.ts'
import type { SCENARIOS } from './scenarios.ts'

/** A change of one place in a file of `src`, which breaks an invariant in a scenario. */
type Mistake = readonly [
  name: string,
  breaks: Invariant,
  scenario: keyof typeof SCENARIOS,
  file: string,
  right: string,
  wrong: string,
]

export const MISTAKES: readonly Mistake[] = [
  [
    'a booking is sent without the claim',
    'one shipment',
    'store failures',
    'src/state/bookings/bookings.ts',
    'if (won) {',
    'if (true) {',
  ],
  [
    'an unknown key is claimed again',
    'one shipment',
    'settlements',
    'src/outside/store/claim.ts',
    "case 'refused':\n    case 'freed':\n      return true",
    "case 'refused':\n    case 'freed':\n    case 'unknown':\n      return true",
  ],
  [
    'a claim of a gateway that is gone is freed',
    'one shipment',
    'crashes',
    'src/outside/store/claim.ts',
    "{ state: 'unknown', instance: by,",
    "{ state: 'freed', instance: by,",
  ],
  [
    'the claim is not looked at again before the request',
    'sent from its own claim',
    'one pause',
    'src/state/bookings/leases.ts',
    'return () => isHeldSince(term, state.lease, age())',
    'return () => true',
  ],
  [
    'a renewal after a pause hides the pause',
    'sent from its own claim',
    'one pause',
    'src/state/bookings/protocol.ts',
    'return { confirmedAt, term: isUnbroken ? term : term + 1 }',
    'return { confirmedAt, term }',
  ],
  [
    'a booking is answered before it is recorded',
    'acknowledged is recorded',
    'settlements',
    'src/state/bookings/bookings.ts',
    'await record.made(claim, result)',
    'void record.made(claim, result).catch(() => undefined)',
  ],
  [
    'a booking that cannot be recorded is answered',
    'acknowledged is recorded',
    'store failures',
    'src/state/bookings/record.ts',
    "'a booking was made and could not be recorded')\n      throw err",
    "'a booking was made and could not be recorded')",
  ],
  [
    'a change does not compare the version',
    'settled stays',
    'settlements',
    'src/outside/store/claim.ts',
    'return before?.version === version ? yield* updateClaim(before, change) : undefined',
    'return before ? yield* updateClaim(before, change) : undefined',
  ],
  [
    'a late fact overrides a settlement',
    'settled stays',
    'one pause',
    'src/state/bookings/protocol.ts',
    "current?.state === 'unknown' && change.state !== 'unknown' ? 'override' : 'lost'",
    "'override'",
  ],
  [
    'an event settles what an operator reopened',
    'settled stays',
    'settlements',
    'src/state/events/healing.ts',
    ' || isReopened(await store.audit(handle))',
    '',
  ],
  [
    'a time-out counts as a refusal',
    'no is no',
    'settlements',
    'src/state/bookings/protocol.ts',
    ": { state: 'unknown', why: error.silence }",
    ": { state: 'refused', why: 'answered 422' }",
  ],
  [
    'a time-out frees the key',
    'freed is free',
    'settlements',
    'src/state/bookings/protocol.ts',
    ": { state: 'unknown', why: error.silence }",
    ": { state: 'freed', why: 'never sent' }",
  ],
  [
    'a claim of a gateway that is gone counts as refused',
    'known steps',
    'crashes',
    'src/outside/store/claim.ts',
    "{ state: 'unknown', instance: by,",
    "{ state: 'refused', instance: by,",
  ],
  [
    'a late look is skipped',
    'late replays look',
    'late replays',
    'src/state/bookings/bookings.ts',
    "if (state !== 'booked') return false",
    "if (state === 'booked') return false",
  ],
  [
    'a late look that fails frees the key',
    'one shipment',
    'late replays',
    'src/state/bookings/bookings.ts',
    "return 'live'",
    'return record.canceled(tenant, [shipment], async () => true)',
  ],
  [
    'a second spelling of a booking books',
    'one shipment',
    'two spellings',
    'src/outside/store/claim.ts',
    'if (!isOtherVehicle(wanted, claim, shipment)) holders.push(claim)',
    'if (wanted.vin === claim.vin && !isOtherVehicle(wanted, claim, shipment)) holders.push(claim)',
  ],
  [
    'what the service accepts for later is believed without a read',
    'acknowledged is recorded',
    'accepted',
    'src/calls/book.ts',
    'const shown = shipmentIfRead(await read(id).catch(() => NO_REPLY), id)',
    'const shown = shipmentIn(reply)',
  ],
]

/** Returns the source of a module, with a mistake if that is in its file. */
export function mistaken(name: string, url: string, source: string): string {
  const mistake = MISTAKES.find(([one]) => one === name)
  if (!mistake) throw new Error(`There is no mistake ${name}.`)
  const [, , , file, right, wrong] = mistake
  if (!url.endsWith(file)) return source
  if (source.split(right).length !== 2) throw new Error(`${file} does not contain: ${right}`)
  return source.replace(right, wrong)
}
