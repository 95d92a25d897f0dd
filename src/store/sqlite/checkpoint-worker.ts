import { DatabaseSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'
import { copy } from './checkpoints.ts'
import type { WorkerData } from './protocol.ts'

/* The thread that copies the log into the database whenever it is asked, while the writing thread goes on. */

if (!parentPort) throw new Error('This module runs as a worker thread.')
const port = parentPort
// `workerData` is untyped; only the keeper of the log starts this worker.
const { path } = workerData as WorkerData

port.on('message', () => {
  // A connection of its own each time: it is needed seldom, and would hold on to its memory.
  const db = new DatabaseSync(path)
  copy(db)
  db.close()
  port.postMessage('emptied')
})
