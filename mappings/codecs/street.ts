const COMMA = ', '

/** Joins the lines of an address with commas; blank lines are left out. */
export function joinStreet(lines: readonly string[]): string {
  return lines
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join(COMMA)
}

/** Splits a line of an address at its first comma; the second part is empty if there is none. */
export function splitStreet(text: string): [string, string] {
  const comma = text.indexOf(',')
  return comma < 0 ? [text.trim(), ''] : [text.slice(0, comma).trim(), text.slice(comma + 1).trim()]
}
