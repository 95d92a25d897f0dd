/** Promise: numbers are imported and exported beside a gateway, and the work continues after a kill (contract, section 6). */

import { cpSync, existsSync, readFileSync, rmSync, statSync, truncateSync, utimesSync, writeFileSync } from 'node:fs'
import { watch } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openStore } from '../../src/outside/store/open.ts'
import { transload } from '../callers/commands.ts'
import { folder } from '../callers/tenants-gateway.ts'
import { cleanEnv, PROGRAM, start } from '../command.ts'
import { get, post, startGateway } from '../gateway.ts'
import { size } from '../size.ts'
import { named, scanned } from '../store/samples.ts'
import { approve } from '../xref/program.ts'
import { fillStore } from './transcript.ts'

const STORE_URL = 'store.db'
const xref = (place: string, words: string, storeUrl = STORE_URL) =>
  transload(['xref', ...words.split(' ')], place, { STORE_URL: storeUrl })

/** Starts a command, and kills it when a file in its folder exists and is not empty. */
async function killOnce(place: string, words: string, name: string): Promise<void> {
  const file = join(place, name)
  const options = { cwd: place, env: cleanEnv({ STORE_URL }) }
  const running = start(process.execPath, [PROGRAM, 'xref', ...words.split(' ')], options)
  for await (const _ of watch(place)) {
    if (existsSync(file) && statSync(file).size > 0) break
  }
  running.signal('SIGKILL')
  expect((await running.ended).code).toBe('SIGKILL')
}

test('the numbers of an import resolve at once through a gateway that is running on the same file', async () => {
  const place = folder()
  const gateway = await startGateway({ store: await openStore(join(place, STORE_URL)) })
  const make = async (path: string, body: object) =>
    (await post(gateway, path, body, { 'content-type': 'application/json' })).json
  const trip = await make('/v2/quote', { pickup: '10314', delivery: '33166' })
  const end = { city: 'Dallas', state: 'TX', zipcode: 75201 }
  const booking = { customer: { customer_name: 'Pat' }, pickup: end, delivery: end }
  const vins = ['VIN-ONE', 'VIN-TWO']
  const ids = await Promise.all(
    vins.map(async (vin) => (await make('/v2/shipments', { ...booking, vehicles: [{ vin }] })).id as string),
  )
  const read = (query: Record<string, string>) => get(gateway, `/getShipment.php?${new URLSearchParams(query)}`)
  // Read it before, because a cache could keep the empty result.
  expect((await approve(gateway, 'OLD-QUOTE')).status).toBe(404)
  expect((await read({ ReferenceNumber: 'OLD REF' })).status).toBe(404)

  writeFileSync(join(place, 'quotes.csv'), `ShipmentNumber,quote_id\nOLD-QUOTE,${trip.shipment_id}\n`)
  const rows = ids.map((shipment_id, i) => ({ ReferenceNumber: 'OLD REF', VinNo: vins[i], shipment_id }))
  writeFileSync(join(place, 'shipments.ndjson'), rows.map((row) => JSON.stringify(row)).join('\n'))
  for (const file of ['quotes.csv', 'shipments.ndjson']) {
    expect(await xref(place, `import ${file} --tenant demo`)).toMatchObject({ code: 0 })
  }

  expect((await approve(gateway, 'OLD-QUOTE')).json).toMatchObject({ TransportationBooked: 'Yes' })
  expect(gateway.sandbox.quotes.get(trip.shipment_id)?.approved).toBe(true)
  for (const [i, vin] of vins.entries()) {
    const { json } = await read({ ReferenceNumber: 'OLD REF', VinNo: vin.toLowerCase() })
    expect(json.VinNo).toBe(vin)
    expect(gateway.sandbox.requests.map(({ path }) => path)).toContain(`/v2/shipments/${ids[i]}`)
  }
  expect((await post(gateway, '/deleteShipment.php', { ReferenceNumber: 'OLD REF' })).status).toBe(409)
})

test('an import that is killed continues where it was, but only for the same file, store and options', async () => {
  const ROWS = size(20_000, 30_000)
  const rows = Array.from({ length: ROWS }, (_, index) => `REF-${index},id-${index}\n`)
  const IMPORT = 'import numbers.csv --tenant acme'
  const PROGRESS = 'numbers.csv.import-progress'

  const killed = folder()
  writeFileSync(join(killed, 'numbers.csv'), `name,id\n${rows.join('')}`)
  // A time that is exactly the same in a copy of the folder.
  utimesSync(join(killed, 'numbers.csv'), 1_700_000_000, 1_700_000_000)
  await killOnce(killed, IMPORT, PROGRESS)
  const copied = () => {
    const copy = folder()
    cpSync(killed, copy, { recursive: true, preserveTimestamps: true })
    return copy
  }

  /** Imports again; returns the row after which it continues. */
  async function again(place: string, words = IMPORT, storeUrl = STORE_URL): Promise<number> {
    const { code, err } = await xref(place, words, storeUrl)
    expect(code).toBe(0)
    expect(existsSync(join(place, PROGRESS))).toBe(false)
    const store = await openStore(join(place, storeUrl))
    const links = (await scanned(store)).filter(({ tenant }) => words.endsWith(tenant))
    await store.close()
    expect(links).toHaveLength(ROWS)
    expect(links.filter(({ name, id }) => name.slice(4) !== id.slice(3))).toEqual([])
    const [, row = '0'] = /^Resuming after row ([\d,]+), where the last import stopped\.$/m.exec(err) ?? []
    return Number(row.replace(',', ''))
  }

  const after = await again(copied())
  expect(after).toBeGreaterThan(0)
  expect(after).toBeLessThan(ROWS)
  const changed = copied()
  writeFileSync(join(changed, 'numbers.csv'), `name,id\n${rows.toReversed().join('')}`)
  expect(await again(changed)).toBe(0)
  const gone = copied()
  for (const end of ['', '-wal', '-shm']) rmSync(join(gone, STORE_URL + end), { force: true })
  expect(await again(gone)).toBe(0)
  expect(await again(copied(), IMPORT, 'other.db')).toBe(0)
  expect(await again(killed, 'import numbers.csv --tenant zenith')).toBe(0)
})

test('an export is streamed, and continues after a kill with --resume', async () => {
  const place = folder()
  const file = join(place, 'all.csv')
  const names = Array.from({ length: size(15_000, 60_000) }, (_, index) => ({
    ...named({ name: `N "${index}"\n`, id: `${index}`, at: index }),
    vin: '',
  }))
  await fillStore(place, async (store) => void (await store.load(names, { replace: true })))
  await killOnce(place, 'export all.csv', 'all.csv')
  // Cut in the middle of a name.
  truncateSync(file, statSync(file).size - 30)
  const resumed = await xref(place, 'export all.csv --resume')
  expect(Number(/^([\d,]+) numbers/m.exec(resumed.err)?.[1]?.replace(',', ''))).toBeLessThan(names.length)
  const { out } = await xref(place, 'export')
  expect(readFileSync(file, 'utf8') === out).toBe(true)
  const wrong = await xref(place, 'export all.csv --resume --format ndjson')
  expect(wrong).toEqual({ code: 1, out: '', err: expect.stringContaining('all.csv does not end like an export') })
  expect(readFileSync(file, 'utf8') === out).toBe(true)
})
