import { DatabaseSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'
import { checkpoint, existingDatabase } from './checkpoints.ts'
import { checkIdentity, type FileIdentity } from './file-guard.ts'

/* A thread that runs a checkpoint for each message, while the writing thread goes on. */

if (!parentPort) throw new Error('This module runs as a worker thread.')
const port = parentPort
// `workerData` is untyped; only `createCheckpoints` starts this worker.
const path = workerData as string

port.on('message', (file: FileIdentity) => {
  // In another file, the WAL would be out of place.
  checkIdentity(path, file)
  // A new connection each time: checkpoints are rare, and an open connection holds memory.
  const db = new DatabaseSync(existingDatabase(path))
  checkpoint(db, 'PASSIVE')
  db.close()
  port.postMessage('done')
})
