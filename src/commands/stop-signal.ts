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
