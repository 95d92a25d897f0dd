import type { Action } from './action.ts'
import { type Fields, indexFields, type Problem } from './fields.ts'
import { compileCompare, compileOverlay } from './overlay.ts'
import type { Draft } from './paths.ts'
import { compileReply } from './reply.ts'
import {
  compileRequest,
  type Explanation,
  type KnownFacts,
  type RequestContext,
  type RequestTranslation,
  type Tables,
} from './request.ts'
import { PARTLY_ASSUMED_FACT, type Row, type Settings } from './row.ts'
import { fieldsOf, placesOf } from './row-parts.ts'

/** An action whose rows are compiled into steps. Pure: no clock, no store, no network. */
export type CompiledAction = ReturnType<typeof compileAction>

/** Compiles a checked declaration. */
export function compileAction(action: Action, tables: Tables) {
  const rememberRows = action.remember ?? []
  const fields = indexFields([...action.request, ...rememberRows].flatMap(fieldsOf))
  const translate = compileRequest(action.request, action.requires ?? [], fields, tables)
  const remember = compileRequest(rememberRows, [], fields, tables)

  const withPlace = new Set(
    [...action.request, ...rememberRows].filter(({ kind }) => kind !== 'v1Only').flatMap(fieldsOf),
  )
  return {
    action,
    fields,
    /** By slot: true if the field has an effect, such as a version-2 value, a name that is resolved, or a fact that is remembered. */
    hasPlace: fields.names.map((name) => withPlace.has(name) || name === ACTION_NAME),
    /** The fields that are written to the service. */
    written: action.request.filter(({ kind }) => kind !== 'v1Only' && kind !== 'ref').flatMap(fieldsOf),
    /** The fields of a vehicle, without its VIN. */
    vehicleFields: action.request
      .filter((row) => placesOf(row).some((place) => place.startsWith(VEHICLE) && place !== VIN))
      .flatMap(fieldsOf),
    /** Translates version 1 to version 2. */
    request: ({ values, refusable, problems: sorting }: Fields, context: RequestContext): RequestTranslation => {
      const translation = translate(values, context, {}, sorting)
      for (const { fields: refused, code, problem } of refusable.length > 0 ? (action.refuses ?? []) : [])
        for (const field of refusable) {
          if (refused.test(field)) translation.problems.push({ field, code, message: `${field} ${problem}` })
        }
      return translation
    },
    /** Returns the facts to remember. An unreadable value is left out, because the call does not need it. */
    remember: (
      { values }: Fields,
      sent: Draft,
      settings: Settings,
      explanations?: Explanation[],
    ): { readonly facts: KnownFacts; readonly problems: readonly Problem[] } => {
      const { body, problems, notes } = remember(values, { settings, facts: undefined, explanations }, { ...sent }, [])
      // The rows' codecs return strings and integers, and a quote's body is flat.
      const facts = body as KnownFacts
      const assumed = notes.flatMap(({ to }) => (to ? [`${to.v2}=${facts[to.v2]}`] : []))
      if (assumed.length === 0) return { facts, problems }
      return { facts: { ...facts, [PARTLY_ASSUMED_FACT]: assumed.join('\n') }, problems }
    },
    /** Translates version 2 to version 1. */
    reply: compileReply(action.reply),
    /** Puts the caller's fields into the service's message. */
    nameFields: compileFieldNames(action.request),
    /** Merges the sent fields into the service's current state. */
    overlay: compileOverlay(
      [...action.request, ...action.reply].flatMap((row) =>
        row.kind === 'v2Only' && row.setByService ? [row.v2] : [],
      ),
    ),
    /** Finds what the sent fields would change in it. */
    compare: compileCompare(action.request),
  }
}

/** The field that chooses the action. Version 2 has a path for each action instead. */
export const ACTION_NAME = 'ActionName'

const VEHICLE = 'vehicles[0].'
const VIN = 'vehicles[0].vin'

/** Replaces version-2 places in the service's text with the fields that the caller sent for them. */
type NameFields = (text: string) => string

/** A place as services may write it: `pickup.zipcode`, `/vehicles/0/year`, `$.vehicles[0].year`, `pickup[zipcode]`. */
const PLACE = /(?<![\w./-])(?:\/|\$\.)?[a-z]\w*(?:[./]\w+|\[\w+\])*/gi
/** A place of one plain word may be an ordinary word. It counts only where the text speaks of validation. */
const PLAIN_WORD = /^[a-z]+$/i
const BEFORE_PLACE = /(?:\b(?:invalid|missing|required|unknown|bad|field|parameter|property)\s+["'`]?|["'`])$/i
const AFTER_PLACE =
  /^["'`]?(?:\s*:|\s+(?:must|should|cannot|may not|has to|required|missing|invalid)\b|\s+is\s+(?:an?\s|required|missing|invalid|not\s+(?:an?\s|valid|allowed|known|recognized)|unknown|malformed|empty|blank|too\s))/i

/** Compiles a request's rows into a function for the service's error messages, because a caller knows only version 1. */
function compileFieldNames(rows: readonly Row[]): NameFields {
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
    .replace(/^(?:\/|\$\.)/, '')
    .replaceAll('/', '.')
    .replace(/\[([a-z_]\w*)\]/gi, '.$1')
    .replace(/\.(\d+)(?=\.|\[|$)/g, '[$1]')
    .replace(/^(?:body|request|data)\./, '')
}
