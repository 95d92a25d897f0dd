import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { assumptions } from '../src/labs/certify/assumptions.ts'
import { code } from './markdown.ts'

/**
 * A proof is one of:
 * - `calls/flow > a trip is quoted`: a test file in `test/`, and a title in it, or a part of one title alone. Where the
 *   title is that of a table of tests, ` > ` and the words of a row may follow;
 * - `cases/quote.get/open-auto-is-open`: a case file in `test/cases/`;
 * - `assumption > quote-by-post`: what `transload certify assumptions` asks the service itself;
 * - `docs/migrating.md > two months before`: a page, and words in it, for statements that only people can follow.
 */
export type Proof = string

/** A section of the interface document, with its statements in words of our own and in the order of the document. */
interface Section {
  readonly title: string
  readonly statements: readonly Statement[]
}

interface Statement {
  readonly states: string
  /** Our choice, where the document shows nothing or leaves two ways. */
  readonly chosen?: string
  readonly proofs: readonly Proof[]
}

const STATEMENTS = 'test/interface/statements.json'

/**
 * Returns the page about the interface document: each statement with the tests that prove it, or with our choice. Throws
 * if a test, a case, an assumption or a page is not there.
 */
export function interfacePage(
  root: string,
  all: readonly Section[] = JSON.parse(readFileSync(join(root, STATEMENTS), 'utf8')),
): string {
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
  const lineOf = ({ states, chosen, proofs }: Statement): string => {
    if (proofs.length === 0) missing.push(`a proof of “${states}”`)
    const links = [...new Set(proofs.map(proven))].join(', ')
    return `- ${states}${chosen === undefined ? '' : ` → ${chosen}`} (${links})\n`
  }
  const lists = all.map(({ title, statements }) => `## ${title}\n\n${statements.map(lineOf).join('')}`)
  if (missing.length > 0) throw new Error(`${STATEMENTS} names what is not there: ${missing.join('; ')}`)
  const rows = all.flatMap(({ statements }) => statements)
  const choices = rows.filter(({ chosen }) => chosen !== undefined).length
  return `# The interface document, statement by statement

The ${rows.length} statements of the service's interface document, in its order, with links to the tests of each and to
[assumptions](certainty.md) that only the service can confirm. For ${choices} of them, the document shows nothing or leaves a choice; our
choice follows the arrow. \`npm run docs\` writes this page from \`${STATEMENTS}\`, and fails if a test does not exist.

${lists.join('\n')}`
}

/** Returns a proof as a link; undefined if it is not there. */
function linkTo(proof: Proof, read: (path: string) => string): string | undefined {
  const [place = '', words, row] = proof.split(' > ')
  if (words === undefined) {
    const [, , name = ''] = place.split('/')
    return read(`test/${place}.json`) === '' ? undefined : `[${name}](../test/${place}.json)`
  }
  if (place === 'assumption') {
    const area = assumptions.find(({ id }) => id === words)?.area
    return area && `[${code(words)}](certainty.md#${area.toLowerCase().replaceAll(' ', '-')})`
  }
  if (place.startsWith('docs/')) {
    const page = place.slice('docs/'.length)
    return read(place).replace(/\s+/g, ' ').includes(words) ? `[${page}](${page})` : undefined
  }
  const source = read(`test/${place}.test.ts`)
  const documents = [...source.matchAll(/'([\w-]+\.(?:json|txt))'/g)].map(([, name]) =>
    read(`test/${dirname(place)}/${name}`),
  )
  const isThere = hasTitle(source, words) && (row === undefined || hasRow([source, ...documents].join('\n'), row))
  return isThere ? `[${place}](../test/${place}.test.ts)` : undefined
}

/** The title of a test, of a table of tests or of a group, outside comments. No test of the project is skipped. */
const TITLE = /^(?! *(?:\/\/|\*)).*?(?:\b(?:test|describe)|\))\(\s*(?:'((?:\\.|[^'\\])+)'|"((?:\\.|[^"\\])+)"),/gm

/** Reports whether one title alone is these words, or else has them as a part. */
function hasTitle(source: string, words: string): boolean {
  const titles = [...source.matchAll(TITLE)].map(([, single, double]) =>
    (single ?? double ?? '').replace(/\\(.)/g, '$1'),
  )
  const same = titles.filter((title) => title === words)
  return (same.length > 0 ? same : titles.filter((title) => title.includes(words))).length === 1
}

/** Reports whether a table of tests or a document of them has a row with these words, which are a string or begin a line. */
const hasRow = (source: string, words: string) =>
  source
    .split('\n')
    .some((line) => line.startsWith(`${words} `) || line.includes(`'${words}'`) || line.includes(`"${words}"`))
