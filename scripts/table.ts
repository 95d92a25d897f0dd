/** Returns a Markdown table; pipes in cells are escaped. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [line(head), `|${head.map(() => '---').join('|')}|`, ...rows.map(line), ''].join('\n')
}

/** Returns a word as code. */
export const code = (word: string): string => `\`${word}\``

/** Returns words as a list of code. */
export const codes = (words: readonly string[]): string => words.map(code).join(', ')
