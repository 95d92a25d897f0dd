import type { Row } from './row.ts'
import { fieldsOf, placesOf } from './row-parts.ts'

/** Replaces version-2 places in the service's text by the fields that the caller sent for them. */
export type NameFields = (text: string) => string

/** A place as services write it: `pickup.zipcode`, `/vehicles/0/year`, `body.vehicles[0].year`, `pickup[zipcode]`. */
const PLACE = /(?<![\w./-])\/?[a-z]\w*(?:[./]\w+|\[\w+\])*/gi
/** A place of one plain word may be just a word: it counts only where a validation speaks of it. */
const PLAIN_WORD = /^[a-z]+$/i
const BEFORE_PLACE = /(?:\b(?:invalid|missing|required|unknown|bad|field|parameter|property)\s+["'`]?|["'`])$/i
const AFTER_PLACE =
  /^["'`]?(?:\s*:|\s+(?:must|should|cannot|may not|has to|required|missing|invalid)\b|\s+is\s+(?:an?\s|required|missing|invalid|not\s+(?:an?\s|valid|allowed|known|recognized)|unknown|malformed|empty|blank|too\s))/i

/** Compiles the rows of a request into a function for the service's error messages: a caller knows only version 1. */
export function compileFieldNames(rows: readonly Row[]): NameFields {
  const fields = new Map<string, string>()
  for (const row of rows) {
    if (row.kind !== 'v2Only') for (const place of placesOf(row)) fields.set(place, fieldsOf(row).join(' or '))
  }
  return (text) =>
    text.replace(PLACE, (written, at: number) => {
      const field = fields.get(placeIn(written))
      if (!field) return written
      const isMeant =
        !PLAIN_WORD.test(written) ||
        BEFORE_PLACE.test(text.slice(0, at)) ||
        AFTER_PLACE.test(text.slice(at + written.length))
      return isMeant ? field : written
    })
}

/** Returns the dotted path of a written place. */
function placeIn(written: string): string {
  return written
    .replace(/^\//, '')
    .replaceAll('/', '.')
    .replace(/\[([a-z_]\w*)\]/gi, '.$1')
    .replace(/\.(\d+)(?=\.|\[|$)/g, '[$1]')
    .replace(/^(?:body|request|data)\./, '')
}
