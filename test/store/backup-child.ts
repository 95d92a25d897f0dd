import { backupStore } from '../../src/outside/store/sqlite/backup.ts'
import { restoreStore } from '../../src/outside/store/sqlite/restore.ts'

/* A process that makes or restores a backup and dies right before a step; without a step, it prints all steps. */

const [verb = '', path = '', file = '', dying = ''] = process.argv.slice(2)
const steps: string[] = []

function onStep(step: string): void {
  steps.push(step)
  if (step === dying) process.kill(process.pid, 'SIGKILL')
}

if (verb === 'backup') {
  const onProgress = () => onStep('copy a part')
  await backupStore(path, file, { onStep, onProgress })
} else {
  await restoreStore(path, file, { onStep, doubt: { since: 1, until: 0 } })
}
process.stdout.write(JSON.stringify([...new Set(steps)]))
