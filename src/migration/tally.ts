import type { CompiledAction } from '../mapping/compile.ts'
import type { Fields } from '../mapping/fields.ts'
import type { Note } from '../mapping/notes.ts'
import { fieldsOf } from '../mapping/row-parts.ts'
import { type CallCount, mostNames, type NameCount, type NameKind, OTHER_NAMES, type Use } from '../store/scoreboard.ts'

const LONGEST_NAME_CHARACTERS = 64
const LONGEST_TENANT_CHARACTERS = 256

/** Returns a name that a caller chose in a form that every store keeps. */
export const storableName = (name: string): string => storable(name, LONGEST_NAME_CHARACTERS)

/** Returns the name of a tenant in a form that every store keeps. */
export const storableTenant = (name: string): string => storable(name, LONGEST_TENANT_CHARACTERS)

function storable(text: string, limit: number): string {
  const short = text.length > limit ? `${text.slice(0, limit - 1)}…` : text
  return short.toWellFormed().replaceAll('\0', '�')
}

/** If a field that is sent has an effect: a version-2 value, a name that is resolved, or a fact that is remembered. */
type SlotKind = 'used' | 'unused'

const known = new WeakMap<CompiledAction, readonly SlotKind[]>()

/** Returns the kinds of an action's fields, by slot. */
export function slotKinds(compiled: CompiledAction): readonly SlotKind[] {
  const before = known.get(compiled)
  if (before) return before
  const { action, fields } = compiled
  const rows = [...action.request, ...(action.remember ?? [])]
  const used = new Set(rows.filter(({ kind }) => kind !== 'v1Only').flatMap(fieldsOf))
  const kinds = fields.names.map((name) => (used.has(name) || name === ACTION_NAME ? 'used' : 'unused'))
  known.set(compiled, kinds)
  return kinds
}

/** The field that chooses the action: version 2 has a path for each. */
export const ACTION_NAME = 'ActionName'

/** The facts of an answered call that are counted. */
export interface CountedCall {
  readonly use: Use
  /** Empty where it is not known. */
  readonly action: string
  /** `done`, `replayed` or the code of the error. */
  readonly outcome: string
  readonly requestId: string
  readonly agent: string
  /** The address, or the network, that the call came from. */
  readonly source: string
  /** Of a version-1 call whose action is known. */
  readonly request: { readonly compiled: CompiledAction; readonly fields: Fields } | undefined
  readonly notes: readonly Note[]
}

export const DONE = 'done'
export const REPLAYED = 'replayed'

/** Names that are waiting to be stored, beyond the limit of their kind: the store may know other ones already. */
const PENDING_FACTOR = 2

interface Calls extends Pick<CallCount, 'day' | 'use' | 'action' | 'outcome'> {
  calls: number
}

interface Named extends Pick<NameCount, 'kind' | 'action' | 'name' | 'firstAt'> {
  count: number
  lastAt: number
  example: string
}

interface Slots {
  /** How often each field of the action was sent. */
  readonly sent: Float64Array
  readonly firstAt: number
  lastAt: number
}

/** The counts of one tenant that are not stored yet. */
export interface Tally {
  readonly add: (call: CountedCall, now: number, day: number) => void
  readonly calls: (tenant: string) => readonly CallCount[]
  readonly names: (tenant: string) => readonly NameCount[]
}

