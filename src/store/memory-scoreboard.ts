import { compareBytes } from './key-order.ts'
import {
  addNames,
  boundNames,
  type CallCount,
  DAY_MS,
  type NameCount,
  type Scoreboard,
  USES_AT_ONCE,
} from './scoreboard.ts'

/** Creates the counts of a store that ends with the process. */
export function createMemoryScoreboard(checkOpen: () => void): Scoreboard {
  let calls = new Map<string, CallCount>()
  let names = new Map<string, NameCount>()
  let days = new Set<number>()
  const batches = new Map<string, number>()

  const namesOf = (tenant: string): NameCount[] => [...names.values()].filter((count) => count.tenant === tenant)

  return {
    async addCounts(batch) {
      checkOpen()
      if (batch.no <= (batches.get(batch.instance) ?? 0)) return
      batches.set(batch.instance, batch.no)
      for (const day of batch.days) days.add(day)
      for (const count of batch.calls) {
        const { tenant, day, use, action, outcome } = count
        const key = JSON.stringify([tenant, day, use, action, outcome])
        calls.set(key, { ...count, calls: (calls.get(key)?.calls ?? 0) + count.calls })
      }
      const known = (tenant: string, kind: string) =>
        namesOf(tenant)
          .filter((count) => count.kind === kind)
          .map(({ name }) => name)
      for (const count of boundNames(batch.names, known)) {
        const key = JSON.stringify([count.tenant, count.kind, count.action, count.name])
        names.set(key, addNames(names.get(key), count))
      }
    },
    async countedTenants(after) {
      checkOpen()
      const uses = [...names.values()].filter(({ kind }) => kind === 'use').sort(byKey)
      const at = after ? uses.findIndex(({ tenant, name }) => tenant === after.tenant && name === after.name) + 1 : 0
      return uses.slice(at, at + USES_AT_ONCE)
    },
    async callCounts(tenant, fromDay) {
      checkOpen()
      return [...calls.values()].filter((count) => count.tenant === tenant && count.day >= fromDay).sort(byDay)
    },
    async nameCounts(tenant) {
      checkOpen()
      return namesOf(tenant).sort(byKey)
    },
    async watchedDays() {
      checkOpen()
      return [...days].sort((one, other) => one - other)
    },
    async dropCounts(beforeDay) {
      checkOpen()
      calls = new Map([...calls].filter(([, { day }]) => day >= beforeDay))
      names = new Map([...names].filter(([, { lastAt }]) => lastAt >= beforeDay * DAY_MS))
      days = new Set([...days].filter((day) => day >= beforeDay))
    },
  }
}

function byDay(one: CallCount, other: CallCount): number {
  return (
    one.day - other.day ||
    compareBytes(one.use, other.use) ||
    compareBytes(one.action, other.action) ||
    compareBytes(one.outcome, other.outcome)
  )
}

function byKey(one: NameCount, other: NameCount): number {
  return (
    compareBytes(one.tenant, other.tenant) ||
    compareBytes(one.kind, other.kind) ||
    compareBytes(one.action, other.action) ||
    compareBytes(one.name, other.name)
  )
}
