/** Promise: one timer watches all deadlines (contract, section 9). */

import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { createDeadlines, type Deadlines } from '../../src/service/exchange.ts'

let deadlines: Deadlines
let late: string[]

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  deadlines = createDeadlines()
  late = []
})

/** Adds work that is over when it is late. */
function add(name: string, inMs: number) {
  const held = deadlines.add({
    deadline: performance.now() + inMs,
    late: () => {
      late.push(name)
      deadlines.take(held)
    },
  })
  return held
}

/** Lets time pass, and returns who was late. */
const passed = (ms: number) => {
  vi.advanceTimersByTime(ms)
  return late.splice(0)
}

test('each work is told at its deadline, in any order of their beginnings', () => {
  add('second', 200)
  add('first', 100)
  add('third', 300)
  add('third too', 300)
  expect(passed(99)).toEqual([])
  expect(passed(1)).toEqual(['first'])
  expect(passed(100)).toEqual(['second'])
  expect(passed(99)).toEqual([])
  expect(passed(1)).toEqual(['third', 'third too'])
  expect(vi.getTimerCount()).toBe(0)
})

test('work that ends in time is told nothing, and does not hide later work', () => {
  const first = add('first', 100)
  add('second', 200)
  deadlines.take(first)
  expect(passed(199)).toEqual([])
  expect(passed(1)).toEqual(['second'])
})

test('one timer watches all, and it is set anew for an earlier deadline alone', () => {
  add('one', 100)
  add('other', 200)
  add('same', 100)
  expect(vi.getTimerCount()).toBe(1)
  add('earlier', 50)
  expect(vi.getTimerCount()).toBe(1)
  expect(passed(50)).toEqual(['earlier'])
  expect(vi.getTimerCount()).toBe(1)
  expect(passed(50)).toEqual(['one', 'same'])
  expect(passed(100)).toEqual(['other'])
})

test('work that comes after all is watched too, and work whose deadline is over is told in the next turn', () => {
  add('one', 100)
  expect(passed(100)).toEqual(['one'])
  add('next', 50)
  expect(passed(50)).toEqual(['next'])
  add('over', -10)
  expect(late).toEqual([])
  expect(passed(0)).toEqual(['over'])
})
