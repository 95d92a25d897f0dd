/** Resolves at the next SIGTERM or SIGINT. */
export function stopSignal(): Promise<NodeJS.Signals> {
  return forgettableSignal().promise
}

/** Resolves at the next SIGTERM or SIGINT, unless it is forgotten before. */
export function forgettableSignal(): { readonly promise: Promise<NodeJS.Signals>; readonly forget: () => void } {
  const { promise, resolve } = Promise.withResolvers<NodeJS.Signals>()
  const stop = (signal: NodeJS.Signals) => {
    forget()
    resolve(signal)
  }
  const forget = () => void process.off('SIGTERM', stop).off('SIGINT', stop)
  process.on('SIGTERM', stop).on('SIGINT', stop)
  return { promise, forget }
}

/** The rights of Node's permission model. The types lack `drop`, and so do older releases of Node 24. */
interface Permission {
  readonly has: (right: string) => boolean
  readonly drop?: (right: string) => void
}

/** Gives up for good to start threads. It has no effect unless Node runs with `--permission`. */
export function dropThreads(): void {
  const { permission }: { readonly permission?: Permission } = process
  permission?.drop?.('worker')
}
