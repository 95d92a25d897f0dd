import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { renderDocs } from '../bench/compare/report.ts'
import { tables } from '../mappings/index.ts'
import { loadMappings } from '../mappings/load.ts'
import { configTexts } from '../src/language/config/config.ts'
import { tenantsSchema } from '../src/language/config/tenants-file.ts'
import { commands, groups } from '../src/operator/cli.ts'
import { assumptionsPart } from './assumptions-page.ts'
import { interfacePage } from './interface-page.ts'
import { mappingReference } from './mapping-reference.ts'
import { code, codes, table, withPart } from './markdown.ts'
import { messagePart } from './message-table.ts'

/** Returns every document that is generated or has generated parts, by its path, with its current content. */
export async function generatedDocs(root: string): Promise<ReadonlyMap<string, string>> {
  const catalog = await loadMappings()
  const parts = {
    'docs/writing-a-mapping.md': { reference: mappingReference(catalog) },
    'docs/certainty.md': { assumptions: assumptionsPart() },
    'docs/wire.md': { messages: messagePart(catalog) },
    'docs/configuration.md': { configuration: configurationTables(), tenants: tenantKeys() },
    'docs/operations.md': { commands: commandTable() },
  }
  const documents = Object.entries(parts).map(([path, own]): [string, string] => {
    const text = readFileSync(join(root, path), 'utf8')
    return [path, Object.entries(own).reduce((whole, [name, part]) => withPart(whole, name, part), text)]
  })
  return new Map([
    ...documents,
    ['docs/interface.md', interfacePage(root)],
    ['docs/lookups.json', json(tables)],
    ['docs/tenants.schema.json', json(z.toJSONSchema(tenantsSchema, { io: 'input' }))],
    ...renderDocs(),
  ])
}

const json = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`

function configurationTables(): string {
  const [[start = '', first = []] = [], ...others] = [...configTexts()].map(([title, variables]) => {
    const rows = variables.map(({ name, text, value }) => [code(name), value === undefined ? '' : code(value), text])
    return [title, rows] as const
  })
  const rest = others.flatMap(([title, rows]) => [[`**${title}**`, '', ''], ...rows])
  const head = ['Name', 'Default', '']
  return `### ${start}\n\n${table(head, first)}\n### Rarely needed\n\n${table(head, rest)}`
}

/** The keys of a tenant, as its schema describes them. Keys that stand for the variable of their name share a row. */
function tenantKeys(): string {
  const rows = Object.entries(tenantsSchema.shape.tenants.element.shape).map(
    ([name, type]) => [name, describedIn(type)] as const,
  )
  const isVariable = ([name, text]: (typeof rows)[number]) => text === `Instead of ${code(name.toUpperCase())}.`
  return table(
    ['Key', ''],
    [
      ...rows.filter((row) => !isVariable(row)).map(([name, text]) => [code(name), text]),
      [codes(rows.filter(isVariable).map(([name]) => name)), 'Instead of the variable of the same name.'],
    ],
  )
}

function describedIn(type: z.ZodType): string {
  if (type.description === undefined) throw new Error('Every key of a tenant needs a description.')
  return type.description
}

/** The commands by the groups of the help, a row for each family: `--help` describes its verbs. */
function commandTable(): string {
  const byFamily = Map.groupBy(Object.entries(commands), ([usage]) => /^[a-z]+/.exec(usage)?.[0] ?? '')
  const rowOf = (family: string) => {
    const members = byFamily.get(family) ?? []
    const words = members.map(([usage]) =>
      usage
        .slice(family.length)
        .trim()
        .replace(/<(\w+)>/g, '$1'),
    )
    return words.length > 1
      ? [code(family), codes(words)]
      : [code([family, ...words].join(' ').trim()), members[0]?.[1].about ?? '']
  }
  const rows = Object.entries(groups).flatMap(([group, names]) => [[`**${group}**`, ''], ...names.map(rowOf)])
  return table(['Command', 'Effect, or verbs'], rows)
}
