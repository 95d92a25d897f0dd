import { randomUUID } from 'node:crypto'
import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { agentOf, callFrom } from './call.ts'

/*
 * Attackers, in a separate process: node test/strangers/attackers.ts <url> <seconds> <id>
 * From fifty addresses of 127.0.0.0/8, all kinds attack at once. It says `begun` when the first is answered,
 * and at the end in one line how often each status came back.
 */

const [url = '', seconds = '', id = ''] = process.argv.slice(2)

const ADDRESSES = 50
const TRICKLE_MS = 500
const PAUSE_MS = 200
const REFERENCES = 50
const LONG = 'x'.repeat(6_000)
const SLOW_BYTES = 8_000
const LARGE_BYTES = 250_000

/** The concurrent attacks of each address. */
const KINDS = [
  /** Books as a caller, with wrong secrets. */
  [2, callAgain('wrong', () => `${id}:${randomUUID()}`)],
  /** Books with unknown ids. */
  [1, callAgain('unknown', () => `${randomUUID()}:${randomUUID()}`)],
  /** Books with credentials of 8 KB. */
  [1, callAgain('long', () => `${id}:${randomUUID()}${LONG}`)],
  /** Sends bodies that never end. */
  [4, dribble('slow', SLOW_BYTES)],
  /** Sends large bodies that lack their last bytes: from fifty addresses 25 MB. */
  [2, dribble('large', LARGE_BYTES)],
] as const

const until = performance.now() + Number(seconds) * 1_000
const statuses: Record<string, number> = {}
const count = (what: string) => {
  if (Object.keys(statuses).length === 0) process.stdout.write('begun\n')
  statuses[what] = (statuses[what] ?? 0) + 1
}

/** Calls repeatedly, each time with a different credential. */
function callAgain(kind: string, credential: () => string) {
  return async (from: string) => {
    const agent = agentOf(from)
    for (let i = 0; performance.now() < until; i += 1) {
      const headers = { authorization: `Basic ${Buffer.from(credential()).toString('base64')}` }
      // Some of these are known to the gateway.
      const ReferenceNumber = i % 2 ? `R-attack-${i % REFERENCES}` : randomUUID()
      const body = { ...bookingExample, ReferenceNumber }
      const { status } = await callFrom(url, { path: '/createShipment.php', headers, body, agent })
      count(`${kind} ${status}`)
      await pause(PAUSE_MS)
    }
    await agent.close()
  }
}

/** Holds a connection with a body that does not end, and takes a new one when the gateway closes it. */
function dribble(kind: string, bytes: number) {
  return async (from: string) => {
    const { hostname, port } = new URL(url)
    while (performance.now() < until) {
      const socket = connect({ host: hostname, port: Number(port), localAddress: from })
      socket.on('error', () => {}).resume()
      socket.write(`POST /createShipment.php HTTP/1.1\r\nHost: x\r\nContent-Length: ${bytes + 1_000}\r\n\r\n`)
      socket.write(`{"a":"${'a'.repeat(bytes)}`)
      const trickle = setInterval(() => socket.write('a'), TRICKLE_MS)
      const over = setTimeout(() => socket.destroy(), until - performance.now())
      await new Promise((resolve) => socket.once('close', resolve))
      clearInterval(trickle)
      clearTimeout(over)
      count(`${kind} closed`)
      await pause(PAUSE_MS)
    }
  }
}

const sources = Array.from({ length: ADDRESSES }, (_, i) => `127.0.0.${i + 2}`)
const attacks = KINDS.flatMap(([times, attack]) => Array<typeof attack>(times).fill(attack))
await Promise.all(sources.flatMap((from) => attacks.map((attack) => attack(from))))
process.stdout.write(`${JSON.stringify(statuses)}\n`)
