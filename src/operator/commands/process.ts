import { constants } from 'node:os'
import { resolve } from 'node:path'
import { shellWord } from '../../calls/update-program.ts'

/** Shells add this to the number of the signal that ended a command. */
const EXIT_SIGNALED = 128

/** Resolves at the next SIGTERM or SIGINT. */
export const stopSignal = (): Promise<NodeJS.Signals> => watchSignals().received

/** Watches for the next SIGTERM or SIGINT; once it is there or forgotten, the next one ends the process. */
export function watchSignals() {
  const { promise: received, resolve: receive } = Promise.withResolvers<NodeJS.Signals>()
  let exitCode: number | undefined
  const stop = (signal: NodeJS.Signals) => {
    forget()
    exitCode = EXIT_SIGNALED + constants.signals[signal]
    receive(signal)
  }
  const forget = () => void process.off('SIGTERM', stop).off('SIGINT', stop)
  process.on('SIGTERM', stop).on('SIGINT', stop)
  /** The exit code is undefined before a signal. */
  return { received, exitCode: () => exitCode, forget }
}

/** The words of a shell that run this very program: Node and the script. */
export const thisProgram = (): readonly string[] => [process.execPath, resolve(process.argv[1] ?? '')].map(shellWord)

/** A blank variable counts as unset. */
export function unsetIfBlank(name: string): void {
  if (process.env[name]?.trim() === '') delete process.env[name]
}
