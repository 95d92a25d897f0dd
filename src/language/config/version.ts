import { readFileSync } from 'node:fs'
import { findPackageJSON } from 'node:module'

/** Returns the version of the package that this file belongs to, compiled or not. */
export function programVersion(): string {
  const path = findPackageJSON('../..', import.meta.url)
  const content: { readonly version?: string } = path === undefined ? {} : JSON.parse(readFileSync(path, 'utf8'))
  return content.version ?? 'unknown'
}
