import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { withPart } from '../../scripts/markdown.ts'
import { chart } from './chart.ts'
import { table } from './figures.ts'
import { type Result, type Results, readResults } from './results.ts'
import { sections } from './sections.ts'

const ROOT = join(import.meta.dirname, '../..')
const PAGE = 'bench/README.md'

const how = `Every figure is the median of interleaved rounds after a warm-up, so a busy machine slows all contenders down alike. A ratio
compares calls per second with those of the contender in bold in the same round. The contender under test has its own core. The load and
the service's stub share another, or have one each on a machine with more than two. The stub's figures are the limit of the
measurement. A run with a failed call is rejected, and so is a contender that translates differently.`

/** Returns the page and its chart, by path, made from the newest results. */
export function renderDocs(): ReadonlyMap<string, string> {
  const results = readResults()
  const drawn = chart(results)
  return new Map([
    [PAGE, withPart(readFileSync(join(ROOT, PAGE), 'utf8'), 'results', page(results, drawn !== undefined))],
    ...(drawn === undefined ? [] : [['bench/quotes.svg', drawn] as const]),
  ])
}

/** Writes the page and its chart. */
export function writeDocs(): void {
  for (const [path, text] of renderDocs()) writeFileSync(join(ROOT, path), text)
}

function page(results: Results, hasChart: boolean): string {
  const parts = [...sections].flatMap(([name, { title, about, markdown }]) => {
    const result = results[name]
    return result ? [`### ${title}`, about, markdown(result.data), origin(result)] : []
  })
  return `${[
    ...(hasChart ? ['![Translated quotes per second, each contender on one core](quotes.svg)'] : []),
    ...parts,
    '### How it was measured',
    how,
    machines(results),
    versionList(results),
    missing(results),
  ]
    .filter((part) => part !== '')
    .join('\n\n')}\n`
}

function origin({ date, commit, rounds }: Result): string {
  const how = rounds ? `, ${rounds.count} ${rounds.count === 1 ? 'round' : 'rounds'} of ${rounds.seconds} s` : ''
  return `<sub>${date}, commit ${commit}${how}</sub>`
}

/** Returns a table of the machines with the sections measured on them. */
function machines(results: Results): string {
  const lines = new Map<string, string[]>()
  for (const [name, { machine }] of inOrder(results)) {
    const { cpu, cores, gigabytes, system, pinning } = machine
    const bound = pinning ? '' : '; nothing pinned to a core'
    const line = `${cpu}, ${cores} cores, ${gigabytes} GB of memory, ${system}${bound}`
    lines.set(line, [...(lines.get(line) ?? []), name])
  }
  const rows = [...lines].map(([machine, names]) => [machine, lines.size === 1 ? 'everything' : names.join(', ')])
  return table(['Machine', 'Sections'], rows).replace('---:', '---')
}

function versionList(results: Results): string {
  const found = new Map<string, Set<string>>()
  for (const [, { versions }] of inOrder(results)) {
    for (const [name, version] of Object.entries(versions)) {
      found.set(name, (found.get(name) ?? new Set()).add(version))
    }
  }
  return `Programs: ${[...found].map(([name, all]) => `${name} ${[...all].join(' and ')}`).join(', ')}.`
}

function missing(results: Results): string {
  const all = new Set(inOrder(results).flatMap(([, result]) => result.missing))
  return [...all].map((line) => `- ${line}`).join('\n')
}

const inOrder = (results: Results): [string, Result][] =>
  [...sections.keys()].flatMap((name): [string, Result][] => (results[name] ? [[name, results[name]]] : []))
