import type { AuditEntry } from '../../../src/outside/store/store.ts'
import type { CallAnswer } from './programs.ts'
import { isMadePerhaps, type World } from './world.ts'

/** Everything that must hold, by name. */
export const INVARIANTS = {
  'one shipment': 'a key has one shipment that is not canceled, unless an operator said wrongly that there was none',
  'late replays look': 'a late replay says Yes again only after a look at the shipment',
  'acknowledged is recorded': 'a caller that reads Yes is told a shipment that the store has as booked',
  'sent from its own claim':
    'a request is written only while the claim that it was claimed with is under way, and once',
  'settled stays':
    'a booked or settled claim changes only by a cancellation, a reopening or, once free, a new claim; no event settles a reopened one',
  'no is no': 'a call whose own request made a shipment, or may yet make one, never reads No',
  'freed is free': 'a gateway frees or refuses a claim only if its request made nothing and will make nothing',
  'known steps': 'a claim takes only the steps of the protocol',
} as const

export type Invariant = keyof typeof INVARIANTS

/** An invariant that does not hold. */
export interface Violation {
  readonly invariant: Invariant
  readonly what: string
}

/** Takes violations. */
export type Report = (violation: Violation) => void

/** Every step of a claim, with the reasons of the audit trail that are not free text. */
export const STEPS: ReadonlySet<string> = new Set([
  'none → sending: claimed',
  'refused → sending: claimed',
  'freed → sending: claimed',
  'sending → booked: made',
  'sending → refused: answered 422',
  'sending → unknown: late',
  'sending → unknown: reply-doubtful',
  'sending → unknown: gateway is gone',
  'sending → freed: never sent',
  'unknown → booked: made',
  'unknown → booked: settled: booked',
  'unknown → booked: healed: webhook',
  'unknown → refused: answered 422',
  'unknown → freed: never sent',
  'unknown → freed: settled: not booked',
  'booked → freed: canceled',
  'booked → unknown: reopened',
  'freed → unknown: reopened',
])

/** Returns an entry of the audit trail as one of the steps. */
export const stepOf = ({ from, to, why }: AuditEntry): string =>
  `${from} → ${to}: ${why.replace(/^gateway \S+ is gone$/, 'gateway is gone')}`

/** Checks a change of the store, by the new entries of its audit trail. */
export function checkChange(before: World, after: World, entries: readonly AuditEntry[], report: Report): void {
  const { row } = before.table
  for (const entry of entries) {
    const step = stepOf(entry)
    const isSettled = entry.from === 'booked' || (entry.from === 'freed' && entry.to !== 'sending')
    if (!STEPS.has(step)) report({ invariant: isSettled ? 'settled stays' : 'known steps', what: step })
    if (before.table.settledWhy === 'reopened' && entry.why.startsWith('healed')) {
      report({ invariant: 'settled stays', what: `${step}, although an operator reopened it` })
    }
    const isProof = entry.to === 'refused' || entry.why === 'never sent'
    if (isProof && row && isMadePerhaps(after, row.handle)) {
      report({ invariant: 'freed is free', what: `${step}, and ${row.handle} made a shipment or may yet make one` })
    }
  }
}

/** Checks a request that is written now. */
export function checkWrite({ table: { row }, requests }: World, handle: string, report: Report): void {
  const invariant = 'sent from its own claim'
  if (row?.handle !== handle || row.state !== 'sending') {
    report({ invariant, what: `${handle} is written while the claim is ${row?.state} and of ${row?.handle}` })
  }
  if (requests.some((request) => request.handle === handle)) report({ invariant, what: `${handle} is written twice` })
}

/** Checks the shipments of the key. */
export function checkShipments({ shipments, mistakes }: World, report: Report): void {
  const live = shipments.filter(({ isLive }) => isLive).map(({ id }) => id)
  if (live.length <= 1 + mistakes) return
  report({ invariant: 'one shipment', what: `${live.join(' and ')} are live, and ${mistakes} settlements were wrong` })
}

/** Checks the answer of a call. */
export function checkAnswer(world: World, handle: string, { word, of, isUnseen }: CallAnswer, report: Report): void {
  const { recorded, shipments } = world
  if (isUnseen)
    report({ invariant: 'late replays look', what: `${handle} reads ${word} for ${of}, and has not looked` })
  if (word.startsWith('Yes') && !(recorded.includes(of) && shipments.some(({ id }) => id === of))) {
    report({ invariant: 'acknowledged is recorded', what: `${handle} reads Yes for ${of}, which is not recorded` })
  }
  if (word === 'No' && isMadePerhaps(world, handle)) {
    report({ invariant: 'no is no', what: `${handle} reads No (${of}), and its request made a shipment or may yet` })
  }
}
