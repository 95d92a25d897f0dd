import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { run } from '../command.ts'
import { get, post, startGateway } from '../gateway.ts'

const CONNECTIONS = 1_000
const SECONDS = 20
/** Paces the honest caller beside them. */
const PROBE_EVERY_MS = 50
/** The memory for a thousand callers at once; waiting replies share their bytes. */
const MOST_BYTES = 512 * 1024 * 1024

/** The three ways of slowhttptest to be slow: with the headers, with the body, with reading the reply. */
const MODES = {
  headers: { path: '/healthz', words: ['-H', '-i', '2', '-x', '10'] },
  body: { path: '/createShipment.php', words: ['-B', '-i', '2', '-x', '10', '-s', '8192'] },
  reading: { path: '/openapi.json', words: ['-X', '-w', '1', '-y', '8', '-n', '5', '-z', '8', '-k', '3'] },
} as const

const NAMES = ['headers', 'body', 'reading'] as const

test.each(NAMES)(
  'a thousand callers that are slow with their %s keep nobody waiting',
  { timeout: 90_000 },
  async (name) => {
    const gateway = await startGateway({ env: { SOURCE_CONNECTIONS: '10000' } })
    const { port } = new URL(gateway.url)
    const { path, words } = MODES[name]
    let over = false
    const attack = run('slowhttptest', [
      ...words,
      ...['-c', String(CONNECTIONS), '-r', '500', '-l', String(SECONDS), '-p', '3'],
      ...['-u', `http://127.0.0.1:${port}${path}`],
    ]).finally(() => {
      over = true
    })
    const statuses: number[] = []
    const before = process.memoryUsage.rss()
    let most = before
    for (let i = 0; !over; i += 1) {
      most = Math.max(most, process.memoryUsage.rss())
      statuses.push((await get(gateway, '/healthz')).status)
      statuses.push(
        (await post(gateway, '/getShippingQuote.php', { ...quoteExample, ShipmentNumber: `N-${i}` })).status,
      )
      await pause(PROBE_EVERY_MS)
    }
    const { out } = await attack
    expect(statuses.length).toBeGreaterThan(20)
    expect(statuses.filter((status) => status !== 200)).toEqual([])
    expect(most - before).toBeLessThan(MOST_BYTES)
    // It was slow with all of them at once, its own probe was answered, and slow senders were disconnected.
    expect(out).toMatch(/connected:\W.*\b1000\b/)
    expect(out).not.toMatch(/service available:\W.*\bNO\b/)
    if (name !== 'reading') expect(out).toMatch(/No open connections left/)
  },
)
