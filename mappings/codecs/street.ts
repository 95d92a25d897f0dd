const COMMA = ', '

/** The lines of an address as one, after commas; blank lines leave nothing behind. */
export function joinStreet(lines: readonly string[]): string {
  return lines
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join(COMMA)
}

/** One line of an address as two, cut at the first comma; the second is empty where there is none. */
export function splitStreet(text: string): [string, string] {
  const comma = text.indexOf(',')
  return comma < 0 ? [text.trim(), ''] : [text.slice(0, comma).trim(), text.slice(comma + 1).trim()]
}
