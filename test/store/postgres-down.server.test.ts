/** Promise: a gateway survives a PostgreSQL that is away (contract, section 7). */

import { afterAll, beforeAll, expect, test } from 'vitest'
import { openPostgresStore } from '../../src/store/postgres/postgres.ts'
import { type Store, StoreDown } from '../../src/store/store.ts'
import { size } from '../size.ts'
import { type PostgresServer, startPostgres } from './postgres-server.ts'
import { link, newClaim, thing } from './samples.ts'
import { listen } from './states.ts'

const WRITERS = 16

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.remove())

/** Writes until told to stop; what fails must fail with the one declared error. */
function writeOn(store: Store, gateway: number) {
  const acknowledged: string[] = []
  let refused = 0
  let on = true
  let count = 0
  const writers = Array.from({ length: WRITERS }, async () => {
    while (on) {
      count += 1
      const name = `${gateway}-${count}`
      const write =
        count % 4 === 0
          ? store.claim(newClaim({ key: name }))
          : store.put({ links: [link({ name, id: name })], thing: thing({ id: name, own: name }) })
      await write.then(
        () => acknowledged.push(name),
        (error: unknown) => {
          expect(error).toBeInstanceOf(StoreDown)
          refused += 1
        },
      )
      await new Promise(setImmediate)
    }
  })
  return {
    acknowledged,
    refused: () => refused,
    async stop() {
      on = false
      await Promise.all(writers)
    },
  }
}

test.each(['stop', 'crash'] as const)('a server that is down after a %s loses nothing acknowledged', async (way) => {
  const url = await server.createDatabase()
  const states = [listen(), listen()]
  const stores = await Promise.all(states.map(({ onState }) => openPostgresStore({ url, onState })))
  const loads = stores.map(writeOn)
  for (let round = 0; round < size(1, 3); round += 1) {
    const down = states.map((state) => state.next(false))
    await server[way]()
    await Promise.all(down)
    expect(stores.map((store) => store.ready())).toEqual([false, false])
    for (const store of stores) {
      await expect(store.links('acme', 'Q-1')).rejects.toThrow(StoreDown)
      await expect(store.claim(newClaim())).rejects.toThrow(StoreDown)
    }
    const up = states.map((state) => state.next(true))
    await server.start()
    await Promise.all(up)
    for (const store of stores) await store.put({ links: [link({ name: `round ${round}` })] })
  }
  await Promise.all(loads.map((load) => load.stop()))
  for (const load of loads) {
    expect(load.refused()).toBeGreaterThan(0)
    expect(load.acknowledged.length).toBeGreaterThan(0)
    for (const name of load.acknowledged) {
      const [store = expect.fail('no store')] = stores
      const [links, claim] = await Promise.all([store.links('acme', name), store.findClaim('acme', name)])
      expect([links[0]?.id ?? claim?.key]).toEqual([name])
    }
  }
  await Promise.all(stores.map((store) => store.close()))
})

test('a gateway that starts before the server becomes ready after it', async () => {
  const url = await server.createDatabase()
  await server.stop()
  const states = listen()
  const store = await openPostgresStore({ url, onState: states.onState })
  expect(store.ready()).toBe(false)
  expect(states.seen).toMatchObject([{ ready: false, error: { name: 'StoreDown' } }])
  await expect(store.put({ links: [link()] })).rejects.toThrow(StoreDown)
  const up = states.next(true)
  await server.start()
  await up
  await store.put({ links: [link()] })
  expect(await store.links('acme', 'Q-1')).toEqual([link()])
  await store.close()
})

test('a gateway closes while the server is down', async () => {
  const url = await server.createDatabase()
  const states = listen()
  const store = await openPostgresStore({ url, onState: states.onState })
  const down = states.next(false)
  await server.crash()
  await down
  await store.close()
  await expect(store.put({ links: [link()] })).rejects.toThrow(StoreDown)
  await server.start()
})
