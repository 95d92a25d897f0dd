import { createMemoryStore } from '../../src/outside/store/sqlite/sqlite.ts'
import type { ShipmentChange, Store, StoredShipment } from '../../src/outside/store/store.ts'
import type { Look, Names, openNames, SeenShipment } from '../../src/state/names/names.ts'
import type { chooseVehicle, Question, Resolution } from '../../src/state/names/resolve.ts'
import { inSample } from '../size.ts'
import { type Case, cases, expected, type State, type Verdict, type World, worlds, writeWorld } from './world.ts'

/** The room under test, as shipped or with a mistake. */
export interface Room {
  readonly openNames: typeof openNames
  readonly chooseVehicle: typeof chooseVehicle
}

/** A call with a different meaning than it should have. */
export interface Violation {
  readonly law: string
  readonly world: string
  readonly call: Case
  readonly expected: Verdict
  readonly actual: Verdict
}

/** The result of trying all small worlds. */
export interface Trial {
  readonly cases: number
  /** The number of times that each outcome or row of the table was expected. */
  readonly seen: ReadonlyMap<string, number>
  readonly violations: readonly Violation[]
}

/** Writes every world into one store: the title of a world is its tenant. */
async function storeOfWorlds(): Promise<Store> {
  // None was booked before another one was gone.
  const store = createMemoryStore({ now: () => 1_000 })
  for (const world of worlds) await writeWorld(world, world.title, store)
  return store
}

let stored: Promise<Store> | undefined

/** Tries every call in every small world, or in a sample of them; stops after `most` violations. */
export async function tryWorlds(room: Room, most: number, oneIn = 1): Promise<Trial> {
  stored ??= storeOfWorlds()
  const store = await stored
  const violations: Violation[] = []
  const seen = new Map<string, number>()
  let count = 0
  let turn = 0
  for (const world of worlds) {
    turn += 1
    if (!inSample(turn, oneIn)) continue
    const kept = keptReads(store)
    const names = room.openNames(kept, Number.POSITIVE_INFINITY)
    for (const call of cases(turn)) {
      count += 1
      const should = expected(world, call)
      const key = 'row' in should ? `${should.row}: ${call.use}: ${should.is}` : should.is
      seen.set(key, (seen.get(key) ?? 0) + 1)
      kept.forget()
      const { is, hasLooked } = await meaningOf(world, call, names, room.chooseVehicle)
      kept.forget()
      // Without a look, the dry run does what the call does.
      const law =
        lawBroken(should, is) ??
        (hasLooked ? dryRunBroken((await names.resolve(call, world.title)).resolution, is) : undefined)
      if (law !== undefined) violations.push({ law, world: world.title, call, expected: should, actual: is })
      if (violations.length >= most) return { cases: count, seen, violations }
    }
  }
  return { cases: count, seen, violations }
}

/** Returns the law that a meaning breaks; undefined if it is correct. */
function lawBroken(should: Verdict, is: Verdict): string | undefined {
  if (should.is === 'shipment' && is.is === 'shipment') {
    if (should.id !== is.id) return `another shipment (${should.row})`
    return should.entry === is.entry && should.vin === is.vin ? undefined : `another vehicle (${should.row})`
  }
  if (should.is === 'quote' && is.is === 'quote') return should.id === is.id.toLowerCase() ? undefined : 'another quote'
  if (should.is === is.is) return undefined
  return `${'row' in should ? `${should.row}: ` : ''}${should.is}, not ${is.is}`
}

/** Law 1: the dry run says the same, except for what only the service knows. */
function dryRunBroken(dry: Resolution | Question, live: Verdict): string | undefined {
  switch (dry.is) {
    case 'ask':
    case 'look':
      return undefined
    case 'shipment':
      if (live.is === 'shipment') return live.id === dry.id ? undefined : 'the dry run means another shipment'
      // A read of the one shipment shows the rest.
      return live.is === 'several' || live.is === 'unknown'
        ? undefined
        : `the dry run means a shipment, the call is ${live.is}`
    default:
      return dry.is === live.is ? undefined : `the dry run is ${dry.is}, the call is ${live.is}`
  }
}

