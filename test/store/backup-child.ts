import { backupStore } from '../../src/outside/store/sqlite/backup.ts'
import { restoreStore } from '../../src/outside/store/sqlite/restore.ts'
import { watchFileSteps } from './file-steps.ts'

/*
 * A process that makes or restores a backup and dies right before a step, by its number; without one, it prints all steps. The first step
 * is the copy, because there may be leftovers to remove before that.
 */

const [verb = '', path = '', file = '', dying = ''] = process.argv.slice(2)
const steps: string[] = []

function begin(step: string): void {
  if (String(steps.push(step)) === dying) process.kill(process.pid, 'SIGKILL')
}

watchFileSteps((step) => steps.length > 0 && begin(step))
const onProgress = () => {
  if (steps.length === 0) begin('copy')
}
if (verb === 'backup') await backupStore(path, file, { onProgress })
else await restoreStore(path, file, { onProgress, doubt: { since: 1, until: 0 } })
process.stdout.write(JSON.stringify(steps))
