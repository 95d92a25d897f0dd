/**
 * Characters that a terminal or an editor obeys instead of showing: control characters (C0, DEL, C1), line and paragraph
 * separators, and the marks that turn the direction of text around. Halves of surrogate pairs cannot be written at all.
 */
const OBEYED = /[\p{Cc}\p{Cs}\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu

/** Writes a character as JSON does: `\u001b`. */
export const escapeSequence = (character: string): string =>
  `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

/** Most text: it is looked at once and returned as it is. */
const PRINTABLE_ASCII = /^[\x20-\x7e]*$/

/** Returns text that no terminal obeys: each such character is shown as its escape sequence. */
export const escapeControls = (text: string): string =>
  PRINTABLE_ASCII.test(text) ? text : text.replace(OBEYED, escapeSequence)

/** Returns lines that no terminal obeys: only their ends are kept of all control characters. */
export const printableLines = (text: string): string => text.split('\n').map(escapeControls).join('\n')

/** Returns JSON that no terminal obeys. The text stays valid JSON and means the same; only its own line ends are kept. */
export function printableJson(value: unknown, indent?: number): string {
  // JSON.stringify escapes C0 by itself, so that the only line ends left are those of the indentation.
  return printableLines(JSON.stringify(value, null, indent))
}
