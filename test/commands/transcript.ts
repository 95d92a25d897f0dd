/*
 * A transcript is a document of command lines and what they print, in a folder of their own:
 *
 *     The promise that it shows.
 *
 *     $ NAME=value transload words
 *     what it prints
 *     (exit code 0)
 *
 *     -- a/file --
 *     what the folder has
 *
 * Bash runs the lines of other programs. These sections are no files: `env` has variables of all lines, `bookings` and `names` what the
 * store has, `service` what a service replies to each client, `sandbox` the settings of a stand-in. A section `in latin-1` or `in utf-8` is
 * one JSON text. `npx vitest run test/commands -u` writes what is printed.
 */

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { hostname, userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { expect } from 'vitest'
import { configNames } from '../../src/language/config/config.ts'
import { openStore } from '../../src/outside/store/open.ts'
import { VERSION } from '../../src/outside/store/schema.ts'
import type { ClaimState, NewClaim, Store } from '../../src/outside/store/store.ts'
import { openSandbox } from '../bookings/desk.ts'
import { folder } from '../callers/tenants-gateway.ts'
import { cleanEnv, pathWithThisNode, run, runShared } from '../command.ts'
import { openService } from '../http/service.ts'
import { newClaim } from '../store/samples.ts'

/** The variables that the shell of the tests may set. */
const UNSET = { ...Object.fromEntries(configNames.map((name) => [name, undefined])), TZ: 'UTC' }

const RANDOM_IDS = /\b(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|msg_\w+|bk_[0-9a-f]{12})\b/g

/** The version of the schema that this program creates. The number of rows in `version` is not this number. */
const SCHEMA_VERSION = new RegExp(
  `(?<=^s.+ version )${VERSION}$|(?<= version )${VERSION}(?= of the schema)|(?<="version":)${VERSION}(?=,"programVersion")|(?<="programVersion":)${VERSION}\\b`,
  'gm',
)

/** Replaces everything that differs between runs or releases; `ids` has the names of the ids so far. */
const stable = (text: string, place: string, ids: Map<string, string>): string =>
  text
    .replaceAll(place, 'FOLDER')
    .replaceAll(`${userInfo().username} on ${hostname()}`, 'USER on HOST')
    // Those of 2024 are in files of the tests.
    .replace(/(?!2024)\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z|\d{8}T\d{6}Z/g, 'TIME')
    .replace(/(before-restore-TIME)-\d+/g, '$1')
    .replace(/\b[0-9a-f]{32}\b|tl_[\w-]{20,}/g, 'RANDOM')
    .replace(/127\.0\.0\.1:\d+/g, 'ADDRESS')
    .replace(/[\d,]+ bytes/g, 'BYTES bytes')
    .replace(/^(transload) \d+\.\d+\.\d+$/gm, '$1 VERSION')
    .replace(SCHEMA_VERSION, 'SCHEMA')
    .replace(/\b\d+ (?:s|min)(?= ago|$)/gm, 'SPAN')
    .replace(RANDOM_IDS, (id) => {
      // Those that a test has chosen.
      if (/-0000-4000-8000-|bk_0000/.test(id)) return id
      const name = ids.get(id) ?? `ID${ids.size + 1}`
      ids.set(id, name)
      return name
    })

/** Runs command lines in a folder, one after the other, and returns their stable output. */
export async function transcript(place: string, lines: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const ids = new Map<string, string>()
  const all = { ...UNSET, STORE_URL: 'store.db', ...env }
  const told: string[] = []
  for (const line of lines) {
    const whole = [...ids]
      .reduce((text, [id, name]) => text.replace(new RegExp(`\\b${name}\\b`), id), line)
      .replaceAll('FOLDER', place)
      .replaceAll('http://ADDRESS', env['V2_BASE_URL'] ?? '')
    const words = (whole.match(/(?:'[^']*'|[^\s'])+/g) ?? []).map((word) => word.replaceAll("'", ''))
    const own = words.slice(0, words.indexOf('transload')).map((word) => word.split(/=(.*)/s))
    const ended = words.includes('transload')
      ? runShared(
          words.slice(own.length + 1),
          { env: cleanEnv({ ...all, ...Object.fromEntries(own) }), cwd: place },
          true,
        )
      : run('bash', ['-c', whole], { env: cleanEnv({ ...all, PATH: pathWithThisNode() }), cwd: place })
    const { code, out, err } = await ended
    told.push(`$ ${line}\n${stable(out + err, place, ids)}(exit code ${code})\n`)
  }
  return told.join('\n')
}

