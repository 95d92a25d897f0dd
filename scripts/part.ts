import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Returns a document with a new generated part, which stands between two comments. */
export function withPart(root: string, path: string, name: string, part: string): string {
  const text = readFileSync(join(root, path), 'utf8')
  const [begin, end] = [`<!-- generated: ${name} -->`, `<!-- end of ${name} -->`]
  const from = text.indexOf(begin)
  const to = text.indexOf(end)
  if (from === -1 || to < from) throw new Error(`${path} has no place for ${name}: ${begin} … ${end}`)
  return `${text.slice(0, from + begin.length)}\n\n${part}\n${text.slice(to)}`
}
