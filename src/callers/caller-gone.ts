import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { gatewayError } from '../errors.ts'
import type { Turn } from './fair-queue.ts'

/** Waits for a turn; throws if the caller hangs up first. */
export async function turnOf({ socket }: IncomingMessage, turn: Turn): Promise<void> {
  const hungUp = () => turn.settle(gatewayError('caller-gone', {}))
  if (socket.destroyed) hungUp()
  const forget = onClose(socket, hungUp)
  try {
    await turn.ready
  } finally {
    forget()
  }
}

/** Callbacks for the close of a connection: one listener serves all pipelined calls on it. */
const watched = new WeakMap<Socket, Set<() => void>>()

function onClose(socket: Socket, work: () => void): () => void {
  const known = watched.get(socket)
  const all = known ?? new Set()
  if (!known) {
    watched.set(socket, all)
    socket.once('close', () => {
      for (const one of all) one()
    })
  }
  all.add(work)
  return () => void all.delete(work)
}
