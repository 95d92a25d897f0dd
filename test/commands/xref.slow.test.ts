/** Promise: numbers are imported and exported as streams, and go on after a kill (contract, section 6). */

import { cpSync, existsSync, readFileSync, rmSync, statSync, truncateSync, utimesSync, writeFileSync } from 'node:fs'
import { watch } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { several } from '../../src/commands/output.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite.ts'
import type { Link } from '../../src/store/store.ts'
import { serviceId } from '../../src/text/service-text.ts'
import { headerOf, lastKey, lineOf } from '../../src/xref/transfer.ts'
import { basic, get, post, startGateway } from '../gateway.ts'
import { size } from '../size.ts'
import { link, scanned } from '../store/samples.ts'
import { approve, STORE, startTransload, testFolder, transload } from '../xref/program.ts'

/** A folder with a file in it. */
function folderWith(content: string | Uint8Array, name = 'numbers.csv'): string {
  const folder = testFolder()
  writeFileSync(join(folder, name), content)
  return folder
}

/** Everything in the store of a folder, without when it was written. */
async function linksIn(folder: string, name = STORE): Promise<readonly Omit<Link, 'at'>[]> {
  return (await allIn(folder, name)).map(({ at: _, ...rest }) => rest)
}

async function allIn(folder: string, name = STORE): Promise<readonly Link[]> {
  const store = await openSqliteStore({ path: join(folder, name) })
  const links = await scanned(store)
  await store.close()
  return links
}

async function fill(folder: string, links: readonly Link[], name = STORE): Promise<void> {
  const store = await openSqliteStore({ path: join(folder, name) })
  await store.load(links, { replace: true })
  await store.close()
}

const shipment = (name: string, id: string, vin = '') => ({
  tenant: 'acme',
  kind: 'shipment',
  name,
  vin,
  id,
  givenBy: 'caller',
})
const summary = (rows: number, written: number, same = 0, conflicts = 0, badRows = 0) =>
  `${several(rows, 'row')}: ${written} written, ${same} there already, ${several(conflicts, 'conflict')}${conflicts > 0 ? ' left as they were (--replace overwrites)' : ''}, ${several(badRows, 'bad row')}.\n`

