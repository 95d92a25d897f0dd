/** Promise: commands and logs print nothing that a terminal or a spreadsheet obeys (contract, section 11). */

import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { openStore } from '../../src/store/open.ts'
import type { Store } from '../../src/store/store.ts'
import { escapeControls } from '../../src/text/service-text.ts'
import { cheapHash } from '../callers/edge.ts'
import { cleanEnv, type Ended, newFolder, ROOT, run } from '../command.ts'
import { runs } from '../size.ts'
import { link, newClaim, scanned } from '../store/samples.ts'

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
const OTHER_KEY = 'bk_000000000002'

async function openDesk() {
  const folder = newFolder('output')
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const storeUrl = join(folder, 'store.db')
  const store = await openStore(storeUrl)
  onTestFinished(() => store.close())
  const transload = (args: readonly string[], env: NodeJS.ProcessEnv = {}, input = ''): Promise<Ended> =>
    run(process.execPath, [join(ROOT, 'src/main.ts'), ...args], {
      cwd: folder,
      env: cleanEnv({ STORE_URL: storeUrl, ...env }),
      input,
    })
  return { folder, store, transload }
}

/** Fills a store with names that strangers and the service could send; an import takes no such ids. */
async function fill(store: Store, idEnd = NASTY): Promise<void> {
  const names = { tenant: `acme${NASTY}`, reference: `REF${NASTY}`, vin: `VIN${NASTY}` }
  for (const handle of [KEY, OTHER_KEY]) {
    const { claim } = await store.claim(
      newClaim({ ...names, key: `${handle}${NASTY}`, handle, instance: `gw${NASTY}` }),
    )
    const change = {
      state: 'booked',
      instance: `gw${NASTY}`,
      at: 2_000,
      why: `made${NASTY}`,
      shipment: `S${NASTY}`,
    } as const
    await store.change(claim, change)
  }
  const things = ['one', 'two'].map((id) => link({ tenant: names.tenant, name: `${id}${NASTY}`, id: `${id}${idEnd}` }))
  await store.load([...things, link({ name: FORMULA, id: `${FORMULA}1` })], { replace: true })
}

/** The output of a command, without its line ends. */
const obeyed = ({ out, err }: Ended) => (out + err).replaceAll('\n', '').match(OBEYED)

