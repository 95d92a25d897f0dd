import type { Drift } from '../store/drift.ts'
import { print, printJson } from './output.ts'
import { withExistingStore } from './store.ts'

/** Lists how the replies of the service differ from what the gateway knows, from the store of running gateways. */
export function checkDrift(asJson: boolean): Promise<number> {
  return withExistingStore(async (store) => {
    const all = await store.listDrift()
    if (asJson) printJson(all.map(shownDrift), 2)
    else if (all.length === 0) print('No reply of the service has differed from what the gateway knows.')
    else print(...linesOf(all))
    return 0
  })
}

function shownDrift({ kind, path, count, firstAt, lastAt }: Drift): object {
  return { kind, path, count, firstAt: timeOf(firstAt), lastAt: timeOf(lastAt) }
}

function linesOf(all: readonly Drift[]): readonly string[] {
  const head = ['difference', 'replies', 'first seen', 'last seen', 'place']
  const rows = all.map(({ kind, path, count, firstAt, lastAt }) => [
    kind,
    String(count),
    timeOf(firstAt),
    timeOf(lastAt),
    path,
  ])
  const widths = head.map((_, i) => Math.max(...[head, ...rows].map((cells) => cells[i]?.length ?? 0)))
  return [head, ...rows].map((cells) =>
    cells
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}

const timeOf = (at: number): string => new Date(at).toISOString()
