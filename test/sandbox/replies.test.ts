import { expect, test } from 'vitest'
import { deviationNames, NATIVE_ERROR_NAMES } from '../../src/sandbox/sandbox.ts'
import type { SandboxSettings } from '../../src/sandbox/state.ts'
import { playScene, type Scene } from './scene.ts'

const SETTINGS: readonly Partial<SandboxSettings>[] = [
  { auth: 'basic' },
  { auth: 'bearer' },
  { credentials: 'any' },
  { tokenExpiresIn: null },
  { tokenExpiresIn: 0 },
  { shipmentPath: 'singular' },
  { shipmentPath: 'plural' },
  { quoteMethod: 'GET' },
  { quoteMethod: 'POST' },
  { etag: true },
  { repeatedCancel: 200 },
  { repeatedCancel: 404 },
  { approvalBooks: false },
  { findsByReference: true },
  { movingPrices: 2 },
  { nativeNoise: true },
  ...NATIVE_ERROR_NAMES.map((nativeError) => ({ nativeError })),
  ...deviationNames.map((name) => ({ deviations: [name] })),
  { etag: true, deviations: ['if-match-obeyed'] },
  { findsByReference: true, deviations: ['refused-makes-nothing'] },
]

const printed = (scene: Iterable<readonly [step: string, reply: string]>) =>
  [...scene].map(([step, reply]) => `${step}\n${reply}\n`).join('')

const plain = playScene({})

test('every request is answered as it was', async () => {
  await expect(printed(plain)).toMatchFileSnapshot('replies.txt')
})

/** Returns what the replies have in place of those of the plain service, with the numbers of the steps. */
function differences(scene: Scene): readonly string[] {
  const before = [...plain.values()]
  const steps = [...scene.values()].map((reply, i) => ({ no: i + 1, change: changed(before[i] ?? '', reply) }))
  const changes = Map.groupBy(steps, ({ change }) => change)
  changes.delete('')
  return [...changes].map(([change, of]) => `${of.map(({ no }) => no).join(', ')}: ${change}`)
}

const WORD = /[\w.-]+|\W/g

/** Returns the middle of a text, without the words that it begins and ends with like another one; empty if they are alike. */
function changed(before: string, now: string): string {
  const [old, words] = [before.match(WORD) ?? [], now.match(WORD) ?? []]
  const most = Math.min(old.length, words.length)
  let start = 0
  while (start < most && old[start] === words[start]) start += 1
  let end = 0
  while (end < most - start && old.at(-1 - end) === words.at(-1 - end)) end += 1
  const [gone, come] = [old, words].map((all) => brief(all.slice(start, all.length - end)))
  return come || (gone && `without ${gone}`) || ''
}

const MOST_CHARACTERS = 100
/** Long texts are told by their ends. */
function brief(words: readonly string[]): string {
  const text = words.join('').replaceAll('\n', ' ')
  return text.length > MOST_CHARACTERS
    ? `${text.slice(0, MOST_CHARACTERS / 2)}…${text.slice(-MOST_CHARACTERS / 2)}`
    : text
}

test('every setting changes the replies that it did, and no other', async () => {
  const told = SETTINGS.map((setting) => `${JSON.stringify(setting)}\n${differences(playScene(setting)).join('\n')}\n`)
  await expect(told.join('\n')).toMatchFileSnapshot('settings.txt')
})
