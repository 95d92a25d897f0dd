import type { Logger } from './log.ts'

/**
 * Resolves when the log is written. If standard output takes nothing, it ends the process by a signal instead: the write that
 * waits would keep it alive for ever.
 */
export function endOfLog(log: Logger): Promise<void> {
  return new Promise((resolve) => {
    log.flush((error) => {
      if (error) process.kill(process.pid, 'SIGKILL')
      else resolve()
    })
  })
}
