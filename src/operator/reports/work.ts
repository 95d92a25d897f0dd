import { type ErrorCode, errorTable, faultOf } from '../../language/errors.ts'
import type { Catalog } from '../../language/mapping/catalog.ts'
import { meantField } from '../../language/mapping/fields.ts'
import { type CallCount, DAY_MS, type NameCount, OTHER_NAMES } from '../../outside/store/scoreboard.ts'
import { VERSION_2_BODY } from '../../state/uses/counts.ts'
import { errorTitle, grouped, isoTime, largestFirst, shortSummary, total } from '../words.ts'
import { equivalentOf, requestOf } from './equivalents.ts'
import { dayText } from './verdict.ts'

/* What is left to do before a tenant can leave version 1. */

/** One thing that a caller has to change before version 1 can be switched off. */
export interface WorkItem {
  readonly kind: 'action' | 'field' | 'assumed' | 'unknown'
  /** Empty for unknown fields. */
  readonly action: string
  readonly name: string
  /** How often it was used, or lost a part, since it was first seen. */
  readonly count: number
  /** When that was last. */
  readonly last: string
  /** The version-2 places or requests. */
  readonly equivalents: readonly string[]
  readonly note: string
  /** The known field that an unknown one may stand for. */
  readonly didYouMean?: string | undefined
  /** Why the change is more than another spelling. */
  readonly blocks:
    | 'no version-2 equivalent'
    | 'unknown field'
    | 'loses part of its value'
    | 'refused if it has a value'
    | undefined
}

/** Returns a name with its counts. */
export const countedOf = ({ name, count, firstAt, lastAt }: NameCount) => ({
  name,
  count,
  first: isoTime(firstAt),
  last: isoTime(lastAt),
})

/** Lists errors, each with the request id of its last call. */
export function errorsOf(calls: readonly CallCount[], names: readonly NameCount[]) {
  const ofVersion1 = calls.filter(({ action }) => action !== VERSION_2_BODY)
  const endedWith = Map.groupBy(ofVersion1, ({ outcome }) => outcome)
  return names
    .filter(({ kind }) => kind === 'error')
    .map((count) => ({
      ...countedOf(count),
      /** How many recent version-1 calls ended with it. */
      version1: total(endedWith.get(count.name) ?? [], 'calls'),
      requestId: count.example,
    }))
    .sort(largestFirst('count'))
}

/** Lists each problem of a tenant once: what keeps it from moving, or its version-1 calls from working. */
export function problemsOf({
  work,
  errors,
}: {
  readonly work: readonly WorkItem[]
  readonly errors: ReturnType<typeof errorsOf>
}) {
  const blocking = work.flatMap((item) => {
    const { blocks, action, name, count, last } = item
    const problem = `${action} ${name || 'other fields'}: ${blocks}`.trimStart()
    return blocks === undefined ? [] : { problem, count, last, todo: todoFor(item) }
  })
  const refused = errors.flatMap(({ name, version1, last }) => {
    const todo = version1 === 0 ? undefined : todoAfter(name)
    return todo === undefined ? [] : { problem: errorTitle(name), count: version1, last, todo }
  })
  return [...blocking, ...refused]
}

/** Says what to do about a field. */
export function todoFor({
  equivalents,
  note,
  didYouMean,
  blocks,
}: Pick<WorkItem, 'equivalents' | 'note' | 'didYouMean' | 'blocks'>): string {
  if (blocks === 'refused if it has a value') return note
  if (didYouMean !== undefined) return `Did you mean ${didYouMean}? The gateway leaves this field out.`
  return equivalents.length > 0 ? `Send ${equivalents.join(', ')}: ${note}` : `Leave it out: ${note}`
}

/** Errors whose fields a dry run explains. */
const EXPLAINED: ReadonlySet<string> = new Set<ErrorCode>([
  'body-unreadable',
  'too-many-fields',
  'action-unknown',
  'generations-mixed',
  'number-missing',
  'untranslatable',
])

/** Says what a caller does about an error; undefined for one that it cannot end. */
function todoAfter(code: string): string | undefined {
  if (EXPLAINED.has(code)) return 'Send the same call to /dry-run: it names every field that is wrong, and why.'
  const fault = faultOf(code)
  if (fault === 'nobody') return 'Move these calls to version 2: the fix-it kit has the code.'
  if (fault !== 'caller' || !Object.hasOwn(errorTable, code)) return undefined
  // The table has it.
  return errorTable[code as ErrorCode].advice[2].replaceAll('`', '')
}

