/**
 * Characters that a terminal or an editor interprets instead of showing: control characters (C0, DEL, C1), line and
 * paragraph separators, and marks that change the direction of text. Unpaired surrogates cannot be encoded at all.
 */
const OBEYED = /[\p{Cc}\p{Cs}\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu

/** Writes a character as JSON does: `\u001b`. */
export const escapeSequence = (character: string): string =>
  `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

/** Most text, which needs no escapes. */
const PRINTABLE_ASCII = /^[\x20-\x7e]*$/

/** Returns text that is safe on a terminal: control characters become escape sequences. */
export const escapeControls = (text: string): string =>
  PRINTABLE_ASCII.test(text) ? text : text.replace(OBEYED, escapeSequence)

/** Returns lines that are safe on a terminal: of all control characters, only their line ends stay. */
export const printableLines = (text: string): string => text.split('\n').map(escapeControls).join('\n')

/** Returns JSON that is safe on a terminal. It stays valid and equivalent; only its own line ends stay. */
export function printableJson(value: unknown, indent?: number): string {
  // JSON.stringify escapes C0 by itself, so the only remaining line ends are those of the indentation.
  return printableLines(JSON.stringify(value, null, indent))
}
