import { randomUUID } from 'node:crypto'
import { Agent } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { callFrom } from './call.ts'

/*
 * Attackers, in a process of their own: node test/strangers/attackers.ts <url> <seconds> <id> <addresses>
 * They book as `id` with wrong secrets, as nobody with made-up ids, with credentials of 8 KB, and send bodies that never end, all
 * at once from each address. At the end, one line says how often each status came back.
 */

const [url = '', seconds = '1', id = 'demo', addresses = '50'] = process.argv.slice(2)

const SLOW_OF_ADDRESS = 6
const CALLERS_OF_ADDRESS = 2
const TRICKLE_MS = 500
const PAUSE_MS = 20
const LONG = 'x'.repeat(6_000)

const until = performance.now() + Number(seconds) * 1_000
const statuses: Record<string, number> = {}
const count = (what: string) => {
  statuses[what] = (statuses[what] ?? 0) + 1
}

/** Makes the credentials of one kind of attacker; each is used once. */
const CREDENTIALS = {
  wrong: () => `${id}:${randomUUID()}`,
  unknown: () => `${randomUUID()}:${randomUUID()}`,
  long: () => `${id}:${randomUUID()}${LONG}`,
}

async function callAgain(kind: keyof typeof CREDENTIALS, from: string): Promise<void> {
  const agent = new Agent({ keepAlive: true, localAddress: from })
  for (let i = 0; performance.now() < until; i += 1) {
    const authorization = `Basic ${Buffer.from(CREDENTIALS[kind]()).toString('base64')}`
    const reference = i % 2 ? `R-${i % 50}` : randomUUID()
    const { status } = await callFrom(url, {
      path: '/createShipment.php',
      headers: { authorization },
      body: { ...bookingExample, ReferenceNumber: reference },
      agent,
    })
    count(`${kind} ${status}`)
    await pause(PAUSE_MS)
  }
  agent.destroy()
}

/** Holds a connection with a body that never ends, and takes a new one when the gateway closes it. */
async function dribble(from: string): Promise<void> {
  const { hostname, port } = new URL(url)
  while (performance.now() < until) {
    const socket = connect({ host: hostname, port: Number(port), localAddress: from })
    socket.on('error', () => {}).resume()
    socket.write(
      `POST /createShipment.php HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\n\r\n{"a":"${'a'.repeat(8_000)}`,
    )
    const trickle = setInterval(() => socket.write('a'), TRICKLE_MS)
    const over = setTimeout(() => socket.destroy(), until - performance.now())
    await new Promise((resolve) => socket.once('close', resolve))
    clearInterval(trickle)
    clearTimeout(over)
    count('slow closed')
    await pause(PAUSE_MS)
  }
}

await Promise.all(
  Array.from({ length: Number(addresses) }, (_, i) => `127.0.0.${i + 2}`).flatMap((from) => [
    ...Array.from({ length: SLOW_OF_ADDRESS }, () => dribble(from)),
    ...Array.from({ length: CALLERS_OF_ADDRESS }, () => callAgain('wrong', from)),
    callAgain('unknown', from),
    callAgain('long', from),
  ]),
)
process.stdout.write(`${JSON.stringify(statuses)}\n`)
