import type { Store, Vehicle } from '../../src/outside/store/store.ts'
import type { NameUse, Reference, SentName } from '../../src/state/names/resolve.ts'

/*
 * A small world: two shipments, two quotes, the names that callers and the service gave them, and a booking in doubt. `expected` returns
 * what a call means in it, by the contract ("What a call names"), not by the code.
 */

export type State = 'live' | 'canceled' | 'gone'

export interface WorldShipment {
  readonly id: string
  readonly number: string
  /** The present VINs of its vehicles at the service; empty for a vehicle without one. */
  readonly vins: readonly string[]
  readonly state: State
  /** The VINs in the store; undefined for a shipment that the store does not know. */
  readonly storedVins: readonly string[] | undefined
  readonly storedState: State
  /** The VINs that it had before the stored ones, with those that replaced them. */
  readonly formerVins: Readonly<Record<string, string>>
  /** The quote that it was booked from. */
  readonly quote?: string | undefined
}

export interface WorldName {
  readonly name: string
  readonly kind: 'quote' | 'shipment'
  readonly id: string
  readonly givenBy: 'caller' | 'service'
}

export interface World {
  readonly title: string
  /** The oldest first. */
  readonly shipments: readonly WorldShipment[]
  /** Quotes that the store knows. */
  readonly quotes: readonly { readonly id: string; readonly names: readonly string[] }[]
  /** The oldest first. */
  readonly names: readonly WorldName[]
  /** The references of bookings in doubt. */
  readonly doubts: ReadonlyMap<string, 'sending' | 'unknown'>
}

export const VIN = {
  one: '1FDXE4FN9PDD32477',
  two: '1HGCM82633A004352',
  second: '5YJSA1E14HF000337',
  former: '1M8GDM9AXKP042788',
  none: 'JH4KA7561PC008269',
} as const

export const S1 = '11111111-1111-4111-8111-11111111aaaa'
export const S2 = '22222222-2222-4222-8222-22222222bbbb'
/** Known only to the service. */
export const S3 = '33333333-3333-4333-8333-33333333cccc'
export const Q1 = '44444444-4444-4444-8444-44444444dddd'
export const Q2 = '55555555-5555-4555-8555-55555555eeee'
const NOBODY = '66666666-6666-4666-8666-66666666ffff'

/** The values of names: each means one thing, both, something else, or nothing. */
export const VALUES = {
  ref1: 'REF-1',
  ref2: 'REF-2',
  /** Of both shipments, in worlds where they share one. */
  both: 'Both',
  number1: 'TL-1',
  id2: S2,
  id1InUpperCase: S1.toUpperCase(),
  /** The number that the service has since given the second shipment. */
  renumbered: 'TL-22',
  unstored: 'TL-3',
  quote1: 'Quote-1',
  quote1InOtherCase: 'QUOTE-1',
  quote1Id: Q1,
  quote2: 'Quote-2',
  doubt: 'DOUBT-1',
  nobody: NOBODY,
  unplain: 'No body/here',
} as const

const SHAPES_OF_ONE = [[VIN.one], [VIN.one, VIN.second], [''], ['', VIN.second]] as const
const SHAPES_OF_TWO = [[VIN.two], [VIN.two, ''], ['']] as const
const STATES: readonly (readonly [stored: State, now: State])[] = [
  ['live', 'live'],
  ['canceled', 'canceled'],
  ['live', 'canceled'],
  ['gone', 'gone'],
  ['live', 'gone'],
]

/** Coprime to the number of worlds, so that neighbors differ in more than one trait. */
const STRIDE = 37

/** Every small world. */
export const worlds: readonly World[] = [...everyWorld()].flatMap(
  (_, nth, all) => all[(nth * STRIDE) % all.length] ?? [],
)

