import { z } from 'zod'
import { renderDocs } from '../bench/compare/report.ts'
import { commands } from '../src/cli.ts'
import { defaultOf, sections } from '../src/config/config.ts'
import { loadMappings } from '../src/config/mappings.ts'
import { tenantsSchema } from '../src/config/tenants-file.ts'
import { assumptionsPage } from './assumptions-page.ts'
import { json } from './json.ts'
import { mappingReference } from './mapping-reference.ts'
import { messagePage } from './message-table.ts'
import { withPart } from './part.ts'
import { code, table } from './table.ts'

/** Returns every document that is generated or has generated parts, by its path, with its current content. */
export async function generatedDocs(root: string): Promise<ReadonlyMap<string, string>> {
  const catalog = await loadMappings()
  return new Map([
    ['docs/mapping-reference.md', mappingReference(catalog).replace(/\n{3,}/g, '\n\n')],
    ['docs/assumptions.md', assumptionsPage().replace(/\n{3,}/g, '\n\n')],
    ['docs/messages.md', messagePage(catalog)],
    ['docs/configuration.md', withPart(root, 'docs/configuration.md', 'configuration', configurationTables())],
    ['docs/operations.md', withPart(root, 'docs/operations.md', 'commands', commandTable())],
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
