import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { bookingExample } from '../mappings/booking-rows.ts'
import { quoteExample } from '../mappings/quote-rows.ts'
import { startSandbox } from '../test/stand-in/stand-in.ts'
import { startGateway } from './compare/contenders.ts'
import { HOST, residentMegabytes } from './compare/processes.ts'

/*
 * Checks that memory stays flat: node bench/soak.ts [--minutes 3] [--callers 8]
 * The compiled gateway (npm run build) runs like in the image, in front of a stand-in for the service; the load is every kind of call, good and
 * bad, some of them hostile. Prints the gateway's memory every ten seconds, and one line of JSON at the end.
 */

const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '3' }, callers: { type: 'string', default: '8' } },
})
const MINUTE_MS = 60_000
const DURATION_MS = Number(values.minutes) * MINUTE_MS
const CALLERS = Number(values.callers)
const LOOK_EVERY_MS = 10_000
const AUTHORIZATION = `Basic ${Buffer.from('demo:demo-secret').toString('base64')}`
/** The stand-in keeps all bookings in memory; it is restarted before they take too much. */
const CLEAR_EVERY_MS = 5_000

/** Every kind of call, in turn. */
function calls(port: number): readonly ((name: string) => Promise<number>)[] {
  const url = `http://${HOST}:${port}`
  const headers = { authorization: AUTHORIZATION }
  const post = async (path: string, body: string | object) => {
    const sent = typeof body === 'string' ? body : JSON.stringify(body)
    const response = await fetch(url + path, { method: 'POST', headers, body: sent })
    await response.arrayBuffer()
    return response.status
  }
  const get = async (path: string) => {
    const response = await fetch(url + path, { headers })
    await response.arrayBuffer()
    return response.status
  }
  const quote = (ShipmentNumber: string) =>
    post('/getShippingQuote.php', { ...quoteExample, ShipmentNumber, OrderRefNumber: '' })
  const book = (ReferenceNumber: string) => post('/createShipment.php', { ...bookingExample, ReferenceNumber })
  const raw = (bytes: string) => {
    const socket = connect(port, HOST, () => socket.write(bytes, 'latin1'))
    return new Promise<number>((resolve) => {
      socket.resume()
      socket.on('error', () => {}).once('close', () => resolve(400))
    })
  }
  return [
    quote,
    (name) => post('/getShippingQuote.php', new URLSearchParams({ ...quoteExample, ShipmentNumber: name }).toString()),
    (name) =>
      post('/getShippingQuote.php', { ActionName: 'Update Rate', ShipmentNumber: name, TempShipToPostalCode: '33101' }),
    (name) => post('/getShippingQuote.php', { ActionName: 'Accept Rate', ShipmentNumber: name }),
    book,
    book,
    (name) => get(`/getShipment.php?ReferenceNumber=${name}`),
    (name) => post('/updateShipment.php', { ReferenceNumber: name, PickupName: 'Another' }),
    (name) => post('/dry-run/createShipment.php', { ...bookingExample, ReferenceNumber: name }),
    (name) => get(`/v2/shipments/${name}`).catch(asItBroke),
    (name) => post('/deleteShipment.php', { ReferenceNumber: name }),
    (name) => get(`/getShipment.php?ReferenceNumber=NOBODY-${name}`),
    () => post('/createShipment.php', { PickupZip: 'x'.repeat(10_000) }),
    () => post('/createShipment.php', `{"a":"${'x'.repeat(300_000)}"}`),
    () => post('/createShipment.php', `{"a":${'['.repeat(50_000)}${']'.repeat(50_000)}}`),
    () => raw('GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: cow\r\n\r\n'),
    () => raw('GARBAGE\r\n\r\n'),
  ]
}

/** Stands for the status of a call that broke off. */
const BROKEN_OFF = 1

/** Accepts that a reply breaks off, because the stand-in breaks off some replies that pass through. */
function asItBroke(error: unknown): number {
  if (error instanceof TypeError && error.message === 'terminated') return BROKEN_OFF
  throw error
}

async function soak(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'transload-soak-'))
  const sandbox = await startSandbox()
  const place = { folder, servicePort: Number(new URL(sandbox.url).port) }
  const gateway = await startGateway(place, { core: null, env: { UPSTREAM_TIMEOUT_MS: '500' } })
  const statuses = new Map<number, number>()
  let failed = 0
  try {
    const end = performance.now() + DURATION_MS
    const caller = async (id: number) => {
      for (let turn = 0; performance.now() < end; turn += 1) {
        const name = `S-${id}-${turn}`
        for (const call of calls(gateway.port)) {
          const status = await call(name).catch((error: unknown) => {
            process.stdout.write(`failed: ${error instanceof Error ? (error.cause ?? error) : error}\n`)
            return 0
          })
          if (status === 0) failed += 1
          statuses.set(status, (statuses.get(status) ?? 0) + 1)
          if (performance.now() >= end) return
        }
      }
    }
    const trouble = setInterval(() => {
      sandbox.clear()
      sandbox.fail(
        { kind: 'reset-after' },
        { kind: 'reset-mid-body' },
        { kind: 'timeout' },
        { kind: 'not-json' },
        { kind: 'huge', megabytes: 9 },
      )
    }, CLEAR_EVERY_MS)
    const megabytes: number[] = []
    const look = async () => {
      while (performance.now() < end) {
        await pause(Math.min(LOOK_EVERY_MS, Math.max(0, end - performance.now())))
        const now = residentMegabytes(gateway.pid)
        megabytes.push(now)
        process.stdout.write(`${Math.round((DURATION_MS - end + performance.now()) / 1000)} s: ${now} MB\n`)
      }
    }
    await Promise.all([look(), ...Array.from({ length: CALLERS }, (_, id) => caller(id))])
    clearInterval(trouble)
    const exitCode = await gateway.stop()
    const counted = Object.fromEntries([...statuses].sort(([one], [other]) => one - other))
    process.stdout.write(`${JSON.stringify({ megabytes, statuses: counted, failed, exitCode })}\n`)
  } finally {
    await gateway.stop()
    await sandbox.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

await soak()
