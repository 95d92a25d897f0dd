import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { assumptions } from '../src/labs/certify/assumptions.ts'
import { type Proof, type Section, type Statement, sections } from '../test/interface/statements.ts'
import { code, table } from './table.ts'

/**
 * Returns the page about the interface document: each statement with the tests that prove it, or with our choice. Throws
 * if a test, a case, an assumption or a page is not there.
 */
export function interfacePage(root: string, all: readonly Section[] = sections): string {
  const missing: string[] = []
  const read = (path: string) => {
    try {
      return readFileSync(join(root, path), 'utf8')
    } catch {
      return ''
    }
  }
  const proven = (proof: Proof): string => {
    const shown = linkTo(proof, read)
    if (shown === undefined) missing.push(proof)
    return shown ?? ''
  }
  const rowOf = ({ states, chosen, proofs }: Statement): readonly string[] => {
    if (proofs.length === 0) missing.push(`a proof of “${states}”`)
    return [
      states,
      [chosen === undefined ? '' : `*We chose:* ${chosen}`, ...proofs.map(proven)].filter(Boolean).join('<br>'),
    ]
  }
  const tables = all.map(({ title, statements }) => `## ${title}\n\n${table(HEAD, statements.map(rowOf))}`)
  if (missing.length > 0) throw new Error(`test/interface/statements.ts names what is not there: ${missing.join('; ')}`)
  const rows = all.flatMap(({ statements }) => statements)
  const choices = rows.filter(({ chosen }) => chosen !== undefined).length
  return `# The interface document, statement by statement

\`npm run docs\` writes this page from \`test/interface/statements.ts\`, and fails if a test is not there. It has the ${rows.length} statements of
the service's interface document in its order. Beside each are the tests that prove that the gateway follows it; point at one for its title. In ${choices} of them the
document shows nothing, or leaves a choice: our choice stands there. A name such as \`basic-accepted\` leads to an assumption, which
[one command](certainty.md) checks at the service itself.

${tables.join('\n')}`
}

const HEAD = ['The document states', 'Proven by']

/** Returns a proof as a link with its words; undefined if it is not there. */
function linkTo(proof: Proof, read: (path: string) => string): string | undefined {
  const [place = '', words, row] = proof.split(' > ')
  if (words === undefined) {
    const [, action = '', name = ''] = place.split('/')
    if (read(`test/${place}.json`) === '') return undefined
    return link(`cases/${action}`, `../test/${place}.json`, name.replaceAll('-', ' '))
  }
  if (place === 'assumption') {
    const area = assumptions.find(({ id }) => id === words)?.area
    return area && `[${code(words)}](certainty.md#${area.toLowerCase().replaceAll(' ', '-')})`
  }
  if (place.startsWith('docs/')) {
    const page = place.slice('docs/'.length)
    return read(place).replace(/\s+/g, ' ').includes(words) ? link(page, page, words) : undefined
  }
  const source = read(`test/${place}.test.ts`)
  const title = titleIn(source, words)
  const documents = [...source.matchAll(/'([\w-]+\.json)'/g)].map(([, name]) => read(`test/${dirname(place)}/${name}`))
  if (title === undefined || (row !== undefined && !hasRow([source, ...documents].join('\n'), row))) return undefined
  return link(place, `../test/${place}.test.ts`, `${title}${row === undefined ? '' : ` (${row})`}`)
}

/** Writes a link; the words show when one points at it. */
const link = (text: string, address: string, words: string) => `[${text}](${address} "${words.replaceAll('"', "'")}")`

/** The title of a test, of a table of tests or of a group, outside comments. No test of the project is skipped. */
const TITLE = /^(?! *(?:\/\/|\*))( *).*?(?:\b(?:test|describe)|\))\(\s*(?:'((?:\\.|[^'\\])+)'|"((?:\\.|[^"\\])+)"),/gm

/** Returns the one title that is these words, or has them as a part, after that of its group. */
function titleIn(source: string, words: string): string | undefined {
  let group = ''
  const titles = [...source.matchAll(TITLE)].map(([, indent, single, double]) => {
    const title = (single ?? double ?? '').replace(/\\(.)/g, '$1')
    if (indent === '') group = title
    return { title, whole: indent === '' ? title : `${group} › ${title}` }
  })
  const same = titles.filter(({ title }) => title === words)
  const found = same.length > 0 ? same : titles.filter(({ title }) => title.includes(words))
  return found.length === 1 ? found[0]?.whole : undefined
}

/** Reports whether a table of tests or a document of them has a row with these words, which are a string or begin a line. */
const hasRow = (source: string, words: string) =>
  source
    .split('\n')
    .some((line) => line.startsWith(`${words} `) || line.includes(`'${words}'`) || line.includes(`"${words}"`))
