import { DatabaseSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'
import { checkpoint } from './checkpoints.ts'
import type { WorkerData } from './protocol.ts'

/* A thread that runs a checkpoint for each message, while the writing thread goes on. */

if (!parentPort) throw new Error('This module runs as a worker thread.')
const port = parentPort
// `workerData` is untyped; only `createCheckpoints` starts this worker.
const { path } = workerData as WorkerData

port.on('message', () => {
  // A new connection each time: checkpoints are rare, and an open connection holds memory.
  const db = new DatabaseSync(path)
  checkpoint(db)
  db.close()
  port.postMessage('done')
})
