/** Promise: what strangers hold leaves room for all others (contract, section 5). */

import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { ROOT } from '../command.ts'
import { basic } from '../gateway.ts'
import { callFrom } from './call.ts'
import { type GatewayProcess, startGatewayProcess } from './gateway-process.ts'

/*
 * Attacks without a valid credential that once succeeded, and the tests that show that they fail.
 */

/** For each attack, the files and titles of its tests. */
const COVERED: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  'random secrets at once keep nobody from quotes, and open no circuit': {
    'test/callers/unproven-calls.test.ts': [
      'strangers take few connections at once, and none that others wait for',
      'do not open the circuit',
      "retries of strangers' calls are not taken from the owner's",
    ],
  },
  'long wrong credentials take no memory': {
    'test/strangers/memory.slow.test.ts': ['refused credentials of eight kilobytes each leave nothing behind'],
  },
  'a wrong secret leaves no claim, tells no name, and doubts no booking': {
    'test/callers/proof.test.ts': [
      'learns nothing of names',
      'leaves no row',
      'claims, finds and sends nothing',
      'is used by a stranger, and the owner still books',
    ],
    'test/callers/no-trace.laws.test.ts': ['a refused credential leaves no trace that another caller can see'],
  },
  'made-up ids in tenants mode make no tenant wait': {
    'test/callers/hashes.test.ts': [
      'ids that are made up are no free guesses',
      'waits for at most a turn of each other source',
    ],
    'test/callers/hashes.slow.test.ts': [
      'an unknown id is refused like a known one',
      'a caller that hangs up while it waits costs no hash',
    ],
  },
  'unfinished bodies and many large ones leave room for others': {
    'test/strangers/rows.test.ts': ['unfinished bodies from one address', 'large bodies from two addresses'],
    'test/http/slow.test.ts': ['slow callers, hundreds of each kind'],
    'test/http/slow-readers.slow.test.ts': ['callers that do not read are disconnected'],
  },
  'a token is never sent on with, or instead of, the own credential': {
    'test/callers/modes.test.ts': ['a token of a caller that is known by its network is not sent on'],
    'test/callers/fixed.test.ts': ["sends its own credential under /v2/ as well, never a caller's token"],
  },
  'no path leads out of /v2/': {
    'test/http/version-2-path.laws.test.ts': ['is below /v2/ in every reading', "'/v2/a%2fb/../../x'"],
    'test/strangers/controls.slow.test.ts': ['a path that leads out of /v2/ is not sent on'],
  },
  'a wrong secret of events costs a comparison': {
    'test/events/received.test.ts': [
      'a wrong secret is answered like any other unknown path, and its body is not read',
      'a wrong secret is refused before its body arrives',
    ],
  },
  'a page of another site does nothing': {
    'test/strangers/browsers.test.ts': ['is 403, whatever it does', 'the admin listener shows nothing to'],
  },
  'no terminal and no spreadsheet obeys a name': {
    'test/commands/output.slow.test.ts': [
      'a command prints nothing that a terminal obeys',
      'or a spreadsheet, of an export',
    ],
  },
  'all of it at once costs honest callers nothing': {
    'test/strangers/together.slow.test.ts': ['fifty attackers with all they have cost the honest callers nothing'],
  },
}

test.each(Object.entries(COVERED))('there are tests that %s', (_, files) => {
  for (const [file, titles] of Object.entries(files)) {
    const text = readFileSync(join(ROOT, file), 'utf8')
    expect(titles.filter((title) => !text.includes(title))).toEqual([])
  }
})

const OWNER = { authorization: basic('owner', 'owner-secret') }
const CREDENTIALS = { owner: 'owner-secret' }
const MOST_MEGABYTES = 256

/** Opens several connections from an address, and sends the same over each; returns those that stay open. */
function open(url: string, from: string, count: number, bytes: Buffer): ReadonlySet<Socket> {
  const sockets = new Set<Socket>()
  const { hostname, port } = new URL(url)
  for (let i = 0; i < count; i += 1) {
    const socket = connect({ host: hostname, port: Number(port), localAddress: from })
    sockets.add(socket)
    socket
      .on('error', () => {})
      .once('close', () => sockets.delete(socket))
      .resume()
      .write(bytes)
  }
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
  })
  return sockets
}

/** The beginning of a call, with a body that lacks its last byte. */
function unfinished(bytes: number): Buffer {
  const head = `POST /createShipment.php HTTP/1.1\r\nHost: x\r\nAuthorization: ${OWNER.authorization}\r\nContent-Length: ${bytes}\r\n\r\n`
  return Buffer.from(head + `{"Notes":"${'a'.repeat(bytes)}`.slice(0, bytes - 1))
}

const quotes = async ({ url }: GatewayProcess, count: number) => {
  const statuses: number[] = []
  for (let i = 0; i < count; i += 1) {
    const body = { ...quoteExample, ShipmentNumber: `Q-${i}` }
    statuses.push((await callFrom(url, { path: '/getShippingQuote.php', headers: OWNER, body })).status)
  }
  return statuses
}

test('1,024 unfinished bodies from one address leave room for all others', async () => {
  const gateway = await startGatewayProcess({ credentials: CREDENTIALS })
  const before = gateway.measure().descriptors
  const sockets = open(gateway.url, '127.0.0.2', 1_024, unfinished(1_000))
  // The defaults: 256 connections of one address.
  await vi.waitFor(() => expect(sockets.size).toBeLessThanOrEqual(256), 20_000)
  expect(await quotes(gateway, 20)).toEqual(Array(20).fill(200))
  expect(gateway.measure().descriptors - before).toBeLessThan(300)
})

test('2,000 large bodies from two addresses take no more than their share of memory', async () => {
  const gateway = await startGatewayProcess({ credentials: CREDENTIALS })
  const large = unfinished(250_000)
  open(gateway.url, '127.0.0.2', 1_000, large)
  open(gateway.url, '127.0.0.3', 1_000, large)
  expect(await quotes(gateway, 100)).toEqual(Array(100).fill(200))
  expect(gateway.measure().peakMegabytes).toBeLessThan(MOST_MEGABYTES)
})
