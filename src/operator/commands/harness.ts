import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { request } from 'undici'
import { bookingExample } from '../../../mappings/booking-rows.ts'

/*
 * Processes that are killed, and bookings: for the demo that breaks things, and for the tests that do.
 */

/** The credential of the callers at the service. */
export const ID = 'demo'
export const SECRET = 'demo-secret'

/** A program in a process of its own, and its address, once it listens. */
export type LaunchedProgram = ReturnType<typeof launch>

/** Starts Node with these words. The program writes one line of JSON with `listening` and its address. */
export function launch(words: readonly string[], env: NodeJS.ProcessEnv) {
  const child = spawn(process.execPath, words, { env, stdio: ['ignore', 'pipe', 'inherit'] })
  const url = listening(child.stdout)
  // It may be killed before it listens.
  url.catch(() => undefined)
  return { child, url }
}

async function listening(stdout: Readable): Promise<string> {
  for await (const line of createInterface(stdout)) {
    if (!line.includes('"listening"')) continue
    stdout.resume()
    return JSON.parse(line).url
  }
  throw new Error('the program ended before it listened')
}

/** Ends a process, and waits until it is gone. */
export async function end(child: ChildProcess, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill(signal)
  await gone
}

const MOST_PATIENCE_MS = 300_000
const CONFLICT = 409

/** One try; undefined where no answer came. */
export async function book(url: string | Promise<string>, reference: string, patienceMs = MOST_PATIENCE_MS) {
  try {
    const { statusCode, headers, body } = await request(`${await url}/createShipment.php`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`${ID}:${SECRET}`)}` },
      signal: AbortSignal.timeout(patienceMs),
      body: JSON.stringify({ ...bookingExample, ReferenceNumber: reference }),
    })
    const { TransportationBooked: word }: { TransportationBooked?: string } = JSON.parse(await body.text())
    if (statusCode === CONFLICT) return { word: 'retry-after' in headers ? 'in progress' : 'conflict', id: '' }
    return { word, id: String(headers['transload-shipment-id'] ?? '') }
  } catch {
    return undefined
  }
}

/** The shipments of the service, by id. */
export interface ServiceShipments {
  readonly shipments: ReadonlyMap<string, { readonly external_id?: string | undefined }>
}

/** Shipments beyond the first of their reference. */
export function duplicates({ shipments }: ServiceShipments): number {
  return shipments.size - new Set([...shipments.values()].map(({ external_id: reference }) => reference)).size
}