describe('a command prints nothing that a terminal obeys', () => {
  test('of the names in a store', async () => {
    const { store, transload } = await openDesk()
    await fill(store)
    const list = await transload(['bookings', 'list'])
    expect(obeyed(list)).toBeNull()
    expect(list.out.split('\n')).toHaveLength(4)
    expect(list.out).toContain('\\u001b]0;owned\\u0007')
    const json = await transload(['bookings', 'list', '--json'])
    expect(obeyed(json)).toBeNull()
    const rows = json.out.trimEnd().split('\n')
    expect(rows.map((row) => JSON.parse(row).reference)).toEqual([`REF${NASTY}`, `REF${NASTY}`])
    const show = await transload(['bookings', 'show', KEY])
    expect(obeyed(show)).toBeNull()
    expect(show.out).toContain('made\\u001b]0;')
    const get = await transload(['xref', 'get', `one${NASTY}`, '--tenant', `acme${NASTY}`])
    expect(obeyed(get)).toBeNull()
    expect(JSON.parse(get.out)).toMatchObject({ id: `one${NASTY}` })
    const missing = await transload(['xref', 'get', `three${NASTY}`, '--tenant', NASTY])
    expect({ code: missing.code, obeyed: obeyed(missing) }).toEqual({ code: 1, obeyed: null })
    expect(missing.err.split('\n')).toHaveLength(2)
  })

  test.each(['csv', 'ndjson'])('or a spreadsheet, of an export as %s, which an import reads back', async (format) => {
    const { folder, store, transload } = await openDesk()
    await fill(store, '')
    const file = join(folder, `all.${format}`)
    const [exported, toFile] = [
      await transload(['xref', 'export', '--format', format]),
      await transload(['xref', 'export', file]),
    ]
    expect({ code: exported.code, obeyed: obeyed(exported) }).toEqual({ code: 0, obeyed: null })
    expect(toFile.code).toBe(0)
    const text = readFileSync(file, 'utf8')
    expect(text).toBe(exported.out)
    expect(text.trimEnd().split('\n')).toHaveLength(format === 'csv' ? 4 : 3)
    if (format === 'csv') expect(text).toContain(`"'=HYPERLINK(`)
    const copy = join(folder, 'copy.db')
    expect((await transload(['xref', 'import', file], { STORE_URL: copy })).code).toBe(0)
    const copied = await openStore(copy)
    expect(await scanned(copied)).toEqual(await scanned(store))
    await copied.close()
  })

  test('of the rows of a file', async () => {
    const { folder, store, transload } = await openDesk()
    const named = { kind: 'shipment', name: `REF${NASTY}`, vin: '' } as const
    await store.load([link({ ...named, id: `old${NASTY}` })], { replace: true })
    const file = join(folder, 'rows.ndjson')
    const row = { tenant: 'acme', ...named, id: 'new' }
    writeFileSync(file, `${JSON.stringify(row)}\n${JSON.stringify({ ...row, kind: NASTY })}\n`)
    const ended = await transload(['xref', 'import', file])
    expect({ code: ended.code, obeyed: obeyed(ended) }).toEqual({ code: 1, obeyed: null })
    const columns = join(folder, 'columns.csv')
    writeFileSync(columns, 'name,id,"\u001b[31m"\nA,1,\n')
    expect(obeyed(await transload(['xref', 'import', columns, '--tenant', NASTY]))).toBeNull()
  })

  test('of a body, a configuration, a tenants file or its own arguments', async () => {
    const { folder, transload } = await openDesk()
    const body = JSON.stringify({ ...bookingExample, PickupName: NASTY, [`Foo${NASTY}`]: '1', PickupZip: NASTY })
    const file = join(folder, `tenants${'\u001b'}.json`)
    const tenant = {
      name: 'acme',
      credentials: [{ id: 'a\u2028\u202eb', secret_hash: cheapHash('x') }],
      v2: { client_id: `x${NASTY}`, client_secret: { env: 'SECRET' } },
    }
    writeFileSync(file, JSON.stringify({ tenants: [tenant] }))
    const all = await Promise.all([
      transload(['translate', 'shipment.create'], {}, body),
      transload(['translate', 'shipment.create', '--json'], {}, body),
      transload(['translate', `quote${NASTY}`]),
      transload(['translate', 'quote.get', `nowhere${NASTY}`]),
      transload(['tenants', 'list', file], { SECRET: 's' }),
      transload(['tenants', 'list', `${file}2`]),
      transload(['check'], { V2_BASE_URL: 'https://service.example.com', V2_CA_FILE: `nowhere${NASTY}` }),
      transload([`fly${NASTY}`]),
      transload(['bookings', `--fly${NASTY}`]),
      transload(['bookings', 'show', NASTY]),
      transload(['bookings', 'list', '--state', NASTY]),
      transload(['xref', 'export', `nowhere/${NASTY}`]),
    ])
    for (const ended of all) expect(obeyed(ended)).toBeNull()
    expect(all[4]).toMatchObject({ code: 0, err: '', out: expect.stringContaining('a\\u2028\\u202eb') })
    expect(all.filter(({ err }) => err.includes('    at '))).toEqual([])
  })
})

test('the log of a gateway has nothing that a terminal obeys', async () => {
  const script = `import { createLog } from ${JSON.stringify(join(ROOT, 'src/observe/log.ts'))}
    import { createEndOfCall } from ${JSON.stringify(join(ROOT, 'src/observe/end-of-call.ts'))}
    import { beginCall } from ${JSON.stringify(join(ROOT, 'src/observe/call.ts'))}
    const log = createLog('info')
    log.warn({ err: new Error(${JSON.stringify(NASTY)}) }, 'warned')
    const nasty = ${JSON.stringify(NASTY)}
    const options = { log, LOG_ADDRESSES: 'all', clientOf: () => undefined, countCall: () => {} }
    const incoming = { method: 'GET', headers: { 'user-agent': nasty } }
    createEndOfCall(options)({ ...beginCall(incoming), tenant: nasty }, incoming, 200)`
  const ended = await run(process.execPath, ['--input-type=module', '--eval', script])
  expect({ code: ended.code, obeyed: obeyed(ended) }).toEqual({ code: 0, obeyed: null })
  const [warned, called] = ended.out.split('\n', 2).map((line) => JSON.parse(line))
  expect(warned.err.message).toBe(NASTY)
  const harmless = expect.stringMatching(/^\\u001b\]0;owned\\u0007x/)
  expect(called).toMatchObject({ msg: 'call', tenant: harmless, user_agent: harmless })
})

describe('escaping', () => {
  test('leaves nothing that a terminal obeys, and all else as it is', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 20 }), (text) => {
        const escaped = escapeControls(text)
        expect(escaped).not.toMatch(OBEYED)
        expect(escaped.isWellFormed()).toBe(true)
        if (!OBEYED.test(text) && text.isWellFormed()) expect(escaped).toBe(text)
        OBEYED.lastIndex = 0
      }),
      { numRuns: runs(500, 5_000) },
    )
  })
})