/** Makes the counts of a tenant. A call costs a few look-ups and allocates nothing once its names are known. */
export function createTally(mayGrow: () => boolean): Tally {
  const calls = new Map<string, Calls>()
  const named = new Map<string, Map<string, Named>>()
  const slots = new Map<CompiledAction, Slots>()

  function addName(kind: NameKind, action: string, name: string, now: number, example = ''): void {
    const group = `${kind} ${action}`
    let names = named.get(group)
    if (!names) {
      names = new Map()
      named.set(group, names)
    }
    const known = names.get(name) ?? newName(names, kind, action, name, now)
    known.count += 1
    known.lastAt = now
    known.example = example
  }

  function newName(names: Map<string, Named>, kind: NameKind, action: string, sent: string, now: number): Named {
    const own = storableName(sent)
    const short = names.get(own)
    if (short) return short
    const most = mostNames(kind)
    const isBeyond = most !== undefined && (names.size >= most * PENDING_FACTOR || !mayGrow())
    const name = isBeyond ? OTHER_NAMES : own
    const known = names.get(name)
    if (known) return known
    const made = { kind, action, name, count: 0, firstAt: now, lastAt: now, example: '' }
    names.set(name, made)
    return made
  }

  function addFields({ compiled, fields }: NonNullable<CountedCall['request']>, now: number): void {
    const { values, unknown } = fields
    let sorted = slots.get(compiled)
    if (!sorted) {
      sorted = { sent: new Float64Array(values.length), firstAt: now, lastAt: now }
      slots.set(compiled, sorted)
    }
    const { sent } = sorted
    for (let slot = 0; slot < values.length; slot += 1)
      if (values[slot] !== undefined) sent[slot] = (sent[slot] ?? 0) + 1
    sorted.lastAt = now
    for (const [i, name] of unknown.entries()) if (unknown.indexOf(name) === i) addName('unknown', '', name, now)
  }

  return {
    add(call, now, day) {
      const { use, action, outcome } = call
      const key = `${day} ${use} ${action} ${outcome}`
      const known = calls.get(key)
      if (known) known.calls += 1
      else calls.set(key, { day, use, action, outcome, calls: 1 })
      addName('use', '', use, now)
      if (use === 'dry-run') return
      if (outcome !== DONE && outcome !== REPLAYED) addName('error', '', outcome, now, call.requestId)
      addName('agent', '', productOf(call.agent), now)
      addName('network', '', networkOf(call.source), now)
      if (call.request) addFields(call.request, now)
      for (const { code, name } of call.notes) if (code !== 'warning') addName(code, action, name, now)
    },
    calls: (tenant) => [...calls.values()].map((count) => ({ tenant, ...count })),
    names: (tenant) => [
      ...[...named.values()].flatMap((names) => [...names.values()].map((count) => ({ tenant, ...count }))),
      ...[...slots].flatMap(([compiled, counted]) => fieldCounts(tenant, compiled, counted)),
    ],
  }
}

function fieldCounts(tenant: string, compiled: CompiledAction, { sent, firstAt, lastAt }: Slots): NameCount[] {
  const kinds = slotKinds(compiled)
  return [...sent].flatMap((count, slot) => {
    const name = compiled.fields.names[slot]
    const kind = kinds[slot]
    if (count === 0 || name === undefined || kind === undefined) return []
    return [{ tenant, kind, action: compiled.action.name, name, count, firstAt, lastAt, example: '' }]
  })
}

/** How many raw values are remembered with their short forms; strangers cannot make the tables grow. */
const MOST_REMEMBERED = 1_000

const PRODUCT = /^([^\s/();,]+)(?:\/v?(\d{1,6}))?/
const LONGEST_AGENT_CHARACTERS = 256

/** Returns the product and the major version of a user agent, such as `curl/8`. */
export const productOf = remembered((agent) => {
  const [, product = '', major] = PRODUCT.exec(agent.slice(0, LONGEST_AGENT_CHARACTERS).trim()) ?? []
  if (product === '') return 'none'
  return storableName(major === undefined ? product : `${product}/${major}`)
})

/** Returns the network of a source: the /24 of an IPv4 address; an IPv6 source is a /64 already. */
export const networkOf = remembered((source) => {
  const lastDot = source.lastIndexOf('.')
  return lastDot === -1 ? source || 'unknown' : `${source.slice(0, lastDot)}.0/24`
})

/** Keeps the results of a pure function. */
function remembered(make: (text: string) => string): (text: string) => string {
  const known = new Map<string, string>()
  return (text) => {
    const before = known.get(text)
    if (before !== undefined) return before
    if (known.size >= MOST_REMEMBERED) known.clear()
    const made = make(text)
    known.set(text, made)
    return made
  }
}

/** The action of a version-2 body on a version-1 path. */
export const VERSION_2_BODY = 'version-2 body'