describe('import', () => {
  test('lists every bad row with its line, writes the others and ends with 1', async () => {
    const csv = folderWith(
      'tenant,kind,name,id,at\n' +
        'acme,,REF-1,id-1,\n' +
        'acme,,,id-2,\n' +
        'acme,,"REF\n3",,\n' +
        'acme,booking,REF-4,id-4,\n' +
        'acme,,REF-5,id-5,01/02/2024\n' +
        ',,REF-6,id-6,\n' +
        'acme,,REF,7,id-7,2024-01-01\n' +
        'acme,,R\0,id-8,\n' +
        'acme,quote,REF-9,id-9,2024-01-01\n',
    )
    const { code, out, err } = await transload(csv, ['xref', 'import', 'numbers.csv'])
    expect(err.split('\n')).toEqual([
      'line 3 has no name',
      'line 5 has no id',
      'line 6 has a kind that is neither quote nor shipment',
      'line 7 has a date that is not ISO 8601',
      'line 8 has no tenant; add the column or --tenant',
      'line 9 has more fields than the first line',
      'line 10 has a name with a character that cannot be stored',
      '',
    ])
    expect({ code, out }).toEqual({ code: 1, out: summary(9, 2, 0, 0, 7) })
    expect((await linksIn(csv)).map(({ name }) => name)).toEqual(['REF-1', 'REF-9'])

    const ndjson = folderWith(
      '{"name":"A","id":"1"}\nnot json\n[]\n{"name":"B"}\n{"name":"C","id":"1","uuid":"2"}\n{"name":"\\ud800","id":"3"}\n{"number":12345678901234567890,"id":"4"}',
      'numbers.jsonl',
    )
    const second = await transload(ndjson, ['xref', 'import', 'numbers.jsonl', '--tenant', 'acme'])
    expect(second.err.split('\n')).toEqual([
      'line 2 is not JSON',
      'line 3 is not a JSON object',
      'line 4 has no id',
      'line 5 has two different values for id',
      'line 6 has a name with a character that cannot be stored',
      'line 7 has no name',
      '',
    ])
    expect({ code: second.code, out: second.out }).toEqual({ code: 1, out: summary(7, 1, 0, 0, 6) })
  })

  test('conflicts are listed and left, unless --replace', async () => {
    const folder = folderWith(
      'tenant,name,vin,id\nacme,REF-1,,new\nacme,REF-1,VIN1,same\nacme,REF-2,,first\nacme,REF-2,,second\n',
    )
    await fill(folder, [
      link({ kind: 'shipment', name: 'REF-1', id: 'old' }),
      link({ kind: 'shipment', name: 'REF-1', vin: 'VIN1', id: 'same' }),
    ])
    const left = await transload(folder, ['xref', 'import', 'numbers.csv'])
    expect({ code: left.code, out: left.out }).toEqual({ code: 1, out: summary(4, 1, 1, 2) })
    expect(left.err).toBe(
      'conflict: acme shipment REF-1 is old in the store and new in the file\n' +
        'conflict: acme shipment REF-2 is first in the store and second in the file\n',
    )
    const standing = [shipment('REF-1', 'old'), shipment('REF-1', 'same', 'VIN1'), shipment('REF-2', 'first')]
    expect(await linksIn(folder)).toEqual(standing)

    const replaced = await transload(folder, ['xref', 'import', 'numbers.csv', '--replace'])
    expect({ code: replaced.code, err: replaced.err }).toEqual({ code: 0, err: '' })
    const now = [shipment('REF-1', 'new'), shipment('REF-1', 'same', 'VIN1'), shipment('REF-2', 'second')]
    expect(await linksIn(folder)).toEqual(now)
  })

  test('the numbers resolve at once through a gateway that is running on the same file', async () => {
    const folder = testFolder()
    const gateway = await startGateway({ store: await openSqliteStore({ path: join(folder, STORE) }) })
    const make = async (path: string, body: object) =>
      (await post(gateway, path, body, { 'content-type': 'application/json' })).json
    const trip = await make('/v2/quote', { pickup: '10314', delivery: '33166' })
    const place = { city: 'Dallas', state: 'TX', zipcode: 75201 }
    const [one, two] = await Promise.all(
      ['VIN-ONE', 'VIN-TWO'].map((vin) =>
        make('/v2/shipments', {
          customer: { customer_name: 'Pat' },
          pickup: place,
          delivery: place,
          vehicles: [{ vin }],
        }),
      ),
    )
    const read = (query: Record<string, string>) => get(gateway, `/getShipment.php?${new URLSearchParams(query)}`)
    // Read before, because a cache could keep the empty result.
    expect((await approve(gateway, 'OLD-QUOTE')).status).toBe(404)
    expect((await read({ ReferenceNumber: 'OLD REF' })).status).toBe(404)

    writeFileSync(join(folder, 'quotes.csv'), `ShipmentNumber,quote_id\nOLD-QUOTE,${trip.shipment_id}\n`)
    const shipments = [one, two].map(({ id, vehicles: [{ vin }] }) => ({
      ReferenceNumber: 'OLD REF',
      VinNo: vin,
      shipment_id: id,
    }))
    writeFileSync(join(folder, 'shipments.ndjson'), shipments.map((row) => JSON.stringify(row)).join('\n'))
    for (const file of ['quotes.csv', 'shipments.ndjson']) {
      expect(await transload(folder, ['xref', 'import', file, '--tenant', 'demo'])).toMatchObject({ code: 0 })
    }

    gateway.sandbox.requests.length = 0
    expect((await approve(gateway, 'OLD-QUOTE')).json).toMatchObject({ TransportationBooked: 'Yes' })
    expect(gateway.sandbox.quotes.get(trip.shipment_id)?.approved).toBe(true)
    for (const { id, vehicles } of [one, two]) {
      const VinNo = String(vehicles[0].vin).toLowerCase()
      const { status, json } = await read({ ReferenceNumber: 'OLD REF', VinNo })
      expect({ status, vin: json.VinNo }).toEqual({ status: 200, vin: vehicles[0].vin })
      expect(gateway.sandbox.requests.at(-1)?.path).toBe(`/v2/shipments/${id}`)
    }
    expect((await read({ ShipmentNumber: 'OLD REF' })).json.VinNo).toBe('VIN-TWO')
    const ambiguous = await post(gateway, '/deleteShipment.php', { ReferenceNumber: 'OLD REF' })
    expect(ambiguous.status).toBe(409)
    expect(ambiguous.json.Message).toMatch(/VIN-ONE.*VIN-TWO|VIN-TWO.*VIN-ONE/)
    await post(gateway, '/deleteShipment.php', { ReferenceNumber: 'OLD REF', VinNo: 'VIN-ONE' })
    expect(gateway.sandbox.shipments.get(one.id)?.status).toBe('canceled')
    expect(gateway.sandbox.shipments.get(two.id)?.status).toBe('new')
  })
})