function* everyWorld(): Generator<World> {
  let nth = 0
  for (const vins1 of SHAPES_OF_ONE) {
    for (const vins2 of SHAPES_OF_TWO) {
      for (const [storedState, state] of STATES) {
        for (const booked of ['none', 'under its name', 'under another name'] as const) {
          nth += 1
          yield worldOf(nth, vins1, vins2, storedState, state, booked)
        }
      }
    }
  }
}

/** Returns a world of these traits; the others take turns. */
function worldOf(
  nth: number,
  vins1: readonly string[],
  vins2: readonly string[],
  storedState: State,
  state: State,
  booked: 'none' | 'under its name' | 'under another name',
): World {
  const [vin1 = ''] = vins1
  const isChanged = nth % 3 === 0 && vins1.length === 1 && vin1 !== ''
  const hasFormer = !isChanged && vins1.length === 1 && nth % 5 < 2
  const otherState = nth % 14 === 0 ? 'canceled' : 'live'
  // The name of quote 2 is also that of the first booking, which is older.
  const isReused = nth % 4 === 1
  const doubt = nth % 2 === 0 ? 'sending' : 'unknown'
  const inDoubt = [VALUES.doubt, ...(nth % 3 === 1 ? [VALUES.quote2] : []), ...(nth % 4 === 2 ? [VALUES.ref1] : [])]
  const ofCaller = (name: string, id: string) => ({ name, kind: 'shipment', id, givenBy: 'caller' }) as const
  const ofService = (name: string, id: string) => ({ name, kind: 'shipment', id, givenBy: 'service' }) as const
  const quoted = (name: string, id: string) => ({ name, kind: 'quote', id, givenBy: 'caller' }) as const
  return {
    title: `S1 ${vins1.join('+') || 'no VIN'} ${storedState}/${state}, S2 ${vins2.join('+') || 'no VIN'}, booked ${booked}, ${nth}`,
    shipments: [
      {
        id: S1,
        number: VALUES.number1,
        vins: vins1,
        state,
        storedVins: isChanged ? [VIN.former] : vins1,
        storedState,
        formerVins: hasFormer ? { [VIN.former]: vin1 } : {},
      },
      {
        id: S2,
        number: VALUES.renumbered,
        vins: vins2,
        state: otherState,
        storedVins: vins2,
        storedState: otherState,
        formerVins: {},
        ...(booked !== 'none' && { quote: Q1 }),
      },
      {
        id: S3,
        number: VALUES.unstored,
        vins: [VIN.one],
        state: 'live',
        storedVins: undefined,
        storedState: 'live',
        formerVins: {},
      },
    ],
    quotes: [
      { id: Q1, names: [VALUES.quote1] },
      { id: Q2, names: [VALUES.quote2] },
    ],
    names: [
      ofCaller(VALUES.ref1, S1),
      ofCaller(VALUES.both, S1),
      ofService(VALUES.number1, S1),
      // The service's number of the second shipment is the caller's name of the first.
      ofService(VALUES.ref1, S2),
      quoted(VALUES.quote1, Q1),
      ...(isReused ? [quoted(VALUES.both, Q1)] : []),
      ofCaller(VALUES.ref2, S2),
      ofCaller(VALUES.both, S2),
      ofService('TL-2', S2),
      ...(booked === 'under its name' ? [ofCaller(VALUES.quote1, S2)] : []),
      quoted(VALUES.quote2, Q2),
      ...(isReused && booked === 'under another name' ? [quoted(VALUES.ref1, Q1)] : []),
    ],
    doubts: new Map(inDoubt.map((reference) => [reference, doubt])),
  }
}

/* The record of a world */

const EPOCH = 1_700_000_000_000

const vehicle = (vin: string): Vehicle => ({ vin, year: '', make: '', model: '' })

