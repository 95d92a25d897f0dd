import type { Action, Alternative, Requirement } from './action.ts'
import { type Codec, LeftOut } from './codec.ts'
import { type FieldIndex, type Fields, indexFields, type Problem, type Value } from './fields.ts'
import { type Compare, compileCompare, compileOverlay, type Overlay } from './overlay.ts'
import type { Draft } from './paths.ts'
import { blankReply, compileReply } from './reply.ts'
import {
  compileRequest,
  type Explanation,
  factOf,
  type KnownFacts,
  type Note,
  type RequestStep,
  type Tables,
} from './request.ts'
import type { Row, Settings } from './row.ts'
import { fieldsOf, placesOf } from './row-parts.ts'

/** The context of a request's translation. */
export interface RequestContext {
  readonly settings: Settings
  /** The facts of the remembered quote, if there is one. */
  readonly facts: KnownFacts | undefined
  /** Receives explanations; absent in a real call. */
  readonly explanations?: Explanation[]
}

interface RequestTranslation {
  readonly body: Draft
  readonly problems: readonly Problem[]
  /** The lost, assumed and suspicious parts of the translation. */
  readonly notes: readonly Note[]
  /** The places that the caller's fields fill, each before its value. */
  readonly sent: readonly unknown[]
}

/** The context of a reply's translation. */
interface ReplyContext {
  readonly settings: Settings
  /** The caller's own number for the thing. */
  readonly own: string | undefined
  readonly explanations?: Explanation[]
}

interface ReplyTranslation {
  readonly reply: Readonly<Record<string, string>>
  /** Required places that the service did not fill. */
  readonly missing: readonly string[]
}

/** An action whose rows are compiled into steps. Pure: no clock, no store, no network. */
export interface CompiledAction {
  readonly action: Action
  readonly fields: FieldIndex
  /** By slot: the field has an effect, such as a version-2 value, a name that is resolved, or a fact that is remembered. */
  readonly hasPlace: readonly boolean[]
  /** The fields that are written to the service. */
  readonly written: readonly string[]
  /** The place of each field that one row moves. */
  readonly movedTo: ReadonlyMap<string, string>
  /** The fields of a vehicle, without its VIN. */
  readonly vehicleFields: readonly string[]
  /** Translates version 1 to version 2. */
  readonly request: (fields: Fields, context: RequestContext) => RequestTranslation
  /** Returns the facts to remember. A value that cannot be read is left out: the call does not need it. */
  readonly remember: (
    fields: Fields,
    body: Draft,
    settings: Settings,
    explanations?: Explanation[],
  ) => { readonly facts: KnownFacts; readonly problems: readonly Problem[] }
  /** Translates version 2 to version 1. */
  readonly reply: (body: unknown, context: ReplyContext) => ReplyTranslation
  /** Names the caller's fields in a message of the service. */
  readonly nameFields: NameFields
  /** Merges the sent fields into the service's current state. */
  readonly overlay: Overlay
  /** Finds what the sent fields change of it. */
  readonly compare: Compare
}

/** Compiles a checked declaration. */
export function compileAction(action: Action, tables: Tables): CompiledAction {
  const rememberRows = action.remember ?? []
  const fields = indexFields([...action.request, ...rememberRows].flatMap(fieldsOf))
  const requestSteps = [
    ...compileRequest(action.request, fields, tables),
    ...(action.requires ?? []).map((requirement) => compileRequirement(requirement, fields, action.request)),
  ]
  const rememberSteps = compileRequest(rememberRows, fields, tables)
  const replySteps = compileReply(action.reply)
  const blank = blankReply(action.reply)

  const withPlace = new Set(
    [...action.request, ...rememberRows].filter(({ kind }) => kind !== 'v1Only').flatMap(fieldsOf),
  )
  return {
    action,
    fields,
    hasPlace: fields.names.map((name) => withPlace.has(name) || name === ACTION_NAME),
    written: action.request.filter(({ kind }) => kind !== 'v1Only' && kind !== 'ref').flatMap(fieldsOf),
    movedTo: new Map(
      action.request.flatMap((row) => (row.kind === 'move' ? [[row.v1, row.v2] as const] : [])).reverse(),
    ),
    vehicleFields: action.request
      .filter((row) => placesOf(row).some((place) => place.startsWith(VEHICLE) && place !== VIN))
      .flatMap(fieldsOf),
    request: ({ values, ignored, problems: sorting }, { settings, facts, explanations }) => {
      const body: Draft = {}
      const problems = [...sorting]
      const notes: Note[] = []
      const sent: unknown[] = []
      const run = { values, facts, settings, body, problems, notes, sent, explanations }
      for (const step of requestSteps) step(run)
      for (const { fields: refused, code, problem } of ignored.length > 0 ? (action.refuses ?? []) : [])
        for (const field of ignored) {
          if (refused.test(field)) problems.push({ field, code, message: `${field} ${problem}` })
        }
      return { body, problems, notes, sent }
    },
    remember: ({ values }, body, settings, explanations) => {
      const facts: Draft = { ...body }
      const problems: Problem[] = []
      const run = { values, facts: undefined, settings, body: facts, problems, notes: [], sent: [], explanations }
      for (const step of rememberSteps) step(run)
      // The rows' codecs give strings and integers, and a quote's body is flat.
      return { facts: facts as KnownFacts, problems }
    },
    reply: (body, { settings, own, explanations }) => {
      const run = {
        body,
        own,
        settings,
        reply: { ...blank },
        missing: [] as string[],
        unreadable: [] as string[],
        explanations,
      }
      for (const step of replySteps) step(run)
      return run
    },
    nameFields: compileFieldNames(action.request),
    overlay: compileOverlay(
      [...action.request, ...action.reply].flatMap((row) =>
        row.kind === 'v2Only' && row.setByService ? [row.v2] : [],
      ),
    ),
    compare: compileCompare(action.request),
  }
}

