import { parentPort } from 'node:worker_threads'
import { serveWrites } from './file-writer.ts'

if (!parentPort) throw new Error('This module runs as a worker thread.')
serveWrites(parentPort)