/** Finds out what a call means, as the verbs do. */
async function meaningOf(
  world: World,
  call: Case,
  names: Names,
  choose: Room['chooseVehicle'],
): Promise<{ readonly is: Verdict; readonly hasLooked: boolean }> {
  const { look, looks } = lookAt(world, names)
  const { resolution, seen } = await names.resolve(call, world.title, look)
  const hasLooked = looks() > 0
  const verdict = async (): Promise<Verdict> => {
    if (resolution.is === 'quote') return { is: 'quote', id: resolution.id }
    if (resolution.is === 'several' || resolution.is === 'no-such-vehicle')
      return { is: resolution.is, row: 'anything else' }
    if (resolution.is === 'ask' || resolution.is === 'look') throw new Error('The meaning is open after a look.')
    if (resolution.is !== 'shipment') return { is: resolution.is }
    const { id } = resolution
    const shown = call.use === 'update' ? await look.read(id) : (seen.get(id.toLowerCase()) ?? (await look.read(id)))
    if (shown.state === 'gone' && call.use !== 'cancel') return { is: 'unknown' }
    const { formerVins = {} } = (await names.shipment(world.title, id)) ?? {}
    const choice = choose(call, [{ ...shown, stored: { formerVins }, isGone: false }])
    if ('is' in choice) return { is: choice.is, row: 'anything else' }
    return { is: 'shipment', id: id.toLowerCase(), entry: choice.entry, vin: choice.vin, row: 'anything else' }
  }
  return { is: await verdict(), hasLooked }
}

/** Looks at a world's service, and notes what it shows, as calls do. */
function lookAt(
  { shipments, title: tenant }: World,
  names: Names,
): { readonly look: Look; readonly looks: () => number } {
  let count = 0
  const shownOf = (id: string): SeenShipment => {
    const one = shipments.find((shipment) => shipment.id === id.toLowerCase())
    if (!one || one.state === 'gone') return { id, body: undefined, vehicles: [], state: 'gone' }
    const vehicles = one.vins.map((vin) => ({ vin, year: '', make: '', model: '' }))
    return { id: one.id, body: {}, vehicles, state: one.state as State }
  }
  const note = async (seen: SeenShipment) => {
    if (seen.body !== undefined || (await names.shipment(tenant, seen.id))) await names.noteShown(tenant, seen, [])
    return seen
  }
  const look: Look = {
    ask: async (value) => {
      count += 1
      const one = shipments.find(
        ({ id, number, state }) => state !== 'gone' && (id === value.toLowerCase() || number === value),
      )
      // The service may spell an id in a different case than before.
      return one && (await note({ ...shownOf(one.id), id: one.id.toUpperCase() }))
    },
    read: async (id) => {
      count += 1
      return await note(shownOf(id))
    },
  }
  return { look, looks: () => count }
}

/** Caches reads of a store that nothing changes; the writes of a call are forgotten after it. */
function keptReads(store: Store): Store & { readonly forget: () => void } {
  const kept = <T>(read: (tenant: string, key: string) => Promise<T>) => {
    const known = new Map<string, Promise<T>>()
    return (tenant: string, key: string) => {
      const before = known.get(key)
      if (before) return before
      const reading = read(tenant, key)
      known.set(key, reading)
      return reading
    }
  }
  const changes = new Map<string, ShipmentChange>()
  const shipment = kept((tenant, id) => store.shipment(tenant, id))
  return {
    ...store,
    named: kept((tenant, name) => store.named(tenant, name)),
    quote: kept((tenant, id) => store.quote(tenant, id)),
    shipmentsOfQuote: kept((tenant, quote) => store.shipmentsOfQuote(tenant, quote)),
    claimsOfReference: kept((tenant, reference) => store.claimsOfReference(tenant, reference)),
    shipment: async (tenant, id) => {
      const change = changes.get(id.toLowerCase())
      const before = await shipment(tenant, id)
      if (!change) return before
      const blank: StoredShipment = {
        tenant,
        id,
        own: '',
        vehicles: [],
        formerVins: {},
        state: 'live',
        quote: '',
        at: 0,
      }
      return { ...blank, ...before, ...change }
    },
    put: async ({ shipment: change }) => {
      if (change) changes.set(change.id.toLowerCase(), { ...changes.get(change.id.toLowerCase()), ...change })
    },
    forget: () => changes.clear(),
  }
}