/** Writes the content of a world's store. */
export async function writeWorld(
  { shipments, quotes, names, doubts }: World,
  tenant: string,
  store: Store,
): Promise<void> {
  for (const { id, names: own } of quotes) await store.put({ quote: { tenant, id, names: own, own: own[0] ?? '' } })
  for (const { id, storedVins, storedState, formerVins, quote = '' } of shipments) {
    if (!storedVins) continue
    const shipment = { tenant, id, vehicles: storedVins.map(vehicle), formerVins, state: storedState, quote, own: '' }
    await store.put({ shipment })
  }
  for (const [nth, name] of names.entries()) await store.put({ names: [{ ...name, tenant, at: EPOCH + nth }] })
  for (const [reference, state] of doubts) {
    const claim = {
      tenant,
      key: `${tenant} ${reference}`,
      handle: `bk_${tenant} ${reference}`,
      body: '',
      instance: 'gateway-1',
      reference,
      vin: '',
      vehicle: '',
      request: '',
      isOfReference: false,
    }
    const { claim: taken } = await store.claim(claim)
    if (state === 'unknown') await store.change(taken, { state, instance: 'gateway-1', why: 'test' })
  }
}

/* The calls */

export interface Case {
  readonly names: readonly SentName[]
  readonly vin: string
  readonly use: NameUse
  readonly changesVehicle: boolean
  readonly kind: Reference['kind']
}

export const FIELDS = ['ShipmentNumber', 'ReferenceNumber', 'OrderRefNumber', 'shipment_id', 'id', 'number'] as const
const QUOTE_FIELDS = ['ShipmentNumber', 'OrderRefNumber'] as const
const VINS = ['', ...Object.values(VIN)]

/** Returns every set of up to three, in one of its orders. */
const setsOf = (all: readonly string[]): readonly (readonly string[])[] =>
  all.flatMap((one, i) => [
    [one],
    ...all.slice(i + 1).flatMap((two, j) => [[one, two], ...all.slice(i + j + 2).map((three) => [one, two, three])]),
  ])
/** Sets of fields by their size. */
const FIELDS_OF = [1, 2, 3].map((size) => setsOf(FIELDS).filter((fields) => fields.length === size))
const SETS_OF_VALUES = setsOf(Object.values(VALUES))

const USES: readonly (readonly [NameUse, changesVehicle: boolean])[] = [
  ['read', false],
  ['update', false],
  ['update', true],
  ['cancel', false],
]

type Ending = Pick<Case, 'vin' | 'use' | 'changesVehicle'>
const ENDINGS: readonly Ending[] = VINS.flatMap((vin) =>
  USES.map(([use, changesVehicle]) => ({ vin, use, changesVehicle })),
)
/** The number of endings for a set of one, two, and three values in one world; the others get their turn in other worlds. */
const ENDINGS_OF = [ENDINGS.length, 3, 1]

/** Yields the calls of a small world: each set of values, with alternating sets and orders of fields. */
export function* cases(turn: number): Generator<Case> {
  let nth = turn
  for (const values of SETS_OF_VALUES) {
    nth += 1
    const sets = FIELDS_OF[values.length - 1] ?? []
    const fields = sets[nth % sets.length] ?? []
    const inOrder = values.map((_, place) => values[(place + nth) % values.length] ?? '')
    const names = fields.map((field, place) => [field, inOrder[place] ?? ''] as const)
    const count = ENDINGS_OF[values.length - 1] ?? 0
    for (let ending = 0; ending < count; ending += 1) {
      const end = ENDINGS[(nth * count + ending + turn) % ENDINGS.length]
      if (end) yield { names, ...end, kind: 'shipment' }
    }
    if (values.length > QUOTE_FIELDS.length) continue
    const ofQuote = QUOTE_FIELDS.slice(0, values.length).map((field, place) => [field, inOrder[place] ?? ''] as const)
    yield { names: ofQuote, vin: '', use: 'update', changesVehicle: false, kind: 'quote' }
  }
}

/* The oracle */