const UNDECLARED = {
  equivalents: [],
  note: "this gateway's mappings no longer declare it",
  blocks: 'no version-2 equivalent',
} as const

/** Returns what a tenant called and sent with version 1 from a day on. */
export const latelyIn = (calls: readonly CallCount[], names: readonly NameCount[], fromDay: number) => ({
  calls: calls.filter(({ use, day }) => use === 'version-1' && day >= fromDay),
  names: names.filter(({ lastAt }) => lastAt >= fromDay * DAY_MS),
})

/** Lists the work that these calls leave, what blocks first. Unknown fields may stand for the known ones. @default those declared */
export function workOf(
  { calls, names }: ReturnType<typeof latelyIn>,
  catalog: Catalog,
  known: readonly string[] = [...catalog.actions.values()].flatMap(({ fields }) => fields.names),
): readonly WorkItem[] {
  const lossy = new Map(names.filter(({ kind }) => kind === 'lossy').map((count) => [keyOf(count), count]))
  const items = [
    ...actionsInUse(calls, catalog),
    ...names.flatMap((count) => fieldWork(count, lossy.get(keyOf(count)), catalog, known)),
  ]
  return items.sort((one, other) => Number(other.blocks !== undefined) - Number(one.blocks !== undefined))
}

export const keyOf = ({ action, name }: NameCount) => `${action} ${name}`

function actionsInUse(calls: readonly CallCount[], catalog: Catalog): WorkItem[] {
  const recognized = calls.filter(({ action }) => action !== '')
  return [...Map.groupBy(recognized, ({ action }) => action)].map(([name, counts]) => {
    const declared = catalog.actions.get(name)?.action
    const last = dayText(Math.max(...counts.map(({ day }) => day)))
    const item = { kind: 'action', action: name, name, count: total(counts, 'calls'), last } as const
    if (declared)
      return { ...item, equivalents: [requestOf(declared)], note: shortSummary(declared), blocks: undefined }
    if (name !== VERSION_2_BODY) return { ...item, ...UNDECLARED }
    const note = 'a version-2 body on a version-1 path; only the path has to change'
    return { ...item, equivalents: ['/v2/'], note, blocks: undefined }
  })
}

function fieldWork(
  { kind, action, name, count, lastAt }: NameCount,
  lost: NameCount | undefined,
  catalog: Catalog,
  known: readonly string[],
): WorkItem[] {
  const item = { action, name, count, last: isoTime(lastAt), blocks: undefined }
  const found = equivalentOf(action, name, catalog)
  if (kind === 'assumed') {
    const note = 'the gateway assumes a value, because the caller sends none or an incomplete one'
    return [{ ...item, kind, equivalents: found?.places ?? [name], note }]
  }
  if (kind === 'unknown') {
    const refusals = [...catalog.actions.values()].flatMap(({ action: { refuses = [] } }) => refuses)
    const refusal = refusals.find(({ fields }) => fields.test(name))
    // The caller means something by it: without it, a vehicle is lost.
    if (refusal)
      return [{ ...item, kind, equivalents: [], note: `It ${refusal.problem}.`, blocks: 'refused if it has a value' }]
    const note =
      name === OTHER_NAMES ? 'no mapping knows these fields' : 'no mapping knows it; the gateway leaves it out'
    // Another action may know it.
    const didYouMean = known.includes(name) ? undefined : meantField(name, known)
    return [{ ...item, kind, equivalents: [], note, didYouMean, blocks: 'unknown field' }]
  }
  if (kind !== 'used' && kind !== 'unused') return []
  const { places: equivalents = [], note = UNDECLARED.note } = found ?? {}
  const field = { ...item, kind: 'field', equivalents, note } as const
  if (equivalents.length === 0) return [{ ...field, blocks: UNDECLARED.blocks }]
  if (lost === undefined) return [field]
  return [
    {
      ...field,
      count: lost.count,
      last: isoTime(lost.lastAt),
      note: `part of the value was lost ${grouped(lost.count)} times. ${note}`,
      blocks: 'loses part of its value',
    },
  ]
}
