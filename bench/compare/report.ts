import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { chart } from './chart.ts'
import { table } from './figures.ts'
import { type Result, type Results, readResults } from './results.ts'
import { sections } from './sections.ts'

const ROOT = join(import.meta.dirname, '../..')

const how = `Every figure is a median of rounds that take turns, so that what else the machine does weighs on all of them alike; the
first stretch of load on each contender warms it up and does not count. A ratio is that of calls a second to those of the
contender in bold type in the same round. The contender has a core of its own; the load and a stub of the service share
another, or have one each where there are more than two. What the stub alone answers is the limit of what can be measured.
Calls that fail are not tolerated: a run with a single one is refused, and so is a contender that asks or answers anything
else than Transload does.`

/** Returns the page and its chart, by their paths, as the results of all runs so far make them. */
export function renderDocs(): ReadonlyMap<string, string> {
  const results = readResults()
  const drawn = chart(results)
  return new Map([
    ['docs/performance.md', page(results, drawn !== undefined)],
    ...(drawn === undefined ? [] : [['docs/performance.svg', drawn] as const]),
  ])
}

/** Writes the page and its chart. */
export function writeDocs(): void {
  for (const [path, text] of renderDocs()) writeFileSync(join(ROOT, path), text)
}

function page(results: Results, hasChart: boolean): string {
  const parts = [...sections].flatMap(([name, { title, about, markdown }]) => {
    const result = results[name]
    return result ? [`## ${title}`, about, markdown(result.data), origin(result)] : []
  })
  return `${[
    '# Performance',
    'Written by `npm run bench`, which measures all of this on the machine that it is started on.',
    ...(hasChart ? ['![Translated quotes a second, each contender on one core](performance.svg)'] : []),
    ...parts,
    '## How it was measured',
    how,
    machines(results),
    versionTable(results),
    missing(results),
    '## Again',
    'All of it takes a little more than an hour; a part of it leaves the other parts of this page as they are:',
    '```sh\nnpm run bench\nnpm run bench -- --only quotes,pass-through --seconds 5 --rounds 3\n```',
    'nginx, HAProxy and wrk take part where they are installed (Debian: `nginx libnginx-mod-http-lua lua-cjson haproxy wrk`).',
  ]
    .filter((part) => part !== '')
    .join('\n\n')}\n`
}

function origin({ date, commit, rounds }: Result): string {
  const how = rounds ? `, ${rounds.count} ${rounds.count === 1 ? 'round' : 'rounds'} of ${rounds.seconds} s` : ''
  return `<sub>${date}, commit ${commit}${how}</sub>`
}

/** The machines, each once, with what was measured on it. */
function machines(results: Results): string {
  const lines = new Map<string, string[]>()
  for (const [name, { machine }] of inOrder(results)) {
    const { cpu, cores, gigabytes, system, pinning } = machine
    const bound = pinning ? '' : '; nothing tied to a core'
    const line = `${cpu}, ${cores} cores, ${gigabytes} GB of memory, ${system}${bound}`
    lines.set(line, [...(lines.get(line) ?? []), name])
  }
  const rows = [...lines].map(([machine, names]) => [machine, lines.size === 1 ? 'everything' : names.join(', ')])
  return table(['Machine', 'Sections'], rows).replace('---:', '---')
}

function versionTable(results: Results): string {
  const found = new Map<string, Set<string>>()
  for (const [, { versions }] of inOrder(results)) {
    for (const [name, version] of Object.entries(versions)) {
      found.set(name, (found.get(name) ?? new Set()).add(version))
    }
  }
  const rows = [...found].map(([name, all]) => [name, [...all].join(', ')])
  return table(['Program', 'Version'], rows).replace('---:', '---')
}

function missing(results: Results): string {
  const all = new Set(inOrder(results).flatMap(([, result]) => result.missing))
  return [...all].map((line) => `- ${line}`).join('\n')
}

const inOrder = (results: Results): [string, Result][] =>
  [...sections.keys()].flatMap((name): [string, Result][] => (results[name] ? [[name, results[name]]] : []))