/** The row of the table that decides. */
export type Row =
  | 'no VIN, one shipment'
  | 'no VIN, several shipments'
  | 'a vehicle of one of them'
  | 'a vehicle without a VIN'
  | 'one shipment of one vehicle'
  | 'anything else'

export type Verdict =
  | {
      readonly is: 'shipment'
      readonly id: string
      readonly entry: number
      readonly vin: 'none' | 'own' | 'former' | 'new' | 'changed'
      readonly row: Row
    }
  | { readonly is: 'quote'; readonly id: string }
  | { readonly is: 'conflict' | 'unknown' | 'in-doubt' }
  | { readonly is: 'several' | 'no-such-vehicle'; readonly row: Row }

/** Returns what a call means. */
export function expected(world: World, call: Case): Verdict {
  if (call.kind === 'quote') return expectedQuote(world, call.names)
  // The last known state of each shipment at the service, including this call's reads.
  const shown = new Map(world.shipments.map((one) => [one.id, one.storedState]))
  const looked = new Set<string>()
  const look = (id: string) => {
    looked.add(id)
    shown.set(id, world.shipments.find((one) => one.id === id)?.state ?? 'gone')
  }
  const values = call.names.map(([, value]) => value)
  const meanings = () =>
    values.map((value) => {
      const { known, asked, isDoubt } = knowledgeOf(world, value)
      if (known)
        return known.every((id) => shown.get(id) !== 'live') && world.doubts.has(value) && isBooking(known)
          ? 'doubt'
          : known
      if (asked && !looked.has(asked)) return 'ask'
      return asked ? [asked] : isDoubt ? 'doubt' : 'nothing'
    })
  for (;;) {
    const all = meanings()
    const known = all.filter((one) => Array.isArray(one)).map((ids) => standing(ids, shown, world, call))
    const common = world.shipments
      .map(({ id }) => id)
      .concat(world.quotes.map(({ id }) => id))
      .filter((id) => known.every((ids) => ids.includes(id)))
    // Law 2: the sent names must agree.
    if (known.length > 0 && common.length === 0) return { is: 'conflict' }
    if (all.includes('ask')) {
      for (const value of values) {
        const { known: before, asked } = knowledgeOf(world, value)
        if (asked && !before) look(asked)
      }
      continue
    }
    // Law 2: a booking in doubt is never "not known".
    if (all.includes('doubt')) return { is: 'in-doubt' }
    if (known.length === 0) return { is: 'unknown' }
    // An update reads its one shipment later, unless a canceled one of these names may have had the VIN.
    const isShownWith = (id: string) =>
      looked.has(id) &&
      world.shipments.some((one) => one.id === id && one.state !== 'gone' && one.vins.includes(call.vin))
    const isOfGone = (id: string) => shown.get(id) !== 'live' && (hadVin(world, id, call.vin) || isShownWith(id))
    const isUnsure = !common.some((id) => hadVin(world, id, call.vin)) && all.flat().some(isOfGone)
    const isRead = common.length > 1 || (call.vin !== '' && (call.use !== 'update' || isUnsure))
    const unread = common.filter((id) => !looked.has(id))
    if (isRead && unread.length > 0) {
      for (const id of unread) look(id)
      continue
    }
    const choice = chosen(world, common.toReversed(), call)
    // An update does not take the vehicle for a canceled one.
    if ('vin' in choice && choice.vin === 'changed' && all.flat().some(isOfGone))
      return { is: 'several', row: choice.row }
    const isInDoubt = choice.is === 'no-such-vehicle' && values.some((value) => world.doubts.has(value))
    return isInDoubt ? { is: 'in-doubt' } : choice
  }
}

interface Knowledge {
  /** The things that the store knows by a value. */
  readonly known: readonly string[] | undefined
  /** The shipment that the service shows by it. */
  readonly asked: string | undefined
  readonly isDoubt: boolean
}

const knowledge = new WeakMap<World, Map<string, Knowledge>>()

