/*
 * The shape of a reply of the service, as plain data: its members, their types, and the values that are known. It serves
 * to notice what a reply has otherwise, never to refuse a reply.
 */

/** The shape of a value. */
export type Shape =
  | { readonly kind: 'text' | 'number' | 'flag' | 'date' | 'any'; readonly form?: Form }
  | { readonly kind: 'choice'; readonly values: readonly string[] }
  | { readonly kind: 'object'; readonly members: Members; readonly required: readonly string[] }
  | { readonly kind: 'list'; readonly of: Shape }

/** The form that a value has in a request. The service's replies are read in any form. */
export interface Form {
  readonly pattern: RegExp
  /** Completes a sentence that begins with the member's name. */
  readonly says: string
}

/** The members of an object, by name. */
export type Members = Readonly<Record<string, Shape>>

export const text: Shape = { kind: 'text' }
/** A number of any digits. */
export const number: Shape = { kind: 'number' }
export const flag: Shape = { kind: 'flag' }
/** A date-time in one of the service's two forms. */
export const date: Shape = { kind: 'date' }
/** A value that is known to exist, of a form that is not. */
export const any: Shape = { kind: 'any' }
/** A text that is one of these. */
export const choice = (...values: readonly string[]): Shape => ({ kind: 'choice', values })
/** An object with these members; those that are required must be there, and not null. */
export const object = (members: Members, required: readonly string[] = []): Shape => ({
  kind: 'object',
  members,
  required,
})
/** A list of values of one shape. */
export const list = (of: Shape): Shape => ({ kind: 'list', of })

/** The ways in which a reply can differ from its shape. */
export const DRIFT_KINDS = ['new-field', 'missing-field', 'other-type', 'new-value', 'other-date-form'] as const
export type DriftKind = (typeof DRIFT_KINDS)[number]

/** Is told every difference, by its place: `vehicles[].color`. It never gets a value. */
export type NoteDrift = (kind: DriftKind, path: string) => void

/** Compares a reply with its shape. */
export type Inspect = (body: unknown, note: NoteDrift) => void

/** A shape with parsed places. All nodes have the same members, which keeps reads of them fast. */
interface Node {
  readonly kind: Shape['kind']
  readonly path: string
  readonly isRequired: boolean
  readonly members: ReadonlyMap<string, Node>
  readonly required: readonly Node[]
  readonly values: ReadonlySet<string>
  readonly entry: Node | undefined
}

/** Compiles a shape. An inspection without a difference allocates nothing. */
export function compileShape(shape: Shape): Inspect {
  const root = nodeOf(shape, '', false)
  return (body, note) => {
    // An empty body shows nothing, and what is no object at all was refused before.
    if (typeof body === 'object' && body !== null && !Array.isArray(body)) inspectObject(root, body, note)
  }
}

function nodeOf(shape: Shape, path: string, isRequired: boolean): Node {
  const members = new Map<string, Node>()
  if (shape.kind === 'object') {
    for (const [name, member] of Object.entries(shape.members)) {
      members.set(name, nodeOf(member, path === '' ? name : `${path}.${name}`, shape.required.includes(name)))
    }
  }
  return {
    kind: shape.kind,
    path,
    isRequired,
    members,
    required: [...members.values()].filter((member) => member.isRequired),
    values: new Set(shape.kind === 'choice' ? shape.values : []),
    entry: shape.kind === 'list' ? nodeOf(shape.of, `${path}[]`, false) : undefined,
  }
}

/** An object with more new members is not read to its end: a reply may have a million. */
const MOST_NEW_FIELDS = 50

function inspectObject(node: Node, value: object, note: NoteDrift): void {
  let found = 0
  let news = 0
  for (const name in value) {
    const member = node.members.get(name)
    if (member === undefined) {
      news += 1
      note('new-field', newPath(node, name))
      if (news === MOST_NEW_FIELDS) break
      continue
    }
    // The name was just read from the object.
    const inner = (value as Readonly<Record<string, unknown>>)[name]
    if (inner === null || inner === undefined) continue
    if (member.isRequired) found += 1
    if (member.kind === 'any' || (member.kind === 'text' && typeof inner === 'string')) continue
    inspectValue(member, inner, note)
  }
  if (found === node.required.length) return
  for (const { path } of node.required.filter((member) => isAbsent(value, member, node))) note('missing-field', path)
}

function isAbsent(value: object, member: Node, holder: Node): boolean {
  const name = holder.path === '' ? member.path : member.path.slice(holder.path.length + 1)
  const found = Object.hasOwn(value, name) ? (value as Readonly<Record<string, unknown>>)[name] : undefined
  return found === undefined || found === null
}

/** A service with larger lists shows the same in every entry. */
const MOST_ENTRIES = 100
export const DATE = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{3})?[+-]\d{4}$/

function inspectValue(node: Node, value: unknown, note: NoteDrift): void {
  switch (node.kind) {
    case 'any':
      return
    case 'text':
      if (typeof value !== 'string') note('other-type', node.path)
      return
    case 'number':
      if (typeof value !== 'number' && !JSON.isRawJSON(value)) note('other-type', node.path)
      return
    case 'flag':
      if (typeof value !== 'boolean') note('other-type', node.path)
      return
    case 'date':
      if (typeof value !== 'string') note('other-type', node.path)
      else if (value !== '' && !DATE.test(value)) note('other-date-form', node.path)
      return
    case 'choice':
      if (typeof value !== 'string') note('other-type', node.path)
      else if (value !== '' && !node.values.has(value)) note('new-value', node.path)
      return
    case 'object':
      if (typeof value !== 'object' || value === null || Array.isArray(value) || JSON.isRawJSON(value)) {
        note('other-type', node.path)
      } else inspectObject(node, value, note)
      return
    case 'list':
      inspectList(node, value, note)
      return
    default:
      node.kind satisfies never
  }
}

function inspectList({ path, entry }: Node, value: unknown, note: NoteDrift): void {
  if (!Array.isArray(value)) {
    note('other-type', path)
    return
  }
  if (!entry) return
  for (let i = 0; i < value.length && i < MOST_ENTRIES; i += 1) inspectValue(entry, value[i], note)
}

/** Names that a service gives to members. Others may be values, such as ids or addresses, and are not shown. */
const PLAIN_NAME = /^(?!.*\d{4})[A-Za-z_][A-Za-z0-9_-]{0,63}$/

/** Stands for the members of an object whose names may be values. */
export const UNPLAIN_NAME = '(an unusual name)'

function newPath({ path }: Node, name: string): string {
  const shown = PLAIN_NAME.test(name) ? name : UNPLAIN_NAME
  return path === '' ? shown : `${path}.${shown}`
}