describe('an import that is killed', () => {
  const ROWS = size(15_000, 30_000)
  const COUNTED = ROWS.toLocaleString('en-US')
  const rows = Array.from({ length: ROWS }, (_, index) => `REF-${index},id-${index}\n`)
  const IMPORT = ['xref', 'import', 'numbers.csv', '--tenant', 'acme']

  /** A folder in which an import was ended by SIGKILL after its first step. */
  async function killedImport(): Promise<string> {
    const folder = folderWith(`name,id\n${rows.join('')}`)
    // A time that a copy of the folder keeps exactly.
    utimesSync(join(folder, 'numbers.csv'), 1_700_000_000, 1_700_000_000)
    const running = startTransload(folder, IMPORT)
    for await (const { filename } of watch(folder)) {
      if (filename === 'numbers.csv.import-progress') break
    }
    running.signal('SIGKILL')
    expect((await running.ended).code).toBe('SIGKILL')
    return folder
  }

  function copyOf(folder: string): string {
    const copy = testFolder()
    cpSync(folder, copy, { recursive: true, preserveTimestamps: true })
    return copy
  }

  async function expectAll(folder: string, store = STORE, tenant = 'acme'): Promise<void> {
    const links = (await linksIn(folder, store)).filter((one) => one.tenant === tenant)
    expect(links.length).toBe(ROWS)
    expect(links.filter(({ name, id }) => name.slice(4) !== id.slice(3))).toEqual([])
  }

  test('continues where it was, for the same file, store and options only', async () => {
    const killed = await killedImport()
    const tallied = new RegExp(
      `^${COUNTED} rows: ([\\d,]+) written, ([\\d,]+) there already, 0 conflicts, 0 bad rows\\.\\n$`,
    )
    const isGone = (folder: string) => expect(existsSync(join(folder, 'numbers.csv.import-progress'))).toBe(false)

    const resumed = copyOf(killed)
    const { code, out, err } = await transload(resumed, IMPORT)
    expect({ code, out }).toEqual({ code: 0, out: expect.stringMatching(tallied) })
    const [, after = ''] = /^Going on after row ([\d,]+), where the last import ended\.\n$/.exec(err) ?? []
    expect(Number(after.replace(',', ''))).toSatisfy((row: number) => row > 0 && row < ROWS)
    await expectAll(resumed)
    isGone(resumed)

    const changed = copyOf(killed)
    writeFileSync(join(changed, 'numbers.csv'), `name,id\nREF-NEW,id-NEW\n${rows.slice(1).join('')}`)
    const anew = await transload(changed, IMPORT)
    expect({ code: anew.code, err: anew.err }).toEqual({ code: 0, err: '' })
    expect((await linksIn(changed)).map(({ name }) => name)).toContain('REF-NEW')
    isGone(changed)

    const gone = copyOf(killed)
    for (const suffix of ['', '-wal', '-shm']) rmSync(join(gone, STORE + suffix), { force: true })
    expect(await transload(gone, IMPORT)).toMatchObject({ code: 0, err: '' })
    await expectAll(gone)

    const elsewhere = copyOf(killed)
    expect(await transload(elsewhere, IMPORT, { storeUrl: 'other.db' })).toMatchObject({ code: 0, err: '' })
    await expectAll(elsewhere, 'other.db')
    const zenith = await transload(killed, [...IMPORT.slice(0, -1), 'zenith'])
    expect({ code: zenith.code, err: zenith.err }).toEqual({ code: 0, err: '' })
    await expectAll(killed, STORE, 'zenith')
  })
})

