import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { renderDocs } from '../bench/compare/report.ts'
import { tables } from '../mappings/index.ts'
import { loadMappings } from '../mappings/load.ts'
import { defaultOf, sections } from '../src/language/config/config.ts'
import { tenantsSchema } from '../src/language/config/tenants-file.ts'
import { commands, families } from '../src/operator/cli.ts'
import { assumptionsPart } from './assumptions-page.ts'
import { interfacePage } from './interface-page.ts'
import { json } from './json.ts'
import { mappingReference } from './mapping-reference.ts'
import { messagePart } from './message-table.ts'
import { withPart } from './part.ts'
import { code, table } from './table.ts'

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
    ['docs/lookups.json', `${json(tables)}\n`],
    ['docs/tenants.schema.json', `${json(z.toJSONSchema(tenantsSchema, { io: 'input' }))}\n`],
    ...renderDocs(),
  ])
}

/** The settings that nearly every gateway sets, or looks at. */
const START_HERE = [
  ...['V2_BASE_URL', 'V2_CLIENT_ID', 'V2_CLIENT_SECRET', 'TENANTS_FILE', 'TRUST_PROXY', 'HOST', 'PORT'],
  ...['STORE_URL', 'EMERGENCY_LOG_FILE', 'SUPPORT_CONTACT'],
]

function configurationTables(): string {
  const all = Object.values(sections).flatMap((variables) => Object.entries(variables))
  const rowOf = ([name, type]: (typeof all)[number]) => {
    const value = defaultOf(type)
    return [code(name), value === undefined ? '' : code(value), type.description ?? '']
  }
  const first = START_HERE.flatMap((wanted) => all.filter(([name]) => name === wanted).map(rowOf))
  const others = Object.entries(sections).flatMap(([title, variables]) => {
    const rows = Object.entries(variables).filter(([name]) => !START_HERE.includes(name))
    return rows.length === 0 ? [] : [[`**${title}**`, '', ''], ...rows.map(rowOf)]
  })
  const head = ['Name', 'Default', '']
  return `### Start here\n\n${table(head, first)}\n### Rarely needed\n\n${table(head, others)}`
}

/** The keys of a tenant, as its schema tells them. */
const tenantKeys = () =>
  table(
    ['Key', ''],
    Object.entries(tenantsSchema.shape.tenants.element.shape).map(([name, type]) => [code(name), describedIn(type)]),
  )

function describedIn(type: z.ZodType): string {
  if (type.description === undefined) throw new Error('Every key of a tenant needs a description.')
  return type.description
}

/** The commands, a row for each family: `--help` describes its members. */
function commandTable(): string {
  const byFamily = Map.groupBy(Object.entries(commands), ([usage]) => /^[a-z]+/.exec(usage)?.[0] ?? '')
  const rows = [...byFamily].map(([family, members]) => {
    const words = members.map(([usage]) =>
      usage
        .slice(family.length)
        .trim()
        .replace(/<(\w+)>/g, '$1'),
    )
    const about = families[family] ?? members[0]?.[1].about ?? ''
    return [code(family), words.filter(Boolean).map(code).join(', '), about]
  })
  return table(['Command', 'Verbs and operands', 'Effect'], rows)
}
