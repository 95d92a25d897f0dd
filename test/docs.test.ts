/** Promise: the documents agree with the program. */

import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { bookingExample } from '../mappings/booking-rows.ts'
import { loadMappings } from '../mappings/load.ts'
import { generatedDocs } from '../scripts/generated-docs.ts'
import { interfacePage, type Proof } from '../scripts/interface-page.ts'
import { configNames, readConfig } from '../src/language/config/config.ts'
import { readTenants } from '../src/language/config/tenants-file.ts'
import * as vocabulary from '../src/language/mapping/declare.ts'
import { commands } from '../src/operator/cli.ts'
import { runCase } from '../src/operator/commands/mapping.ts'
import { ROOT } from './command.ts'
import { families } from './commands/every-command.ts'
import { blocks, pages, read } from './documents.ts'
import { get, post, startGateway } from './gateway.ts'

test('the generated documents are up to date: npm run docs', async () => {
  for (const [path, content] of await generatedDocs(ROOT)) expect(read(path), `${path} is stale`).toBe(content)
})

test.each<Proof>([
  'calls/checks > a right program is called right',
  'calls/check > a wrong program is called right',
  // A part of several titles.
  'calls/check > mode, ',
  'calls/check > %s is right > a teapot',
  'cases/quote.get/open-auto-is-closed',
  'assumption > quote-by-letter',
  'docs/migrating.md > Stay where you are',
])('the page about the interface document takes no proof that is not there: %s', (proof) => {
  const page = (...proofs: Proof[]) => interfacePage(ROOT, [{ title: 'T', statements: [{ states: 'S', proofs }] }])
  expect(() => page(proof)).toThrow(proof)
  expect(() => page()).toThrow('a proof of “S”')
  expect(page('calls/check > a right program is called')).toContain('- S ([calls/check](../test/calls/check.test.ts))')
})

test('every link leads to a file, and to a heading in it', () => {
  const dead = pages.flatMap((page) =>
    [...read(page).matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, target = '']) => {
      if (/^https?:/.test(target)) return []
      const [file = '', anchor] = target.split('#')
      const path = file === '' ? page : relative(ROOT, join(ROOT, dirname(page), file))
      if (!existsSync(join(ROOT, path))) return [`${page} → ${target}`]
      return anchor === undefined || anchorsOf(read(path)).has(anchor) ? [] : [`${page} → ${target}`]
    }),
  )
  expect(dead).toEqual([])
})

/** The anchors of headings in rendered Markdown. */
function anchorsOf(text: string): ReadonlySet<string> {
  return new Set(
    [...text.replace(/^```[\s\S]*?^```/gm, '').matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
      title
        .toLowerCase()
        .replace(/[^\w\s-]/g, '')
        .replace(/\s/g, '-'),
    ),
  )
}