describe('export', () => {
  /** Any name that a caller could send: blanks around it are cut off on the way in. */
  const nasty = fc
    .array(
      fc.oneof(
        fc.constantFrom(
          '"',
          '""',
          ',',
          '\n',
          '\r',
          '\r\n',
          '\t',
          ' ',
          "'",
          ';',
          '\\',
          '\\n',
          '\u2028',
          '\uFEFF',
          '=',
          '☂',
          '\u0301',
        ),
        fc.string({ unit: 'binary', minLength: 1, maxLength: 4 }),
      ),
      { minLength: 1, maxLength: 6 },
    )
    .map((parts) => parts.join('').replaceAll('\0', '').trim())
    .filter((text) => text !== '')
  /** As nasty as an id can be that a call can reach. */
  const nastyId = nasty
    .map((text) => text.replace(/\p{Cc}/gu, '').trim())
    .filter((text) => serviceId(text) !== undefined)
  const nastyLinks = fc.uniqueArray(
    fc.record({
      tenant: nasty,
      kind: fc.constantFrom('quote', 'shipment'),
      name: nasty,
      id: nastyId,
      givenBy: fc.constantFrom('caller', 'service'),
      at: fc.integer({ min: 0, max: 4_102_444_800_000 }),
    }),
    {
      minLength: 20,
      maxLength: 300,
      selector: ({ tenant, name, kind, givenBy }) => JSON.stringify([tenant, name, kind, givenBy]),
    },
  )
  const linksOf = (rows: readonly Omit<Link, 'vin'>[]) =>
    rows.map((row, index) => ({ ...row, vin: row.kind === 'shipment' && index % 2 === 0 ? `VIN${index}` : '' }))

  test.each(['csv', 'ndjson'] as const)(
    'as %s, cut off anywhere, goes on after its last whole line',
    async (format) => {
      const folder = testFolder()
      const file = join(folder, 'cut')
      await fc.assert(
        fc.asyncProperty(nastyLinks, fc.double({ min: 0, max: 1, noNaN: true }), async (rows, share) => {
          const links = linksOf(rows)
          const lines = links.map((one) => lineOf(one, format))
          const whole = Buffer.from(headerOf(format) + lines.join(''))
          const cut = Math.floor(whole.length * share)
          writeFileSync(file, whole.subarray(0, cut))
          const key = await lastKey(file, format)
          let [bytes, done] = [Buffer.byteLength(headerOf(format)), 0]
          for (const line of lines) {
            bytes += Buffer.byteLength(line)
            if (bytes <= cut) done += 1
          }
          const last = links[done - 1]
          const { id: _, at: __, ...lastKeyOf } = last ?? {}
          expect(key).toEqual(last && lastKeyOf)
          const kept = Buffer.byteLength(headerOf(format) + lines.slice(0, done).join(''))
          expect(statSync(file).size).toBe(cut < headerOf(format).length ? 0 : kept)
        }),
        { numRuns: size(20, 60) },
      )
    },
  )

  test('is streamed, and continues after a kill with --resume', async () => {
    const folder = testFolder()
    const rows = Array.from({ length: size(30_000, 60_000) }, (_, index) =>
      link({ name: `N "${index}"\n`, id: `${index}`, at: index }),
    )
    await fill(folder, rows)
    const file = join(folder, 'all.csv')
    const running = startTransload(folder, ['xref', 'export', 'all.csv'])
    for await (const _ of watch(folder)) {
      if (existsSync(file) && statSync(file).size > 0) break
    }
    running.signal('SIGKILL')
    expect((await running.ended).code).toBe('SIGKILL')
    const before = statSync(file).size
    // Cut in the middle of a name.
    truncateSync(file, before - 30)
    const resumed = await transload(folder, ['xref', 'export', 'all.csv', '--resume'])
    expect(resumed.code).toBe(0)
    expect(Number(/^([\d,]+) links/.exec(resumed.err)?.[1]?.replace(',', ''))).toBeLessThan(rows.length)
    const { out } = await transload(folder, ['xref', 'export'])
    expect(readFileSync(file, 'utf8') === out).toBe(true)
    const again = await transload(folder, ['xref', 'export', 'all.csv', '--resume'])
    expect(again).toEqual({ code: 0, out: '', err: '0 links exported.\n' })
    const wrong = await transload(folder, ['xref', 'export', 'all.csv', '--resume', '--format', 'ndjson'])
    expect(wrong).toEqual({ code: 1, out: '', err: expect.stringContaining('all.csv does not end like an export') })
    expect(readFileSync(file, 'utf8') === out).toBe(true)
  })
})

describe('get', () => {
  test('shows what a number stands for, without personal data', async () => {
    const folder = testFolder()
    const gateway = await startGateway({ store: await openSqliteStore({ path: join(folder, STORE) }) })
    await post(gateway, '/getShippingQuote.php', quoteExample)
    await post(gateway, '/createShipment.php', { ...bookingExample, ReferenceNumber: quoteExample.ShipmentNumber })
    const words = ['xref', 'get', quoteExample.ShipmentNumber, '--tenant', 'demo']
    const { code, out, err } = await transload(folder, words)
    expect({ code, err }).toEqual({ code: 0, err: '' })
    const [quoteId] = gateway.sandbox.quotes.keys()
    const [shipmentId] = gateway.sandbox.shipments.keys()
    expect(
      out
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toMatchObject([
      {
        tenant: 'demo',
        kind: 'shipment',
        name: quoteExample.ShipmentNumber,
        vin: bookingExample.VinNo,
        id: shipmentId,
      },
      {
        kind: 'quote',
        id: quoteId,
        own: quoteExample.ShipmentNumber,
        remembers: expect.arrayContaining(['contact_name']),
      },
    ])
    for (const secret of ['Pat', 'Test Dr', 'Dallas', '75234', '214', 'example.com', basic()])
      expect(out).not.toContain(secret)

    const other = await transload(folder, ['xref', 'get', quoteExample.ShipmentNumber, '--tenant', 'acme'])
    expect(other).toEqual({
      code: 1,
      out: '',
      err: `transload: acme has nothing known as ${quoteExample.ShipmentNumber}\n`,
    })
  })
})
