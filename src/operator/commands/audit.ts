import { hash } from 'node:crypto'
import { createReadStream, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { twoDecimals } from '../../../mappings/codecs.ts'
import { isNotKnown, thingKey } from '../../language/text/service-text.ts'
import { DAY_MS } from '../../outside/store/scoreboard.ts'
import { isStoredAsGone, type Store, type StoredShipment } from '../../outside/store/store.ts'
import { allBookings } from '../../state/bookings/listing.ts'
import { vinKey } from '../../state/names/resolve.ts'
import { csvRows, decodedText, fromCell, refuseSeparator } from '../file-records.ts'
import { grouped, isoTime, plural } from '../words.ts'
import { CommandFailed, EXIT_FAILED, EXIT_UNREADABLE, FileUnreadable, namingFile, UsageError } from './failures.ts'
import { withExistingStore } from './open-store.ts'
import { type Options, print, printError, printJson } from './output.ts'

/** The columns of a list, each with usual names as letters and digits alone, the most certain first. */
const COLUMNS = {
  number: 'ordernumber orderno orderid order shipmentnumber shipmentno shipmentid shipment loadnumber number id',
  reference: 'referencenumber referenceno reference refnumber refno ref externalid ponumber po',
  vin: 'vinnumber vinno vin',
  price: 'totalprice totalamount total price amount cost charge',
  status: 'orderstatus shipmentstatus status',
  date: 'createddate createdat created bookingdate bookedon orderdate date',
} as const
type AuditColumn = keyof typeof COLUMNS
const NAMES = Object.keys(COLUMNS) as readonly AuditColumn[]

/*
 * The list and the store's bookings in a temporary database, which SQLite keeps in a file that goes by itself: both may be larger
 * than the memory. Numbers and ids have the form that tells things apart.
 */
const TABLES = `
  PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF;
  CREATE TABLE listed (number TEXT, reference TEXT, vin TEXT, cents INTEGER, stands INTEGER, at INTEGER, until INTEGER, line TEXT);
  CREATE TABLE claims (handle TEXT PRIMARY KEY, tenant TEXT, state TEXT, reference TEXT, vin TEXT, shipment TEXT, at INTEGER, changed INTEGER);
  CREATE TABLE names (name TEXT, tenant TEXT, id TEXT, own INTEGER)`
/**
 * A number belongs to the shipment that the service calls so, or an import, or whose booking has the reference and no number. The
 * reference of a booking is no number, although it may look like one.
 */
const SAME_VIN = `l.reference <> '' AND (c.vin = l.vin OR c.vin = '' OR l.vin = '')`
const SAME_VEHICLE = `c.reference = l.reference AND ${SAME_VIN}`
const MATCH = `
  CREATE INDEX listed_number ON listed (number); CREATE INDEX claims_shipment ON claims (shipment);
  CREATE INDEX claims_reference ON claims (reference); CREATE INDEX names_name ON names (name); CREATE INDEX names_id ON names (id);
  CREATE INDEX claims_open ON claims (reference COLLATE NOCASE) WHERE state IN ('unknown', 'sending');
  CREATE TABLE matches AS
    SELECT l.number, n.tenant, n.id FROM listed l JOIN names n ON n.name = l.number
      AND (n.own = 0 OR NOT EXISTS (SELECT 1 FROM claims c WHERE c.reference = n.name))
    UNION SELECT l.number, n.tenant, n.id FROM listed l JOIN names n ON n.id = l.number
    UNION SELECT l.number, c.tenant, c.shipment FROM listed l JOIN claims c ON c.shipment = l.number
    UNION SELECT l.number, c.tenant, c.shipment FROM listed l JOIN claims c ON ${SAME_VEHICLE} WHERE c.state = 'booked'
      AND NOT EXISTS (SELECT 1 FROM names n WHERE n.id = c.shipment AND n.own = 0);
  CREATE INDEX matches_number ON matches (number); CREATE INDEX matches_id ON matches (id);
  CREATE TABLE again AS SELECT number, max(reference) AS reference, vin, cents, count(*) AS times, count(DISTINCT line) AS lines,
    (SELECT sum(o.cents) FROM listed o WHERE o.number = l.number AND o.vin = l.vin AND o.stands) AS total
    FROM listed l WHERE stands AND cents > 0 AND vin <> '' GROUP BY number, vin, cents HAVING count(*) > 1;
  UPDATE listed SET vin = coalesce((SELECT c.vin FROM matches m JOIN claims c ON c.shipment = m.id
    WHERE m.number = listed.number AND c.vin <> ''), '') WHERE vin = '';
  CREATE TABLE twice AS SELECT reference, vin FROM listed WHERE stands AND reference <> '' AND vin <> ''
    GROUP BY reference, vin HAVING count(DISTINCT number) > 1;
  CREATE INDEX twice_reference ON twice (reference); CREATE INDEX listed_reference ON listed (reference, vin)`
const TWICE = `SELECT t.reference, t.vin, (SELECT group_concat(number, ' ') FROM (SELECT DISTINCT number FROM listed l
    WHERE l.stands AND l.reference = t.reference AND l.vin = t.vin ORDER BY number)) AS numbers,
  (SELECT group_concat(handle || ' made ' || number, ', ') FROM (SELECT DISTINCT c.handle, l.number FROM listed l
    JOIN matches m ON m.number = l.number JOIN claims c ON c.shipment = m.id
    WHERE l.stands AND l.reference = t.reference AND l.vin = t.vin ORDER BY l.number)) AS booked FROM twice t`
/** The number of an approved or imported shipment has an own name. */
const UNMATCHED = `l.stands AND NOT EXISTS (SELECT 1 FROM matches m WHERE m.number = l.number AND (EXISTS (SELECT 1 FROM claims c WHERE c.shipment = m.id)
      OR EXISTS (SELECT 1 FROM names n WHERE n.id = m.id AND n.own = 1)))
    AND NOT EXISTS (SELECT 1 FROM twice t WHERE t.reference = l.reference AND t.vin = l.vin)`
/** Older shipments than the first booking are none of the gateway's. */
const IS_OLDER = `(l.until IS NOT NULL AND l.until < (SELECT coalesce(min(at), 0) FROM claims))`
const OLDER = `SELECT count(DISTINCT number) AS many FROM listed l WHERE ${UNMATCHED} AND ${IS_OLDER}`
const UNMADE = `SELECT l.number, l.reference, l.vin, (SELECT handle FROM claims c
    WHERE c.reference = l.reference COLLATE NOCASE AND ${SAME_VIN} AND c.state IN ('unknown', 'sending')) AS unknown FROM listed l
  WHERE ${UNMATCHED} AND NOT ${IS_OLDER} GROUP BY l.number`
const LACKED = `SELECT handle, reference, vin, shipment, at FROM claims c WHERE state = 'booked'
  AND at BETWEEN (SELECT min(at) FROM listed) AND min((SELECT max(until) FROM listed), ?)
  AND NOT EXISTS (SELECT 1 FROM matches m WHERE m.id = c.shipment) ORDER BY at`
/** A shipment of several vehicles may have a row for each, with its part of the price or with all of it. */
const KNOWN = `SELECT l.number, l.reference, max(l.stands) AS stands, m.tenant, m.id,
    sum(CASE WHEN l.stands THEN l.cents END) AS total, max(CASE WHEN l.stands THEN l.cents END) AS most,
    (SELECT handle FROM claims c WHERE c.shipment = m.id AND c.tenant = m.tenant AND c.state = 'booked') AS standing,
    (SELECT handle FROM claims c WHERE c.shipment = m.id AND c.tenant = m.tenant AND c.state = 'freed' AND c.changed <= ?) AS freed
  FROM listed l JOIN matches m ON m.number = l.number GROUP BY l.number, m.tenant, m.id`
/** Lines that are the same in every cell, and lines with the same number, VIN and price: whether the latter are parts, the quote tells. */
const AGAIN = `SELECT a.*, m.tenant, m.id FROM again a LEFT JOIN matches m ON m.number = a.number GROUP BY a.number, a.vin, a.cents`

/** Compares a list of shipments with the bookings of the store. */
export async function audit(
  file: string,
  { columns = '', tenant, json }: Options<'json', 'columns' | 'tenant'>,
): Promise<number> {
  const chosen = chosenColumns(columns)
  const audited = new DatabaseSync('')
  try {
    audited.exec(TABLES)
    audited.exec('BEGIN')
    let rows: number
    try {
      rows = await readList(file, chosen, audited)
    } catch (error) {
      const reason = namingFile(error, file === '-' ? 'standard input' : file)
      if (!(reason instanceof CommandFailed)) throw error
      printError(`transload: ${reason.message}`)
      return EXIT_UNREADABLE
    }
    return await withExistingStore(async (store) => {
      const copied = await copyBookings(store, tenant, audited)
      if (tenant !== undefined && copied === 0) printError(`The store has no bookings of ${tenant}.`)
      audited.exec(`COMMIT; ${MATCH}`)
      let found = 0
      const listedAt = file === '-' ? Date.now() : statSync(file).mtimeMs
      const prices = { compared: 0, unquoted: 0 }
      for await (const { text, ...anomaly } of anomalies(store, audited, listedAt, prices)) {
        found += 1
        if (json) printJson({ ...anomaly, text })
        else print(text)
      }
      const older = Number(audited.prepare(OLDER).get()?.['many'])
      if (older > 0) printError(`Not compared: shipments from before the first booking here (${grouped(older)}).`)
      if (prices.compared + prices.unquoted > 0)
        printError(
          `Prices compared with a quote: ${grouped(prices.compared)}. Not compared, without a quote here: ${grouped(prices.unquoted)}.`,
        )
      printError(`${found === 1 ? '1 anomaly' : `${grouped(found)} anomalies`} in ${plural(rows, 'row')}.`)
      return found > 0 ? EXIT_FAILED : 0
    })
  } finally {
    audited.close()
  }
}

function chosenColumns(text: string): ReadonlyMap<string, string> {
  const pairs = text.split(',').filter((pair) => pair.trim() !== '')
  return new Map(
    pairs.map((pair): [string, string] => {
      const [name = '', header = ''] = pair.split(/=(.*)/s).map((part) => part.trim())
      if (header !== '' && NAMES.some((known) => known === name)) return [name, header]
      throw new UsageError(`--columns takes NAME=HEADER, separated by commas; NAME is ${NAMES.join(', ')}`)
    }),
  )
}

/** Finds the place of each column in the first line. */
function placesOf(header: readonly string[], chosen: ReadonlyMap<string, string>) {
  const plain = header.map((name) =>
    name
      .toLowerCase()
      .replaceAll('#', 'number')
      .replace(/[^a-z0-9]/g, ''),
  )
  // UTF-16 without its mark is also UTF-8.
  if (header.some((name) => name.includes('\0'))) throw new FileUnreadable('is not UTF-8; convert it first')
  // A header that names a column by the whole line is one column.
  if (header.length === 1 && ![...chosen.values()].includes(header[0] ?? '')) refuseSeparator(header[0] ?? '')
  const placeOf = (column: AuditColumn) => {
    const own = chosen.get(column)
    if (own === undefined) return plain.indexOf(COLUMNS[column].split(' ').find((name) => plain.includes(name)) ?? '-')
    const place = header.findIndex((name) => name.toLowerCase() === own.toLowerCase())
    if (place < 0) throw new FileUnreadable(`has no column ${own}; its columns are ${header.join(', ')}`)
    return place
  }
  const places = Object.fromEntries(NAMES.map((column) => [column, placeOf(column)])) as Record<AuditColumn, number>
  if (places.number < 0)
    throw new FileUnreadable(`has no known column for the number; name it with --columns number=${header[0]}`)
  const lacking = NAMES.filter((column) => places[column] < 0)
  if (lacking.length > 0) printError(`Not compared, because the list has no such columns: ${lacking.join(', ')}.`)
  return places
}

/** Reads the list into the database; returns the number of rows. */
async function readList(file: string, chosen: ReadonlyMap<string, string>, audited: DatabaseSync): Promise<number> {
  const insert = audited.prepare('INSERT INTO listed VALUES (?, ?, ?, ?, ?, ?, ?, ?)')
  let header: { readonly places: ReturnType<typeof placesOf>; readonly width: number } | undefined
  let rows = 0
  const left = { 'rows without a number': 0, 'prices that are not amounts': 0, 'dates that cannot be read': 0 }
  for await (const { line, cells } of csvRows(decodedText(file === '-' ? process.stdin : createReadStream(file)))) {
    if (!header) {
      header = { places: placesOf(cells, chosen), width: cells.length }
      continue
    }
    // A comma that should have been quoted shifts all later cells into the wrong columns.
    if (cells.slice(header.width).some((cell) => cell !== ''))
      throw new FileUnreadable(`has more fields in line ${line} than in the first one`)
    const { places } = header
    const [number, reference, vin, price, status, date] = NAMES.map((column) => {
      const cell = fromCell(cells[places[column]] ?? '')
      return isNotKnown(cell) ? '' : cell
    }) as [string, string, string, string, string, string]
    const cents = centsOf(price)
    const period = periodOf(date)
    if (number === '') left['rows without a number'] += 1
    if (price !== '' && cents === null) left['prices that are not amounts'] += 1
    if (date !== '' && !period) left['dates that cannot be read'] += 1
    if (number === '') continue
    insert.run(
      thingKey(number),
      reference,
      vinKey(vin),
      cents,
      CANCELED.test(status) ? 0 : 1,
      period?.at ?? null,
      period?.until ?? null,
      hash('sha256', JSON.stringify(cells)),
    )
    rows += 1
  }
  for (const [what, many] of Object.entries(left)) if (many > 0) printError(`Not compared: ${what} (${grouped(many)}).`)
  return rows
}

const CANCELED = /(?<!\bnot[\s_-])\b(?:cancel(?:l?ed|lation)?|void(?:ed)?)\b/i

/** Returns an amount such as `$1,234.50` in cents. */
function centsOf(price: string): number | null {
  const amount = twoDecimals(price.replace(/usd|\s/gi, ''))
  return amount === undefined ? null : Number(amount.replace('.', ''))
}

const YEARS = [2000, 2100] as const

/** Returns the time of a cell, or the whole day, in the zone of this machine where the cell has none. */
function periodOf(text: string) {
  const date = new Date(/^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00` : text)
  const at = date.getTime()
  if (!(date.getFullYear() >= YEARS[0] && date.getFullYear() <= YEARS[1])) return undefined
  return { at, until: /\d:\d\d/.test(text) ? at : at + DAY_MS - 1 }
}

/** Copies what bookings and names tell of shipments, page by page; returns how many there are. */
async function copyBookings(store: Store, tenant: string | undefined, audited: DatabaseSync): Promise<number> {
  let copied = 0
  const booking = audited.prepare('INSERT OR REPLACE INTO claims VALUES (?, ?, ?, ?, ?, ?, ?, ?)')
  for await (const claim of allBookings(store, { tenant })) {
    const { handle, tenant: of, state, reference, vin, shipment, createdAt, changedAt } = claim
    booking.run(handle, of, state, reference, vin, thingKey(shipment), createdAt, changedAt)
    copied += 1
  }
  const name = audited.prepare('INSERT INTO names VALUES (?, ?, ?, ?)')
  for await (const page of store.scan({ tenant })) {
    copied += page.length
    for (const one of page) {
      if (one.kind === 'shipment') name.run(one.name, one.tenant, thingKey(one.id), one.givenBy === 'caller' ? 1 : 0)
    }
  }
  return copied
}

/** Finds what the list and the store tell differently; `text` is the line for people. A list that ends at `listedAt` lacks no later booking. */
async function* anomalies(
  store: Store,
  audited: DatabaseSync,
  listedAt: number,
  prices: { compared: number; unquoted: number },
) {
  const quotedOf = async (shipment: StoredShipment | undefined) =>
    centsOf((shipment?.quote && (await store.quote(shipment.tenant, shipment.quote))?.price) || '')
  for (const row of audited.prepare(TWICE).iterate()) {
    const { reference, vin, numbers, booked } = row
    const made = booked === null ? 'No booking here made one of them' : `Here ${booked}`
    const text = `${reference} with VIN ${vin} has more than one active shipment: ${String(numbers).replaceAll(' ', ', ')}. ${made}. Cancel the others at the service.`
    yield { kind: 'twice', ...row, text }
  }
  for (const row of audited.prepare(UNMADE).iterate()) {
    const { number, reference, vin, unknown } = row
    const what = `${number} (${[reference, vin].filter(Boolean).join(', ') || 'no reference'}): no booking here made it.`
    const todo =
      unknown === null
        ? 'The gateway keeps no record of version-2 calls: ask the caller and the service who booked it, and cancel it if nobody did.'
        : `${unknown} may have: look it up at the service and settle that booking with its id: "transload bookings settle ${unknown} --shipment-id ID".`
    yield { kind: 'not-booked-here', ...row, text: `${what} ${todo}` }
  }
  for (const row of audited.prepare(LACKED).iterate(listedAt)) {
    const at = isoTime(Number(row['at']))
    const text = `${row['handle']} (${row['reference']}) was booked at ${at} as shipment ${row['shipment']}, which is not in the list. Ask the service for that shipment.`
    yield { kind: 'not-listed', ...row, at, text }
  }
  for (const row of audited.prepare(KNOWN).iterate(listedAt)) {
    const { number, reference, stands, total, most, standing, freed } = row
    const shipment = await store.shipment(String(row['tenant']), String(row['id']))
    const isCanceled = shipment !== undefined && isStoredAsGone(shipment) && shipment.at <= listedAt
    const what = reference === '' ? number : `${number} (${reference})`
    if (stands === 1 && (isCanceled || (standing === null && freed !== null))) {
      const text = `${what} is active in the list but canceled here. Read it at the service: if it is canceled there, reject its price; if not, cancel it.`
      yield { kind: 'canceled-here', number, reference, handle: freed ?? standing, text }
    }
    if (stands === 0 && standing !== null && !isStoredAsGone(shipment)) {
      const text = `${what} is canceled in the list, but ${standing} is active here. Read it at the service: if it is canceled there, tell the caller that nothing is transported.`
      yield { kind: 'canceled-there', number, reference, handle: standing, text }
    }
    if (total === null) continue
    const quoted = await quotedOf(shipment)
    prices[quoted === null ? 'unquoted' : 'compared'] += 1
    if (quoted === null || quoted === total || quoted === most) continue
    const [listed, asked] = [amountOf(total), amountOf(quoted)]
    const text = `${what} costs ${listed}, but its quote was ${asked}. Ask the service about the difference.`
    yield { kind: 'other-price', number, reference, quoted: asked, listed, text }
  }
  for (const row of audited.prepare(AGAIN).iterate()) {
    const { number, reference, vin, cents, times, lines, total, tenant, id } = row
    const quoted = id === null ? null : await quotedOf(await store.shipment(String(tenant), String(id)))
    // Equal parts of the price make up the quote; without one, only the same line is certain.
    if (quoted === total || (lines !== 1 && quoted !== cents)) continue
    const text = `${number} (${[reference, vin].filter(Boolean).join(', ')}) is listed ${times} times at ${amountOf(cents)}. Ask the service to bill it once.`
    yield { kind: 'billed-twice', number, reference, vin, times, price: amountOf(cents), text }
  }
}

const amountOf = (cents: unknown): string => (Number(cents) / 100).toFixed(2)
