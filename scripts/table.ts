/** A Markdown table; whatever would end a cell is escaped. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [line(head), `|${head.map(() => '---').join('|')}|`, ...rows.map(line), ''].join('\n')
}

/** Words as code, in a list. */
export function codes(words: readonly string[]): string {
  return words.map((word) => `\`${word}\``).join(', ')
}