/** The field that chooses the action: version 2 has a path for each. */
export const ACTION_NAME = 'ActionName'

const VEHICLE = 'vehicles[0].'
const VIN = 'vehicles[0].vin'

/** Compiles a rule over several fields. */
function compileRequirement({ anyOf }: Requirement, index: FieldIndex, rows: readonly Row[]): RequestStep {
  const alternatives = anyOf.map((alternative) =>
    'facts' in alternative
      ? alternative
      : alternative.map((name) => ({ slot: index.slotOf(name) ?? -1, codec: codecOf(rows, name) })),
  )
  const field = anyOf.flatMap((alternative) => ('facts' in alternative ? [] : alternative))[0] ?? ''
  const choices = anyOf.flatMap(describeFields)
  const message = `${choices.join(choices.some((choice) => choice.includes(' ')) ? ', or ' : ' or ')} is required`
  return (run) => {
    for (const alternative of alternatives) {
      let holds = true
      if ('facts' in alternative) holds = factOf(run, alternative.facts) !== undefined
      else for (const { slot, codec } of alternative) holds &&= hasValue(run.values[slot], codec)
      if (holds) return
    }
    run.problems.push({ field, code: 'required', message })
  }
}

const codecOf = (rows: readonly Row[], name: string): Codec | undefined => {
  const row = rows.find((one) => one.kind === 'move' && one.v1 === name)
  return row?.kind === 'move' ? row.codec : undefined
}

/** Reports whether a field was sent with a value that counts: `TBD` is no VIN. */
const hasValue = (value: Value, codec: Codec | undefined) =>
  value !== undefined && !(typeof value === 'string' && codec?.decode?.(value) instanceof LeftOut)

/** Returns `Year with Make and Model`; nothing for a fact, which a caller cannot send. */
function describeFields(alternative: Alternative): string[] {
  if ('facts' in alternative) return []
  const [first, ...rest] = alternative
  return [rest.length === 0 ? String(first) : `${first} with ${rest.join(' and ')}`]
}

/** Replaces version-2 places in the service's text by the fields that the caller sent for them. */
type NameFields = (text: string) => string

/** A place as services write it: `pickup.zipcode`, `/vehicles/0/year`, `body.vehicles[0].year`, `pickup[zipcode]`. */
const PLACE = /(?<![\w./-])\/?[a-z]\w*(?:[./]\w+|\[\w+\])*/gi
/** A place of one plain word may be just a word: it counts only where a validation speaks of it. */
const PLAIN_WORD = /^[a-z]+$/i
const BEFORE_PLACE = /(?:\b(?:invalid|missing|required|unknown|bad|field|parameter|property)\s+["'`]?|["'`])$/i
const AFTER_PLACE =
  /^["'`]?(?:\s*:|\s+(?:must|should|cannot|may not|has to|required|missing|invalid)\b|\s+is\s+(?:an?\s|required|missing|invalid|not\s+(?:an?\s|valid|allowed|known|recognized)|unknown|malformed|empty|blank|too\s))/i

/** Compiles the rows of a request into a function for the service's error messages: a caller knows only version 1. */
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
    .replace(/^\//, '')
    .replaceAll('/', '.')
    .replace(/\[([a-z_]\w*)\]/gi, '.$1')
    .replace(/\.(\d+)(?=\.|\[|$)/g, '[$1]')
    .replace(/^(?:body|request|data)\./, '')
}
