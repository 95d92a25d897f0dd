import { isDeepStrictEqual } from 'node:util'
import { configNames, readConfig } from '../src/config/config.ts'
import { type Documented, variables } from './configuration-table.ts'
import { table } from './table.ts'

/** Returns tables of all environment variables; throws where they differ from the configuration. */
export function configurationTables(): string {
  const documented = Object.assign({}, ...Object.values(variables)) as Readonly<Record<string, Documented>>
  const missing = configNames.filter((name) => !Object.hasOwn(documented, name))
  const invented = Object.keys(documented).filter((name) => !configNames.includes(name))
  const wrong = Object.entries(documented).flatMap(([name, { default: text }]) => wrongDefault(name, text))
  const errors = [
    ...missing.map((name) => `${name} is not documented`),
    ...invented.map((name) => `${name} is documented and does not exist`),
    ...wrong,
  ]
  if (errors.length > 0) throw new Error(`scripts/configuration-table.ts: ${errors.join('; ')}`)

  return Object.entries(variables)
    .map(([title, group]) => {
      const rows = Object.entries(group).map(([name, { default: text, about }]) => [
        `\`${name}\``,
        text === undefined ? '' : `\`${text}\``,
        about,
      ])
      return `### ${title}\n\n${table(['Name', 'Default', ''], rows)}`
    })
    .join('\n')
}

const REQUIRED = { V2_BASE_URL: 'https://service.example.com' }

/** Checks that setting a variable to its documented default changes nothing. */
function wrongDefault(name: string, text: string | undefined): string[] {
  if (Object.hasOwn(REQUIRED, name)) return []
  const unset: Readonly<Record<string, unknown>> = readConfig(REQUIRED)
  const set: Readonly<Record<string, unknown>> = text === undefined ? {} : readConfig({ ...REQUIRED, [name]: text })
  return isDeepStrictEqual(comparable(unset[name]), comparable(set[name])) ? [] : [`the default of ${name} is wrong`]
}

const STATUSES = Array.from({ length: 500 }, (_, i) => 100 + i)

/** Makes values comparable: a set of statuses is a function, and is compared by its results. */
function comparable(value: unknown): unknown {
  return typeof value === 'function' ? STATUSES.map((status) => value(status)) : value
}
