/** Returns a Markdown table; pipes in cells are escaped. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [line(head), `|${head.map(() => '---').join('|')}|`, ...rows.map(line), ''].join('\n')
}

/** Returns a word as code. */
export const code = (word: string): string => `\`${word}\``

/** Returns words as a list of code. */
export const codes = (words: readonly string[]): string => words.map(code).join(', ')

/** Returns a document with a new generated part, which stands between two comments. */
export function withPart(text: string, name: string, part: string): string {
  const [begin, end] = [`<!-- generated: ${name} -->`, `<!-- end of ${name} -->`]
  const from = text.indexOf(begin)
  const to = text.indexOf(end)
  if (from === -1 || to < from) throw new Error(`No place for ${name}: ${begin} … ${end}`)
  return `${text.slice(0, from + begin.length)}\n\n${part.replace(/\n{3,}/g, '\n\n')}\n${text.slice(to)}`
}
