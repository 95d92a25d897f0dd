import { readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { readJsonValue } from '../body/json.ts'
import { type FlatBody, readBody, readQuery } from '../body/read.ts'
import { type Version1, version1 } from '../calls/read-request.ts'
import { GatewayError } from '../errors.ts'
import type { Catalog, Endpoint } from '../mapping/catalog.ts'
import { CommandFailed, isSystemError, systemReason } from './failures.ts'

/** A version-1 call that is to be sent in several ways. */
export interface CertifiedCall {
  /** Where it is from: a file, a line of a recording, or an example. */
  readonly from: string
  readonly request: Version1
}

/** The operator's synonyms of `ActionName`s. */
type Synonyms = Readonly<Record<string, string>>

/** Returns the example of every action. */
export function exampleCalls(catalog: Catalog): readonly CertifiedCall[] {
  return [...catalog.actions.values()].map((compiled) => {
    const body = readBody(Buffer.from(JSON.stringify(compiled.action.example.request)), undefined)
    return { from: `the example of ${compiled.action.name}`, request: version1(compiled, body) }
  })
}

/** Reads the bodies in a folder and its subfolders; the folder or the first words of a file's name may say the action. */
export function bodiesIn(folder: string, catalog: Catalog, synonyms: Synonyms): readonly CertifiedCall[] {
  const files = listed(folder)
  if (files.length === 0) throw new CommandFailed(`${folder} holds no files`)
  return files.map((file) => {
    const body = readable(file, () => readBody(readFileSync(file), undefined))
    return { from: file, request: classified(body, endpointOf(file, body, catalog), file, synonyms) }
  })
}

/** Reads a recording: one call a line, as `{"path": "/getShippingQuote.php", "body": "…"}`. */
export function recordedCalls(file: string, catalog: Catalog, synonyms: Synonyms): readonly CertifiedCall[] {
  const text = readable(file, () => readFileSync(file, 'utf8'))
  return text.split('\n').flatMap((line, i) => {
    if (line.trim() === '') return []
    const from = `${file}:${i + 1}`
    const { path, body } = readable(from, () => recordedLine(line, from))
    const [name = '', query = ''] = path.split('?', 2)
    const endpoint = catalog.endpoints.get(`/${basename(name).toLowerCase()}`)
    if (!endpoint) throw new CommandFailed(`${from}: ${name} is no legacy path`)
    const flat = readable(from, () =>
      endpoint.method === 'GET' ? readQuery(query) : readBody(Buffer.from(body), undefined),
    )
    return [{ from, request: classified(flat, endpoint, from, synonyms) }]
  })
}

function recordedLine(line: string, from: string): { readonly path: string; readonly body: string } {
  const call = readJsonValue(line)
  const { path, body } = { path: undefined, body: undefined, ...(typeof call === 'object' ? call : {}) }
  if (typeof path !== 'string') throw new CommandFailed(`${from}: a line needs a "path"`)
  return { path, body: typeof body === 'string' ? body : JSON.stringify(body ?? {}) }
}

function listed(folder: string): readonly string[] {
  return readable(folder, () => {
    if (!statSync(folder).isDirectory()) throw new CommandFailed(`${folder} is no folder`)
    const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
    return entries
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .sort()
  })
}

/** Finds the endpoint of a body: by the action that its folder or file is named after, else by its `ActionName` or fields. */
function endpointOf(file: string, body: FlatBody, catalog: Catalog): Endpoint {
  const endpoints = [...catalog.endpoints.values()]
  const named = [basename(dirname(file)), basename(file)].flatMap((name) =>
    [...catalog.actions.values()].filter(({ action }) => name === action.name || name.startsWith(`${action.name}-`)),
  )
  const ofAction = endpoints.find(({ actions }) => actions.some((compiled) => compiled === named[0]))
  if (ofAction) return ofAction
  const actionName = actionNameIn(body)
  const byName = endpoints.filter(
    ({ actions, choose }) =>
      actionName !== undefined && actions[0]?.action.legacy.actionNames !== 'any' && choose(actionName),
  )
  const [best] = (byName.length > 0 ? byName : endpoints.filter(({ method }) => method === 'POST'))
    .map((endpoint) => ({ endpoint, unknown: unknownIn(body, endpoint) }))
    .sort((one, other) => one.unknown - other.unknown)
  if (!best || best.unknown === body.entries.length) {
    throw new CommandFailed(`${file}: no action knows these fields; put the file into a folder named after its action`)
  }
  return best.endpoint
}

const unknownIn = (body: FlatBody, { actions: [first] }: Endpoint): number =>
  first ? version1(first, body).fields.unknown.length : Number.POSITIVE_INFINITY

function actionNameIn({ entries }: FlatBody): string | undefined {
  const value = entries.find(([name]) => name.toLowerCase() === 'actionname')?.[1]
  return typeof value === 'string' ? value : undefined
}

function classified(body: FlatBody, { choose, path }: Endpoint, from: string, synonyms: Synonyms): Version1 {
  const compiled = choose(actionNameIn(body), synonyms)
  if (!compiled) throw new CommandFailed(`${from}: ${path} does not know this ActionName`)
  return version1(compiled, body)
}

/** Reads input; a mistake in it is told in one line. */
function readable<T>(from: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (isSystemError(error)) throw new CommandFailed(systemReason(error, from))
    if (error instanceof GatewayError) throw new CommandFailed(`${from}: ${error.message}`)
    throw error
  }
}