function knowledgeOf(world: World, value: string): Knowledge {
  const ofWorld = knowledge.get(world) ?? new Map<string, Knowledge>()
  knowledge.set(world, ofWorld)
  const before = ofWorld.get(value)
  if (before) return before
  const isDoubt = world.doubts.has(value) || isQuoteInDoubt(world, value)
  const now = { known: inStore(world, value), asked: atService(world, value), isDoubt }
  ofWorld.set(value, now)
  return now
}

const isBooking = (ids: readonly string[]) => !ids.some((id) => id === Q1 || id === Q2)

function expectedQuote(world: World, names: readonly SentName[]): Verdict {
  const ids = names.flatMap(([, value]) => {
    const quote = quoteNamed(world, value) ?? world.quotes.find(({ id }) => id === value.toLowerCase())?.id
    return quote ?? (isUuid(value) ? value.toLowerCase() : [])
  })
  const [id] = ids
  if (id === undefined) return { is: 'unknown' }
  return ids.every((one) => one === id) ? { is: 'quote', id } : { is: 'conflict' }
}

const isUuid = (value: string) => /^[0-9a-f-]{36}$/i.test(value)

/** Returns the names that equal a value: exactly, or in another case if only one thing has such a name. */
function namesOf({ names }: World, value: string): readonly WorldName[] {
  const exact = names.filter(({ name }) => name === value)
  if (exact.length > 0) return exact
  return names.filter(({ name }) => name.toLowerCase() === value.toLowerCase())
}

/** A name that is used again for a new quote means the newest. */
const quoteNamed = (world: World, value: string) => namesOf(world, value).findLast(({ kind }) => kind === 'quote')?.id

/** Returns the things that have a value as a name in the store; undefined if there is none, or for the name of a quote in doubt. */
function inStore(world: World, value: string): readonly string[] | undefined {
  const named = namesOf(world, value)
  const own = named.filter(({ kind, givenBy }) => kind === 'shipment' && givenBy === 'caller').map(({ id }) => id)
  const quote = quoteNamed(world, value)
  const byId = value.toLowerCase()
  const booked = (of: string | undefined) =>
    world.shipments.filter((one) => of !== undefined && one.quote === of).map(({ id }) => id)
  if (own.length > 0) {
    // Law 4: the quote's shipment also counts if the quote got the name after the booking.
    const isNewer = named.findLast(({ givenBy }) => givenBy === 'caller')?.kind === 'quote'
    return isNewer ? [...new Set([...own, ...booked(quote)])] : own
  }
  if (quote === undefined) {
    const numbered = named.filter(({ kind }) => kind === 'shipment').map(({ id }) => id)
    if (numbered.length > 0) return numbered
    if (world.shipments.some(({ id, storedVins }) => id === byId && storedVins)) return [byId]
  }
  const of = quote ?? world.quotes.find(({ id }) => id === byId)?.id
  if (of === undefined) return undefined
  if (booked(of).length > 0) return booked(of)
  return isQuoteInDoubt(world, value) ? undefined : [of]
}

const isQuoteInDoubt = (world: World, value: string) => {
  const of = quoteNamed(world, value) ?? world.quotes.find(({ id }) => id === value.toLowerCase())?.id
  return world.quotes.some(({ id, names }) => id === of && names.some((name) => world.doubts.has(name)))
}

/** Returns the shipment that the service shows by a value. */
const atService = ({ shipments, quotes }: World, value: string): string | undefined =>
  /^[\w.-]{1,64}$/.test(value) && !quotes.some(({ names }) => names.includes(value))
    ? shipments.find(({ id, number, state }) => state !== 'gone' && (id === value.toLowerCase() || number === value))
        ?.id
    : undefined

