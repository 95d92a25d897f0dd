import { z } from 'zod'
import { renderDocs } from '../bench/compare/report.ts'
import { commands } from '../src/cli.ts'
import { defaultOf, sections } from '../src/config/config.ts'
import { loadMappings } from '../src/config/mappings.ts'
import { tenantsSchema } from '../src/config/tenants-file.ts'
import { assumptionsPart } from './assumptions-page.ts'
import { json } from './json.ts'
import { mappingReference } from './mapping-reference.ts'
import { messagePart } from './message-table.ts'
import { withPart } from './part.ts'
import { code, table } from './table.ts'

/** Returns every document that is generated or has generated parts, by its path, with its current content. */
export async function generatedDocs(root: string): Promise<ReadonlyMap<string, string>> {
  const catalog = await loadMappings()
  const part = (path: string, name: string, text: string): [string, string] => [
    path,
    withPart(root, path, name, text.replace(/\n{3,}/g, '\n\n')),
  ]
  return new Map([
    part('docs/writing-a-mapping.md', 'reference', mappingReference(catalog)),
    part('docs/migration.md', 'assumptions', assumptionsPart()),
    part('docs/wire.md', 'messages', messagePart(catalog)),
    part('docs/configuration.md', 'configuration', configurationTables()),
    part('docs/operations.md', 'commands', commandTable()),
    ['docs/tenants.schema.json', `${json(z.toJSONSchema(tenantsSchema, { io: 'input' }))}\n`],
    ...renderDocs(),
  ])
}

const configurationTables = () =>
  Object.entries(sections)
    .map(([title, variables]) => {
      const rows = Object.entries(variables).map(([name, type]) => {
        const value = defaultOf(type)
        return [code(name), value === undefined ? '' : code(value), type.description ?? '']
      })
      return `### ${title}\n\n${table(['Name', 'Default', ''], rows)}`
    })
    .join('\n')

const commandTable = () =>
  table(
    ['Command', ''],
    Object.entries(commands).map(([usage, { about }]) => [code(`transload ${usage.replace(/<(\w+)>/g, '$1')}`), about]),
  )
