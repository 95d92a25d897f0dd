import { existsSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { readConfig } from '../config/config.ts'
import { loadMappings } from '../config/mappings.ts'
import { EXIT_FAILED } from '../exit-codes.ts'
import { makeFolder } from '../store/make-folder.ts'
import { readArguments } from './arguments.ts'
import { CommandFailed, isSystemError, systemReason, UsageError } from './failures.ts'
import { caseFilesIn, runCase } from './mapping-cases.ts'
import { newMapping } from './mapping-template.ts'
import { print, printJson } from './output.ts'
import { withoutService } from './store.ts'

const USAGE = [
  'Usage:',
  '  transload mapping new NAME [DIR] [--force]    writes a module and a case for it',
  '  transload mapping test [DIR] [--json]         runs the cases of DIR/cases against the modules of DIR',
  '',
  'DIR is MAPPINGS_DIR by default, or else the folder mappings.',
]
const NAME = /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/

/** Writes mapping modules to begin with, and tests them. */
export async function mapping(args: readonly string[]): Promise<number> {
  const { verb, operands, values } = readArguments(args, {
    usage: USAGE,
    options: { force: { type: 'boolean' }, json: { type: 'boolean' } },
    verbs: {
      new: { operands: ['NAME', '[DIR]'], options: ['force'] },
      test: { operands: ['[DIR]'], options: ['json'] },
    },
    explained: { force: 'Overwrites files that exist.', json: 'Prints JSON, a line for each case.' },
    examples: ['transload mapping new shipment-status my-mappings', 'transload mapping test my-mappings'],
  })
  switch (verb) {
    case 'new': {
      const [name = '', directory = defaultDirectory()] = operands
      return write(name, directory, values.force ?? false)
    }
    case 'test': {
      const [directory = defaultDirectory()] = operands
      return test(directory, values.json ?? false)
    }
    default:
      return verb satisfies never
  }
}

const defaultDirectory = () => process.env['MAPPINGS_DIR']?.trim() || 'mappings'

function write(name: string, directory: string, force: boolean): number {
  if (!NAME.test(name)) {
    throw new UsageError(
      `${name} is no name for a module; use lower-case words with dashes, such as shipment-status`,
      USAGE,
    )
  }
  const files = newMapping(name)
  for (const file of Object.keys(files)) {
    const path = join(directory, file)
    if (!force && existsSync(path)) throw new CommandFailed(`${path} exists; --force overwrites it`)
  }
  for (const [file, content] of Object.entries(files)) {
    const path = join(directory, file)
    try {
      makeFolder(dirname(path))
      writeFileSync(path, content)
    } catch (error) {
      throw isSystemError(error) ? new CommandFailed(systemReason(error, path)) : error
    }
    print(`wrote ${path}`)
  }
  print(`Test it with: transload mapping test ${directory}`)
  return 0
}

async function test(directory: string, json: boolean): Promise<number> {
  const { LOOKUPS_FILE } = readConfig(withoutService())
  const { actions } = await loadMappings(directory, LOOKUPS_FILE)
  const files = caseFilesIn(join(directory, 'cases'))
  const results = files.map((file) => runCase(file, actions))
  const failed = results.filter(({ failures }) => failures.length > 0)
  for (const { file, failures } of results) {
    if (json) printJson({ file, passed: failures.length === 0, failures })
    else print(`${failures.length === 0 ? 'passed' : 'failed'}  ${file}`, ...failures.map((line) => `    ${line}`))
  }
  if (files.length === 0) throw new CommandFailed(`there are no cases in ${join(directory, 'cases')}`)
  if (!json) print(`${results.length - failed.length} passed, ${failed.length} failed`)
  return failed.length > 0 ? EXIT_FAILED : 0
}
