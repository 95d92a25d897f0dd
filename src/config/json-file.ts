import { readFileSync } from 'node:fs'

/** The content of a JSON file, or the error, phrased to follow the file's name. */
export type JsonFile = { readonly content: unknown } | { readonly error: string }

/** Reads a JSON file. The error does not quote the file, which may contain a misplaced secret. */
export function readJsonFile(path: string): JsonFile {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    return { error: `cannot be read (${codeOf(error)})` }
  }
  try {
    return { content: JSON.parse(text) }
  } catch (error) {
    const where = /\(line \d+ column \d+\)/.exec(error instanceof Error ? error.message : '')?.[0]
    return { error: `is not JSON${where === undefined ? '' : ` ${where}`}` }
  }
}

/** Returns the code of an error of the system, such as ENOENT. */
export const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : String(error)