/** Runs a transcript that is a document of this folder, with more variables; returns what is printed. */
export async function replay(path: string, env: NodeJS.ProcessEnv = {}, place: string = folder()): Promise<string> {
  const file = join(import.meta.dirname, `${path}.txt`)
  const [told = '', ...sections] = readFileSync(file, 'utf8').split(/^(-- .+ --\n)/m)
  const variables = { ...env }
  for (let at = 0; at < sections.length; at += 2) {
    const [, name = '', encoding] = /^-- (\S+)(?: in (\S+))? --$/m.exec(sections[at] ?? '') ?? []
    const content = (sections[at + 1] ?? '')
      .replaceAll('FOLDER', place)
      .replaceAll('http://ADDRESS', variables['V2_BASE_URL'] ?? '')
    if (name in SECTIONS) Object.assign(variables, await SECTIONS[name]?.(content, place))
    else {
      mkdirSync(name.endsWith('/') ? join(place, name) : dirname(join(place, name)), { recursive: true })
      const text: string = encoding === undefined ? content : JSON.parse(content)
      if (!name.endsWith('/')) writeFileSync(join(place, name), text, encoding === 'latin-1' ? 'latin1' : 'utf8')
    }
  }
  const [title = ''] = told.split('\n', 1)
  const lines = [...told.matchAll(/^\$ (.*)$/gm)].map(([, line = '']) => line)
  const text = await transcript(place, lines, variables)
  const rest = sections.length > 0 ? `\n${sections.join('')}` : ''
  await expect(`${title}\n\n${text}${rest}`).toMatchFileSnapshot(file)
  return text
}

/** The actions for sections that are not files; each returns the variables that it sets. */
const SECTIONS: Readonly<Record<string, (text: string, place: string) => object | Promise<object | undefined>>> = {
  env: (text) => Object.fromEntries([...text.matchAll(/^(\w+)=(.*)$/gm)].map(([, name, value]) => [name, value])),
  bookings: (text, place) =>
    fillStore(place, async (store) => {
      for (const [, no, state, why = '', more = '{}'] of text.matchAll(/^(\d+) (\w+) ?(.*?) ?(\{.*\})?$/gm))
        await addBooking(store, Number(no), state as ClaimState, why, JSON.parse(more))
    }),
  names: (text, place) =>
    fillStore(place, async (store) => {
      for (const line of text.trim().split('\n')) await store.put(JSON.parse(line))
    }),
  service: async (text) => {
    const { url } = await openService(
      ({ url: path, headers: { authorization = '' } }, outgoing) => {
        const [client = ''] = atob(authorization.slice('Basic '.length)).split(':')
        const line = text.split('\n').find((one) => one.startsWith(`${client} ${path} `)) ?? '- - 404 '
        const [, status, body] = /^\S+ \S+ (\d+) ?(.*)$/.exec(line) ?? []
        // 0 is a service that does not answer.
        if (status !== '0') outgoing.writeHead(Number(status)).end(body)
      },
      { acceptsAll: false },
    )
    return { V2_BASE_URL: url }
  },
  sandbox: async (text) => ({ V2_BASE_URL: (await openSandbox(JSON.parse(text))).url }),
}

/** Fills a store of a folder, and closes it. */
export async function fillStore(folder: string, work: (store: Store) => Promise<void>): Promise<undefined> {
  const store = await openStore(join(folder, 'store.db'), { blocks: true })
  await work(store)
  await store.close()
}

const ANSWER = { status: 200, headers: {}, body: '{}' }

/** Returns the handle of the booking with a number. */
export const handleOf = (no: number) => `bk_${String(no).padStart(12, '0')}`

/** Adds a booking in this state, with a reason; with its names if its quote had a price. */
export async function addBooking(
  store: Store,
  no: number,
  state: ClaimState,
  why: string,
  { quoted, ...more }: Partial<NewClaim> & { readonly quoted?: string } = {},
): Promise<void> {
  const wanted = newClaim({ key: `key-${no}`, handle: handleOf(no), reference: `REF-${no}`, vin: `VIN-${no}`, ...more })
  const { claim } = await store.claim(wanted)
  const isBooked = state === 'booked'
  const id = isBooked ? `shipment-${no}` : ''
  const outcome = { shipment: id, reply: isBooked ? JSON.stringify(ANSWER) : '' }
  if (state !== 'sending') await store.change(claim, { state, instance: 'gateway-2', why, ...outcome })
  if (quoted === undefined) return
  const { tenant, reference } = wanted
  const [quote, shipment] = [`quote-${no}`, { tenant, kind: 'shipment', id } as const]
  await store.put({
    names: [
      { ...shipment, name: reference, givenBy: 'caller' },
      { ...shipment, name: `TL-${no}`, givenBy: 'service' },
    ],
    quote: { tenant, id: quote, price: quoted },
    shipment: { tenant, id, quote },
  })
}
