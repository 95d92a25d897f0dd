import type { Catalog } from '../mapping/catalog.ts'
import { type CallCount, DAY_MS, type NameCount, OTHER_NAMES } from '../store/scoreboard.ts'
import { createEquivalents, type Equivalent, requestOf } from './equivalents.ts'
import { VERSION_2_BODY } from './version-2-body.ts'

/** One thing that a caller has to change before version 1 can be switched off. */
export interface WorkItem {
  readonly kind: 'action' | 'field' | 'assumed' | 'unknown'
  /** Empty for unknown fields. */
  readonly action: string
  readonly name: string
  /** How often it was used since it was first seen. */
  readonly count: number
  /** The version-2 places or requests. */
  readonly equivalents: readonly string[]
  readonly note: string
  /** Why the change is more than another spelling. */
  readonly blocks: 'no version-2 equal' | 'loses something' | undefined
}

/** Lists the work that the recent version-1 calls of a tenant leave, what blocks first. */
export type ListWork = (
  calls: readonly CallCount[],
  names: readonly NameCount[],
  fromDay: number,
) => readonly WorkItem[]

/** Makes the function that lists the work of a tenant, with the equivalents of these declarations. */
export function createListWork(catalog: Catalog): ListWork {
  const equivalent = createEquivalents(catalog)
  return (calls, names, fromDay) => {
    const recent = names.filter(({ lastAt }) => lastAt >= fromDay * DAY_MS)
    const lossy = new Map(recent.filter(({ kind }) => kind === 'lossy').map((count) => [keyOf(count), count.count]))
    const items = [
      ...actionsInUse(calls, fromDay, catalog),
      ...recent.flatMap((count) => fieldWork(count, lossy.get(keyOf(count)), equivalent)),
    ]
    return items.sort((one, other) => Number(other.blocks !== undefined) - Number(one.blocks !== undefined))
  }
}

const keyOf = ({ action, name }: NameCount) => `${action} ${name}`

function actionsInUse(calls: readonly CallCount[], fromDay: number, catalog: Catalog): WorkItem[] {
  const counts = new Map<string, number>()
  for (const { use, action, day, calls: count } of calls) {
    if (use === 'version-1' && action !== '' && day >= fromDay) counts.set(action, (counts.get(action) ?? 0) + count)
  }
  return [...counts].map(([name, count]) => {
    const declared = catalog.actions.get(name)?.action
    const item = { kind: 'action', action: name, name, count } as const
    if (declared) return { ...item, equivalents: [requestOf(declared)], note: declared.summary, blocks: undefined }
    if (name === VERSION_2_BODY) {
      const note = 'a version-2 body on a version-1 path: only the path is left to change'
      return { ...item, equivalents: ['/v2/'], note, blocks: undefined }
    }
    const note = 'the mappings of this gateway do not declare it any more'
    return { ...item, equivalents: [], note, blocks: 'no version-2 equal' }
  })
}

function fieldWork(
  { kind, action, name, count }: NameCount,
  lossyCount: number | undefined,
  equivalent: ReturnType<typeof createEquivalents>,
): WorkItem[] {
  switch (kind) {
    case 'used':
    case 'unused': {
      const known = equivalent(action, name)
      return [{ kind: 'field', action, name, count, ...fieldEquivalent(known, lossyCount) }]
    }
    case 'assumed': {
      const places = equivalent(action, name)?.places ?? [name]
      const note = 'the gateway assumes a value where the caller sends none, or an incomplete one'
      return [{ kind, action, name, count, equivalents: places, note, blocks: undefined }]
    }
    case 'unknown': {
      const note =
        name === OTHER_NAMES ? 'further fields that no mapping knows' : 'no mapping knows it; the gateway leaves it out'
      return [{ kind, action, name, count, equivalents: [], note, blocks: 'no version-2 equal' }]
    }
    default:
      return []
  }
}

function fieldEquivalent(
  known: Equivalent | undefined,
  lossyCount: number | undefined,
): Pick<WorkItem, 'equivalents' | 'note' | 'blocks'> {
  if (!known || known.places.length === 0) {
    const note = known?.note ?? 'the mappings of this gateway do not declare it any more'
    return { equivalents: [], note, blocks: 'no version-2 equal' }
  }
  const { places: equivalents, note } = known
  if (lossyCount === undefined) return { equivalents, note, blocks: undefined }
  return { equivalents, note: `lost a part ${lossyCount} times. ${note}`, blocks: 'loses something' }
}
