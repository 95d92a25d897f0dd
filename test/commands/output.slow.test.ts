/** Promise: commands and logs print nothing that controls a terminal or a spreadsheet (contract, section 11). */

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { openStore } from '../../src/outside/store/open.ts'
import { transload } from '../callers/commands.ts'
import { cheapHash, folder } from '../callers/tenants-gateway.ts'
import { type CommandEnd, ROOT, run } from '../command.ts'
import { named, newClaim, newEvent, scanned } from '../store/samples.ts'

const OBEYED = /[\p{Cc}\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu
/** Control sequences in a name: a title, colors, a forged row, the eight-bit forms, reversed text. */
const NASTY = [
  '\u001b]0;owned\u0007',
  '\u001b[31m',
  '\nbk_000000000009  booked',
  '\r',
  '\t',
  '\u007f',
  '\u0080\u009b2J\u009d0;x\u009c',
  '\u2028\u2029',
  '\u202egnp\u2066',
].join('x')
const FORMULA = '=HYPERLINK("https://example.com")'
const KEY = 'bk_000000000001'
const STORE_URL = 'store.db'

/** The output of a command, without its line ends. */
const obeyed = ({ out, err }: CommandEnd) => (out + err).replaceAll('\n', '').match(OBEYED)

/** A folder with a store. */
async function openDesk() {
  const place = folder()
  const store = await openStore(join(place, STORE_URL))
  onTestFinished(() => store.close())
  return { place, store }
}

test('a command prints nothing that controls a terminal, from names, files, bodies, settings or its own arguments', async () => {
  const { place, store } = await openDesk()
  const file = (name: string, content: string) => writeFileSync(join(place, name), content)
  // Names that strangers and the service could send.
  const [tenant, instance, id] = [`acme${NASTY}`, `gw${NASTY}`, `S${NASTY}`]
  const { claim } = await store.claim(
    newClaim({ tenant, reference: `REF${NASTY}`, vin: `VIN${NASTY}`, key: NASTY, handle: KEY, instance }),
  )
  await store.change(claim, { state: 'booked', instance, why: `made${NASTY}`, shipment: id })
  await store.takeEvent(newEvent({ shipment: id }))
  const reference = { kind: 'quote', name: `REF${NASTY}` } as const
  await store.put({ names: [named({ tenant, name: `one${NASTY}`, id }), named({ ...reference, id: `old${NASTY}` })] })
  const row = { tenant: 'acme', ...reference, id: 'new' }
  file('rows.ndjson', `${JSON.stringify(row)}\n${JSON.stringify({ ...row, kind: NASTY })}\n`)
  file('columns.csv', 'name,id,"\u001b[31m"\nA,1,\n')
  const body = JSON.stringify({ ...bookingExample, PickupName: NASTY, [`Foo${NASTY}`]: '1', PickupZip: NASTY })
  const tenants = `tenants${'\u001b'}.json`
  const credentials = [{ id: 'a\u2028\u202eb', secret_hash: cheapHash('x') }]
  const v2 = { client_id: `x${NASTY}`, client_secret: { env: 'SECRET' } }
  file(tenants, JSON.stringify({ tenants: [{ name: 'acme', credentials, v2 }] }))

  const env = { STORE_URL, SECRET: 's', V2_BASE_URL: 'https://service.example.com' }
  const lines = [
    'bookings list',
    'bookings list --json',
    `bookings show ${KEY}`,
    'bookings show NASTY',
    'bookings list --state NASTY',
    'bookings --flyNASTY',
    'webhooks list',
    'xref get oneNASTY --tenant acmeNASTY',
    'xref get threeNASTY --tenant NASTY',
    'xref import rows.ndjson',
    'xref import columns.csv --tenant NASTY',
    'xref export nowhere/NASTY',
    'translate shipment.create',
    'translate shipment.create --json',
    'translate quoteNASTY',
    'translate quote.get nowhereNASTY',
    `tenants list ${tenants}`,
    `tenants list ${tenants}2`,
    'check',
    'flyNASTY',
  ]
  const told = new Map<string, CommandEnd>()
  for (const line of lines) {
    const words = line.split(' ').map((word) => word.replace('NASTY', NASTY))
    const more = line === 'check' ? { V2_CA_FILE: `nowhere${NASTY}` } : {}
    const ended = await transload(words, place, { ...env, ...more }, body)
    told.set(line, ended)
    expect([line, obeyed(ended)]).toEqual([line, null])
    expect(ended.err).not.toContain('    at ')
  }
  const { out: list = '' } = told.get('bookings list') ?? {}
  expect(list.split('\n')).toHaveLength(3)
  expect(list).toContain('\\u001b]0;owned\\u0007')
  expect(JSON.parse(told.get('bookings list --json')?.out ?? '')).toMatchObject({ reference: `REF${NASTY}` })
})

test.each(['csv', 'ndjson'])('an export as %s controls nothing, and can be imported again', async (format) => {
  const { place, store } = await openDesk()
  const names = ['one', 'two'].map((id) => named({ tenant: `acme${NASTY}`, name: `${id}${NASTY}`, id }))
  await store.put({ names: [...names, named({ name: FORMULA, id: `${FORMULA}1` })] })
  const xref = (words: readonly string[], storeUrl = STORE_URL) =>
    transload(['xref', ...words], place, { STORE_URL: storeUrl })
  const exported = await xref(['export', '--format', format])
  expect({ code: exported.code, obeyed: obeyed(exported) }).toEqual({ code: 0, obeyed: null })
  await xref(['export', `all.${format}`])
  const text = readFileSync(join(place, `all.${format}`), 'utf8')
  expect(text).toBe(exported.out)
  expect(text.trimEnd().split('\n')).toHaveLength(format === 'csv' ? 4 : 3)
  if (format === 'csv') expect(text).toContain(`"'=HYPERLINK(`)
  expect((await xref(['import', `all.${format}`], 'copy.db')).code).toBe(0)
  const copied = await openStore(join(place, 'copy.db'))
  expect(await scanned(copied)).toEqual(await scanned(store))
  await copied.close()
})

test('the log of a gateway contains nothing that controls a terminal', async () => {
  const script = `import { createLog } from '${ROOT}/src/runtime/log.ts'
    import { createEndOfCall } from '${ROOT}/src/state/uses/end-of-call.ts'
    import { beginCall } from '${ROOT}/src/runtime/call.ts'
    import { createMeters } from '${ROOT}/src/runtime/metrics.ts'
    const log = createLog('info')
    const nasty = ${JSON.stringify(NASTY)}
    log.warn({ err: new Error(nasty) }, 'warned')
    const rooms = { log, config: { LOG_ADDRESSES: 'all' }, uses: { add() {} }, meters: createMeters() }
    const incoming = { method: 'GET', headers: { 'user-agent': nasty } }
    const call = beginCall(incoming)
    createEndOfCall(rooms)({ ...call, caller: { ...call.caller, tenant: nasty } }, incoming, 200)`
  const ended = await run(process.execPath, ['--input-type=module', '--eval', script])
  expect({ code: ended.code, obeyed: obeyed(ended) }).toEqual({ code: 0, obeyed: null })
  const [warned, called] = ended.out.split('\n', 2).map((line) => JSON.parse(line))
  expect(warned.err.message).toBe(NASTY)
  const harmless = expect.stringMatching(/^\\u001b\]0;owned\\u0007x/)
  expect(called).toMatchObject({ msg: 'call', tenant: harmless, user_agent: harmless })
})
