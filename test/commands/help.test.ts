/** Promise: help explains every command and option (contract, section 11). */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { commandWords, helpLines, printed } from './every-command.ts'

/** The pages of a text, by the commands that print them. */
const pagesIn = (text: string): ReadonlyMap<string, string> =>
  new Map(
    text
      .split(/^\$ transload /m)
      .slice(1)
      .map((page) => {
        const end = page.indexOf('\n')
        return [page.slice(0, end), page.slice(end + 1)]
      }),
  )

const pages = () => pagesIn(readFileSync(join(import.meta.dirname, 'help.txt'), 'utf8'))

test('the help has not changed', async () => {
  await expect(await printed(helpLines().slice(0, -1))).toMatchFileSnapshot('help.txt')
})

test.each(commandWords.map((words) => words.join(' ')))(
  'the help of %s has an example, and explains every option',
  (name) => {
    const [, options = '', examples = ''] =
      /\nOptions:\n([\s\S]*?)\n\n[\s\S]*Examples:\n([\s\S]*)$/.exec(pages().get(`${name} --help`) ?? '') ?? []
    const rows = options.replace(/\n {8,}/g, ' ').split('\n')
    for (const row of rows) expect(row).toMatch(/^ {2}(-h, )?--[a-z\d-]+( <[A-Z]+>)? {2,}[A-Z].+[.)]$/)
    const known = [...options.matchAll(/^ {2}(--[a-z\d-]+)/gm)].map(([, option]) => option)
    const used = [...examples.matchAll(/ (--[a-z\d-]+)/g)].map(([, option]) => option)
    expect(used.filter((option) => !known.includes(option))).toEqual([])
    expect(examples).toContain(`transload ${name}`)
  },
)

test('a page of help is printed for every spelling of the request', async () => {
  const asked = {
    'help xref': 'help xref',
    'xref -h': 'help xref',
    'xref help': 'help xref',
    'booking --help': 'help bookings',
    'xref import a.csv -h': 'xref import --help',
    'xref help import': 'xref import --help',
    'help xref import': 'xref import --help',
    'check --json --help': 'check --help',
    '-h': '--help',
    help: '--help',
  }
  const text = await printed(Object.keys(asked).map((words) => words.split(' ')))
  const wanted = Object.entries(asked).map(([words, page]) => [words, pages().get(page)])
  expect(Object.fromEntries(pagesIn(text))).toEqual(Object.fromEntries(wanted))
})
