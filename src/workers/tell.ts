import type { Serializable } from 'node:child_process'
import type { Worker } from 'node:cluster'

/**
 * Sends a message to a worker. One that is just dying does not get it: its end is told by `exit`, and without a callback the
 * error would end this process and all workers.
 */
export function tell(worker: Worker, message: Serializable): void {
  worker.send(message, () => {})
}
