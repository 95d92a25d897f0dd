import { expect, test } from 'vitest'
import { createReadiness, type StoreState } from '../../src/store/state.ts'

function start() {
  const told: StoreState[] = []
  return { told, readiness: createReadiness((state) => told.push(state)) }
}

const down = (message: string) => ({ ready: false, error: new Error(message) })

test('a store is ready once it says so, and not any more once it is closed', () => {
  const { readiness } = start()
  expect(readiness.ready()).toBe(false)
  readiness.set({ ready: true })
  expect(readiness.ready()).toBe(true)
  readiness.set(down('disk'))
  expect(readiness.ready()).toBe(false)
  readiness.set({ ready: true })
  readiness.end()
  expect(readiness.ready()).toBe(false)
})

test('each change of the readiness, of its reason and of the server is told once', () => {
  const { told, readiness } = start()
  const states = [
    down('disk'),
    down('disk'),
    down('network'),
    { ready: true },
    { ready: true },
    { ready: true, server: 'h1:5432' },
    { ready: true, server: 'h1:5432' },
    { ready: true, server: 'h2:5432' },
    { ready: false },
  ]
  for (const state of states) readiness.set(state)
  expect(told).toEqual([0, 2, 3, 5, 7, 8].map((index) => states[index]))
})

test('a closed store tells nothing, and one without a listener has its readiness', () => {
  const { told, readiness } = start()
  readiness.end()
  readiness.set({ ready: true })
  expect(told).toEqual([])
  const quiet = createReadiness(undefined)
  quiet.set({ ready: true })
  expect(quiet.ready()).toBe(true)
})
