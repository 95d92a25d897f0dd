import cluster from 'node:cluster'
import { stopSignal } from '../../src/commands/process.ts'
import { REPLACEMENT, reportListening, runWorkers, stopMessage } from '../../src/commands/workers.ts'
import { createLog } from '../../src/observe/log.ts'

/* A program with workers that do as STORY says, and tell what happens to them on standard output. */

const story = process.env['STORY']
const tell = (event: string) => process.stdout.write(`worker ${event}\n`)

/** Kills a worker, and sends it a message before anything shows that it is gone. */
function signalTheDead(): void {
  const [worker] = Object.values(cluster.workers ?? {})
  worker?.process.kill('SIGKILL')
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300)
  process.emit('SIGHUP')
}

if (cluster.isPrimary) process.on('SIGUSR1', signalTheDead)
if (cluster.isPrimary) process.exitCode = await runWorkers(2, createLog('info'), stopSignal)
else if (story === 'refused') process.exit(78)
else if (story === 'failed') process.exit(1)
else await serve()

async function serve(): Promise<void> {
  process.on('SIGHUP', () => tell('reloads'))
  process.on('SIGUSR2', () => process.exit(1))
  const stop = stopMessage()
  reportListening()
  tell(`listens ${process.pid} ${process.env[REPLACEMENT] ?? 'first'}`)
  tell(`stops: ${await stop}`)
  if (story === 'slow') setInterval(() => {}, 1_000)
  else cluster.worker?.disconnect()
}
