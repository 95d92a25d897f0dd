import type { ServerResponse } from 'node:http'
import type { UnorderedList } from '../collections/unordered-list.ts'
import type { ListenerTimeouts } from './timeouts.ts'

/**
 * Destroys replies that callers do not read in time. It checks all of them periodically, because a timer for each reply
 * would cost every call, and almost none would fire.
 */
export function destroyUnreadReplies(
  unanswered: UnorderedList<ServerResponse>,
  { replyMs, checkMs }: ListenerTimeouts,
): NodeJS.Timeout {
  const readySince = new WeakMap<ServerResponse, number>()
  return setInterval(() => {
    const now = performance.now()
    for (const outgoing of unanswered.items()) {
      // Without a socket, it waits behind another reply on its connection.
      if (!outgoing.writableEnded || !outgoing.socket) continue
      const since = readySince.get(outgoing) ?? now
      readySince.set(outgoing, since)
      // It was ready for up to one interval before the first check.
      if (now - since > replyMs - checkMs) outgoing.destroy()
    }
  }, checkMs).unref()
}
