import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { type Cache, createCache } from '../../../src/store/cache.ts'
import { createReader, type Reader } from '../../../src/store/sqlite/cache.ts'
import type { WrittenCall } from '../../../src/store/sqlite/protocol.ts'
import { migrate } from '../../../src/store/sqlite/schema.ts'
import type { Writer } from '../../../src/store/sqlite/writer.ts'
import { StoreDown } from '../../../src/store/store.ts'
import { newFolder } from '../../command.ts'
import { link, SAMPLE_TIME, thing } from '../samples.ts'

let db: DatabaseSync
let cache: Cache
let reader: Reader
/** What the reader asks the writing thread for. */
let state: { opened: boolean; changing: boolean; lost: StoreDown | undefined; damage: string[] }
beforeEach(() => {
  const folder = newFolder('reader')
  const path = join(folder, 'store.db')
  db = new DatabaseSync(path)
  migrate(db)
  cache = createCache()
  state = { opened: true, changing: false, lost: undefined, damage: [] }
  const writer: Writer = {
    started: Promise.resolve(),
    opened: () => state.opened,
    isChangingCachedData: () => state.changing,
    lost: () => state.lost,
    reportDamage: (reason) => void state.damage.push(reason),
    call: () => expect.fail('nothing is written'),
    step: () => expect.fail('nothing is written'),
    close: async () => {},
  }
  reader = createReader(path, cache, () => writer)
  onTestFinished(() => {
    reader.close()
    db.close()
    rmSync(folder, { recursive: true, force: true })
  })
})

/** Counts a commit that changed links or things, as a writing thread does. */
const commit = () => db.exec('UPDATE change_counter SET commits = commits + 1')
/** Tells if the cache may be used in a new callback of the event loop. */
const isCached = async () => {
  await nextTurn()
  return isStillCached()
}
/** Tells the same within the callback under way. */
const isStillCached = () =>
  reader.read(
    () => false,
    (isCurrent) => isCurrent() || undefined,
  )
const fill = () => {
  for (const name of ['Q-1', 'Q-2']) cache.keepLinks('acme', name, [link({ name })])
  for (const id of ['id-1', 'id-2']) cache.keepThing(thing({ id }))
}
/** The keys that the cache still has. */
const kept = () => [
  ...['Q-1', 'Q-2'].filter((name) => cache.links('acme', name)),
  ...['id-1', 'id-2'].filter((id) => cache.thing('acme', id)),
]
const ALL = ['Q-1', 'Q-2', 'id-1', 'id-2']

describe('a commit of this process', () => {
  const written = (name: WrittenCall['name'], args: readonly unknown[], result?: unknown): WrittenCall => {
    return { no: 1, name, args, ...(result !== undefined && { result }) }
  }
  const names = { links: [link()], thing: thing() }
  test.each([
    ['put', [names, SAMPLE_TIME], undefined, ['Q-2', 'id-2']],
    ['put', [{ links: [link()] }, SAMPLE_TIME], undefined, ['Q-2', 'id-1', 'id-2']],
    ['change', [{}, {}, names, SAMPLE_TIME], undefined, ['Q-2', 'id-2']],
    ['change', [{}, {}, null, SAMPLE_TIME], undefined, ALL],
    ['load', [[link()], { replace: true }, SAMPLE_TIME], undefined, ['Q-2', 'id-1', 'id-2']],
    ['unlink', [[link()]], undefined, ['Q-2', 'id-1', 'id-2']],
    ['prune', [{ table: 'links' }, SAMPLE_TIME], { dropped: ['l4:acmeQ-2', 't4:acmeid-1'] }, ['Q-1', 'id-2']],
    ['forget', [0, SAMPLE_TIME], undefined, []],
    ['claim', [{}, SAMPLE_TIME], undefined, ALL],
  ] as const)('drops what its %s has changed: %j', async (name, args, result, left) => {
    expect(await isCached()).toBe(true)
    fill()
    commit()
    reader.noteCommit(1, [written(name, args, result)])
    expect(await isCached()).toBe(true)
    expect(kept()).toEqual(left)
  })

  test('clears the cache if another one was missed, and does nothing if it is known', () => {
    fill()
    reader.noteCommit(2, [])
    expect(kept()).toEqual([])
    fill()
    for (const version of [1, 2]) reader.noteCommit(version, [written('forget', [0, SAMPLE_TIME])])
    expect(kept()).toEqual(ALL)
  })
})

describe('a commit of another process', () => {
  test('clears the cache', async () => {
    expect(await isCached()).toBe(true)
    fill()
    commit()
    expect(await isCached()).toBe(false)
    expect(kept()).toEqual([])
    fill()
    expect(await isCached()).toBe(true)
    expect(kept()).toEqual(ALL)
  })

  test('that changes neither links nor things leaves it as it is', async () => {
    await isCached()
    fill()
    db.exec("INSERT INTO tenants (name) VALUES ('zeta')")
    expect(await isCached()).toBe(true)
    expect(kept()).toEqual(ALL)
  })

  test('is looked for once in a callback of the event loop, and again after a read of the file', async () => {
    expect(await isCached()).toBe(true)
    fill()
    commit()
    expect(isStillCached()).toBe(true)
    await Promise.resolve()
    expect(isStillCached()).toBe(true)
    reader.read((reads) => reads.links('acme', 'Q-1'))
    expect(isStillCached()).toBe(false)
    expect(kept()).toEqual([])
    expect(await isCached()).toBe(true)
    commit()
    expect(await isCached()).toBe(false)
  })

  test('may be one of this process while that writes: then the cache is passed by', async () => {
    await isCached()
    fill()
    commit()
    state.changing = true
    expect(await isCached()).toBe(false)
    expect(kept()).toEqual(ALL)
    reader.noteCommit(1, [])
    expect(await isCached()).toBe(true)
    expect(kept()).toEqual(ALL)
  })
})

describe('a read', () => {
  const refusal = () => {
    try {
      reader.read(() => 'read')
    } catch (error) {
      return error instanceof StoreDown ? error.message : expect.fail(String(error))
    }
    return undefined
  }

  test('is refused before the store is open, once its files are lost, and once it is closed', () => {
    state.opened = false
    expect(refusal()).toBe('The store is not open yet.')
    state.opened = true
    state.lost = new StoreDown('gone')
    expect(refusal()).toBe('gone')
    state.lost = undefined
    expect(refusal()).toBeUndefined()
    reader.close()
    expect(refusal()).toBe('The store is closed.')
  })

  test('that fails has its cause, and the next one has a new connection', () => {
    const cause = new Error('odd')
    const fail = () => {
      throw cause
    }
    const first = reader.read((reads) => reads)
    expect(() => reader.read(fail)).toThrow(expect.objectContaining({ message: 'The store cannot be read.', cause }))
    expect(state.damage).toEqual([])
    expect(reader.read((reads) => reads)).not.toBe(first)
    const damage = Object.assign(new Error('malformed'), { errcode: 11 })
    expect(() =>
      reader.read(() => {
        throw damage
      }),
    ).toThrow(StoreDown)
    expect(state.damage).toEqual(['malformed'])
  })

  test('has a new connection and an empty cache after a reset', () => {
    const first = reader.read((reads) => reads)
    fill()
    reader.reset()
    expect(kept()).toEqual([])
    expect(reader.read((reads) => reads)).not.toBe(first)
  })
})
