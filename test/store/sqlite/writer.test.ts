/** Promise: a writing thread that dies loses no acknowledged write (contract, section 7). */

import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Worker } from 'node:worker_threads'
import { expect, onTestFinished, test } from 'vitest'
import { startWriter } from '../../../src/store/sqlite/writer.ts'
import { StoreDown } from '../../../src/store/store.ts'
import { newClaim, SAMPLE_TIME, thing } from '../samples.ts'
import { listen } from '../states.ts'

/** The writing thread on a store of its own; `threads` has every thread so far. */
async function openWriter(onLost: () => void = () => undefined) {
  const folder = mkdtempSync(join(tmpdir(), 'transload-writer-'))
  const path = join(folder, 'store.db')
  const threads: Worker[] = []
  const note = (thread: Worker) => threads.push(thread)
  process.on('worker', note)
  const states = listen()
  const writer = startWriter({ path }, () => SAMPLE_TIME, { onState: states.onState, onLost })
  onTestFinished(async () => {
    process.off('worker', note)
    await writer.close()
    rmSync(folder, { recursive: true, force: true })
  })
  await writer.started
  return { path, threads, states, writer }
}

const put = (id: string) => [{ links: [], thing: thing({ id }) }]

test('a thread that dies with writes under way and others queued rejects each, and the next one goes on', async () => {
  const { path, threads, states, writer } = await openWriter()
  await writer.call('put', put('before'))
  // Another process writes: the first of these waits for it at the worker, the second for the first.
  const other = new DatabaseSync(path)
  other.exec('BEGIN IMMEDIATE')
  const sent = writer.call('put', put('sent'))
  await new Promise(setImmediate)
  const queued = writer.call('put', put('queued'))
  const late = writer.call('claim', [newClaim()])
  const outcomes = Promise.allSettled([sent, queued, late])
  const down = states.next(false)
  const up = states.next(true)
  const [thread] = threads
  await thread?.terminate()

  const because = expect.objectContaining({
    name: 'StoreDown',
    message: 'The writing thread of the store has ended: it ended',
  })
  expect(await outcomes).toEqual(Array(3).fill({ status: 'rejected', reason: because }))
  expect(await down).toMatchObject({ ready: false, error: { name: 'StoreDown' } })
  // Nothing waits for a thread that is not there.
  await expect(writer.call('put', put('meanwhile'))).rejects.toThrow(/is restarting/)

  other.exec('ROLLBACK')
  other.close()
  await up
  expect(threads).toHaveLength(2)
  await Promise.all([writer.call('put', put('one')), writer.call('put', put('two'))])
  const db = new DatabaseSync(path, { readOnly: true })
  const ids = db.prepare('SELECT id FROM things ORDER BY id').all()
  db.close()
  expect(ids.map(({ id }) => id)).toEqual(['before', 'one', 'two'])
})

test('a thread that dies before the store is open lets the start go on, and the store is not ready', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'transload-writer-'))
  const kill = (thread: Worker) => void thread.terminate()
  process.on('worker', kill)
  const states = listen()
  const down = states.next(false)
  const events = { onState: states.onState, onLost: () => undefined }
  const writer = startWriter({ path: join(folder, 'store.db') }, Date.now, events)
  onTestFinished(async () => {
    await writer.close()
    rmSync(folder, { recursive: true, force: true })
  })
  await down
  process.off('worker', kill)
  expect(await Promise.race([writer.started.then(() => 'started'), nextTurn('waits')])).toBe('started')
  expect(writer.opened()).toBe(false)
})

test('a writer that closes lets the queued writes through, and starts no other thread', async () => {
  const { threads, writer } = await openWriter()
  const [thread] = threads
  const ended = thread ? once(thread, 'exit') : undefined
  const writes = [writer.call('put', put('one')), writer.call('put', put('two'))]
  await writer.close()
  await Promise.all(writes)
  await ended
  await expect(writer.call('put', put('three'))).rejects.toThrow(StoreDown)
  await writer.close()
  expect(threads).toHaveLength(1)
})

test('a damaged store takes no more writes, and says what to do', async () => {
  const lost: string[] = []
  const { path, states, writer } = await openWriter(() => lost.push('lost'))
  writer.reportDamage('malformed')
  const message = `${path} is damaged (malformed). Stop the gateway, restore a backup without its -wal and -shm files, and start it again.`
  expect(states.seen.at(-1)).toMatchObject({ ready: false, error: { name: 'StoreDown', message } })
  expect(writer.lost()).toMatchObject({ name: 'StoreDown', message })
  expect(lost).toEqual(['lost'])
  await expect(writer.call('put', put('one'))).rejects.toThrow(message)
})

test('a write that the store refuses fails alone, with its reason', async () => {
  const { writer } = await openWriter()
  const wrong = [{ links: [], thing: { ...thing({ id: 'wrong' }), own: {} as string } }]
  const results = await Promise.allSettled([
    writer.call('put', put('one')),
    writer.call('put', wrong),
    writer.call('put', put('two')),
  ])
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  expect(results[1]).toMatchObject({
    reason: { name: 'Error', message: expect.stringMatching(/^The store refused a write: /) },
  })
})
