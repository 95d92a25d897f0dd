import { existsSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { configTexts } from '../../language/config/config.ts'
import { CommandFailed } from './failures.ts'
import { type Options, print } from './output.ts'
import { thisProgram } from './process.ts'

/** The settings that a gateway starts with; the other variables are comments. */
const START: Readonly<Record<string, string>> = {
  V2_BASE_URL: 'https://service.example.com',
  STORE_URL: './data/transload.db',
  EMERGENCY_LOG_FILE: './data/emergency.ndjson',
}
const EDGE_START: typeof START = {
  TENANTS_FILE: './tenants.json',
  TRUST_PROXY: '127.0.0.1/32',
}

const WIDTH = 110

/** Writes a file with the variables of a gateway, each with its meaning, grouped like the documentation, and on an edge a file of tenants; overwrites nothing. */
export function init({ sidecar }: Options<'sidecar'>): number {
  const starts = { ...START, ...(sidecar ? { HOST: '127.0.0.1' } : EDGE_START) }
  const lines = [...configTexts()].flatMap(([title, variables]) => [
    ...['', '', `# ${'='.repeat(WIDTH)}`, `# ${title}`, `# ${'='.repeat(WIDTH)}`],
    ...variables.flatMap(({ name, text, value }) => {
      const start = starts[name]
      return ['', ...commentOf(text), start === undefined ? `#${name}=${value ?? ''}` : `${name}=${start}`]
    }),
  ])
  const first = `# Variables for a gateway ${sidecar ? 'next to one application' : 'with several tenants'}. "transload check" reports errors in them.`
  write('transload.env', [first, ...lines])
  if (!sidecar) write('tenants.json', ['{', '  "tenants": []', '}'])
  const [node, program] = thisProgram()
  print(
    'Wrote transload.env. Set V2_BASE_URL in it.',
    ...(sidecar ? [] : ['Wrote tenants.json. "transload tenants add NAME" adds the first tenant.']),
    `Start: ${node} --env-file=transload.env ${program} serve`,
  )
  return 0
}

/** Breaks a text without its Markdown into lines of a comment. */
function commentOf(text: string): readonly string[] {
  const plain = text.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').replaceAll('`', '')
  return plain.match(new RegExp(`\\S.{0,${WIDTH}}(?=\\s|$)`, 'g'))?.map((line) => `# ${line}`) ?? []
}

function write(name: string, lines: readonly string[]): void {
  const file = resolve(name)
  if (existsSync(file)) throw new CommandFailed(`${name} exists; init overwrites nothing`)
  writeFileSync(file, `${lines.join('\n')}\n`, { mode: 0o600, flag: 'wx' })
}