test('every file and folder that a page names exists, in src too', () => {
  const isThere = (path: string) => ['.', 'src'].some((place) => existsSync(join(ROOT, place, path)))
  const named = pages
    .flatMap((page) => [...read(page).matchAll(/(?:`|^ *)((?:[a-z]+\/)+[\w./-]*)/gm)].map(([, path = '']) => path))
    .filter((path) => isThere(path.split('/', 1)[0] ?? ''))
  expect(named.length).toBeGreaterThan(50)
  expect(named.filter((path) => !isThere(path) && !/NAME|ACTION/.test(path))).toEqual([])
  const [, tree = ''] = read('docs/architecture.md').split('```')
  const rooms = readdirSync(join(ROOT, 'src'), { withFileTypes: true }).filter((entry) => entry.isDirectory())
  expect(rooms.filter(({ name }) => !tree.includes(`${name}/`)).map(({ name }) => name)).toEqual([])
})

test('every page can be reached from the README', () => {
  const reached = new Set(['README.md'])
  for (const page of reached) {
    for (const [, target = ''] of read(page).matchAll(/\]\(([^)#\s]+\.md)[^)]*\)/g)) {
      if (!/^https?:/.test(target)) reached.add(relative(ROOT, join(ROOT, dirname(page), target)))
    }
  }
  expect([...reached].sort()).toEqual([...pages].sort())
})

/** The long options of every command. */
const known: ReadonlyMap<string, readonly (string | undefined)[]> = new Map(
  Object.entries(commands).map(([usage, { options = [] }]) => [
    usage.replace(/ [<[].*/, ''),
    ['--help', ...options.map(({ long }) => long)],
  ]),
)

test('every command in a text exists, with its verb and its options', () => {
  const named = pages.flatMap((page) => [...read(page).matchAll(/`transload ([^`]+)`/g)].map(([, text = '']) => text))
  const wrong = named.filter((text) => {
    const [first = '', second = '', ...rest] = text.split(/\s+/)
    if (first === 'needs' || first.startsWith('-')) return false
    const name = first === 'booking' ? 'bookings' : first
    // A family may be named without a subcommand.
    if (families.includes(name) && second === '') return false
    const options = known.get(families.includes(name) ? `${name} ${second}` : name)
    const used = [second, ...rest].flatMap((word) => /^\[?(--[a-z-]+)/.exec(word)?.[1] ?? [])
    return !options || used.some((option) => !options.includes(option))
  })
  expect(named.length).toBeGreaterThan(30)
  expect(wrong).toEqual([])
})

test('every variable that a page names exists', () => {
  const text = pages.map(read).join('\n')
  const variables = new Set(
    [...text.matchAll(/`([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)(?:=[^`]*)?`/g)].map(([, name = '']) => name),
  )
  expect([...variables].filter((name) => !configNames.includes(name)).sort()).toEqual([
    // Names in capitals from Node and the image build.
    ...['ERR_ACCESS_DENIED', 'NODE_DEBUG', 'NODE_IMAGE', 'NODE_OPTIONS', 'SOURCE_DATE_EPOCH'],
  ])
})

test('the vocabulary table has every constructor, and no other', () => {
  const page = read('docs/writing-a-mapping.md')
  const constructors = Object.entries(vocabulary).flatMap(([name, value]) => (value instanceof Function ? [name] : []))
  expect(constructors.filter((name) => name !== 'action').filter((name) => !page.includes(`${name}(`))).toEqual([])
  const rows = [...page.matchAll(/^\| `(\w+)\([^|]*\| (?:yes)? ?\|/gm)].map(([, name = '']) => name)
  expect(rows.filter((name) => !Object.hasOwn(vocabulary, name))).toEqual([])
  expect(rows.length).toBeGreaterThan(10)
})

test('the example files of the configuration are accepted', async () => {
  const [lookups = '', tenants = ''] = blocks('docs/configuration.md', 'json')
  const folder = folderOf([
    { file: 'lookups.json', code: lookups },
    { file: 'tenants.json', code: tenants },
  ])
  const config = readConfig({ V2_BASE_URL: 'https://service.example.com', LOOKUPS_FILE: join(folder, 'lookups.json') })
  const catalog = await loadMappings(undefined, config.LOOKUPS_FILE)
  const env = { ACME_V2_SECRET: 'invented' }
  expect(readTenants(join(folder, 'tenants.json'), catalog, env)).toHaveLength(1)
})

const modules = blocks('docs/writing-a-mapping.md', 'js').map((code) => ({
  file: /^\/\/ ([\w-]+\.mjs)$/m.exec(code)?.[1] ?? 'nameless.mjs',
  code,
}))

function folderOf(written: readonly { readonly file: string; readonly code: string }[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'transload-docs-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  for (const { file, code } of written) writeFileSync(join(folder, file), code)
  return folder
}

test('the example action answers', async () => {
  const gateway = await startGateway({ env: { MAPPINGS_DIR: folderOf(modules) } })
  await post(gateway, '/createShipment.php', bookingExample)
  const status = await post(gateway, '/getShipmentStatus.php', { ReferenceNumber: bookingExample.ReferenceNumber })
  expect(status.json).toEqual({
    ReferenceNumber: bookingExample.ReferenceNumber,
    Price: expect.stringMatching(/^\d+\.\d\d$/),
    EquipmentType: 'OPEN AUTO',
    Stage: 'BOOKED',
    Message: 'Shipment TL-100001 is new.',
  })
  // A field that a message merely mentions counts as used.
  const reply = { external_id: 'REF-1', number: 'TL-1', status: 'new', colour: 'red' }
  const explained = await post(gateway, '/dry-run/reply/shipment.status', reply)
  const fields = expect.arrayContaining([expect.objectContaining({ to: 'Message', from: ['number'] })])
  expect(explained.json).toMatchObject({ unknown: ['colour'], unused: [], fields })
  const trip = { TempShipFromPostalCode: '10314', TempShipToPostalCode: '33166' }
  expect((await post(gateway, '/getRate.php', trip)).status).toBe(200)
  const rush = await post(gateway, '/dry-run/createShipment.php', { ...bookingExample, Speed: 'rush' })
  expect(rush.json.request.body.instructions).toBe('expedited')
  // The callback is only for its event.
  const callback = async (event: string) => (await get(gateway, `/dry-run/webhook/${event}`)).json
  const bodies = { json: { Stage: 'ON THE ROAD', Number: 'S-1' } }
  expect(await callback('shipment.picked_up')).toMatchObject({ callback: 'picked-up', bodies })
  expect(await callback('shipment.created')).toMatchObject({ callback: 'shipment.event' })
})

test('the example case passes', async () => {
  const folder = folderOf(modules)
  const [example = ''] = blocks('docs/writing-a-mapping.md', 'json')
  writeFileSync(join(folder, 'case.json'), example)
  expect(runCase(join(folder, 'case.json'), await loadMappings(folder))).toEqual([])
})