/** Law 5: a shipment that is canceled or gone does not bear its names while another one does. The newest is last, except for a VIN of an older one. */
function standing(
  ids: readonly string[],
  shown: ReadonlyMap<string, State>,
  world: World,
  { vin }: Case,
): readonly string[] {
  const live = ids.filter((id) => (shown.get(id) ?? 'live') === 'live')
  if (live.length > 0) return live
  const canceled = vin !== '' ? ids.filter((id) => hadVin(world, id, vin)) : []
  return (canceled.length > 0 ? canceled : ids).toSorted().slice(-1)
}

function hadVin({ shipments }: World, id: string, vin: string): boolean {
  const { storedVins = [], formerVins = {} } = shipments.find((one) => one.id === id) ?? {}
  return storedVins.includes(vin) || vin in formerVins
}

/** Law 3, the table: chooses the vehicle; the newest shipment comes first. */
function chosen(world: World, bearers: readonly string[], { vin, use, changesVehicle }: Case): Verdict {
  const shipments = bearers.map((id) => {
    const one = world.shipments.find((shipment) => shipment.id === id)
    const { vins = [], storedVins = [], formerVins = {}, state = 'gone' } = one ?? {}
    const isGone = state === 'gone'
    return { id, isGone, vins: isGone ? [] : vins, before: [...storedVins, ...Object.keys(formerVins)] }
  })
  const [newest] = shipments
  if (!newest) throw new Error('Nothing bears the name.')
  const one = (id: string, entry: number, kind: 'none' | 'own' | 'former' | 'new' | 'changed', row: Row) =>
    ({ is: 'shipment', id, entry, vin: kind, row }) as const
  // An update or a read of one that is gone finds nothing, whatever its VIN; a cancellation by a VIN that it never had is refused.
  if (shipments.length === 1 && newest.isGone) {
    if (use !== 'cancel') return { is: 'unknown' }
    const { before } = newest
    if (vin !== '' && before.length > 0 && !['', vin].some((had) => before.includes(had)))
      return { is: 'several', row: 'anything else' }
    return one(newest.id, 0, vin === '' ? 'none' : 'new', 'no VIN, one shipment')
  }
  if (vin === '') {
    if (shipments.length > 1) {
      const row = 'no VIN, several shipments'
      return use === 'read' ? one(newest.id, 0, 'none', row) : { is: 'several', row }
    }
    const row = 'no VIN, one shipment'
    if (use === 'update' && changesVehicle && newest.vins.length > 1) return { is: 'several', row }
    return one(newest.id, 0, 'none', row)
  }
  const own = shipments
    .filter(({ vins }) => vins.includes(vin))
    .map(({ id, vins }) => ({ id, entry: vins.indexOf(vin), kind: 'own', of: vins.length }) as const)
  const former = shipments
    .filter(({ vins, before }) => own.length === 0 && vins.length === 1 && before.includes(vin))
    .map(({ id, vins: [now] }) => ({ id, entry: 0, kind: now === '' ? 'new' : 'former', of: 1 }) as const)
  const [holder, ...more] = [...own, ...former]
  if (holder) {
    const row = 'a vehicle of one of them'
    const isRefused = (use !== 'read' && more.length > 0) || (use === 'cancel' && holder.of > 1)
    return isRefused ? { is: 'several', row } : one(holder.id, holder.entry, holder.kind, row)
  }
  const blank = shipments.filter(({ vins }) => vins.includes(''))
  const [only] = blank
  if (only && blank.length === 1) {
    const row = 'a vehicle without a VIN'
    if (use === 'cancel' && only.vins.length > 1) return { is: 'several', row }
    return one(only.id, only.vins.indexOf(''), 'new', row)
  }
  if (shipments.length === 1 && newest.vins.length === 1) {
    const row = 'one shipment of one vehicle'
    if (use === 'update') return one(newest.id, 0, 'changed', row)
    return { is: use === 'read' ? 'no-such-vehicle' : 'several', row }
  }
  return { is: use === 'read' ? 'no-such-vehicle' : 'several', row: 'anything else' }
}
