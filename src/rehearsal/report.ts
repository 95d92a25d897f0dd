import { errorTable } from '../errors.ts'
import type { Catalog } from '../mapping/catalog.ts'
import { fieldProblems, meantField } from '../mapping/fields.ts'
import { fieldsOf, placesOf } from '../mapping/row-parts.ts'
import { escapeControls } from '../text/service-text.ts'
import { masked } from './compare.ts'
import type { RecordedFile } from './recording.ts'
import { blockOf, lineOf, OTHER_CASE, OTHERS, SAME_BOOKING, type Spot } from './rehearsal.ts'
import type { Found } from './run.ts'

/** A place in a recording: the line of a file, or the entry of a HAR. */
interface Place {
  readonly file: string
  readonly line: number
}

interface Counted {
  readonly count: number
  readonly first: Place
  readonly last: Place
  readonly example: string
  /** The callers, most frequent first. */
  readonly callers: readonly { readonly caller: string; readonly count: number }[]
}

/** One distinct problem of all calls that have it. */
export interface ReportedProblem extends Counted {
  readonly id: string
  /** What becomes of a call: it is refused, or passes with a loss, an assumption or a warning. */
  readonly kind: string
  readonly action: string
  readonly field: string
  readonly code: string
  readonly message: string
  readonly advice: string
  /** Lines for a file or the environment, where something can be set. */
  readonly paste?: string
}

export interface CallGroup {
  readonly caller: string
  readonly action: string
  readonly path: string
  readonly pass: number
  readonly lossy: number
  readonly refused: number
  readonly unseen: number
}

type Named = Counted & { readonly name: string; readonly action: string }

/** What a rehearsal found, as `--json` prints it. */
export interface Report {
  readonly version: 1
  readonly at: string
  readonly files: readonly RecordedFile[]
  readonly stopped: boolean
  readonly lines: number
  readonly unreadable: readonly (Counted & { readonly why: string })[]
  readonly calls: Omit<CallGroup, 'caller' | 'action' | 'path'> & { readonly all: number; readonly other: number }
  /** The share of calls that pass, also with a loss; null if none could be told. */
  readonly share: number | null
  readonly groups: readonly CallGroup[]
  readonly problems: readonly ReportedProblem[]
  readonly unknown: readonly (Named & { readonly means?: string })[]
  readonly unused: readonly {
    readonly action: string
    readonly name: string
    readonly why: string
    readonly count: number
  }[]
  readonly fallbacks: {
    readonly vehicle_types: readonly Named[]
    readonly states: readonly Named[]
    readonly actions: readonly Named[]
  }
  readonly habits: readonly (Counted & { readonly habit: string })[]
  readonly load: {
    readonly hours: readonly { readonly hour: string; readonly count: number }[]
    readonly peak: { readonly count: number; readonly at: string } | null
    readonly peaks: readonly {
      readonly caller: string
      readonly count: number
      readonly at: string
      readonly limit: number | null
    }[]
    readonly largestBody: number
    readonly bodyLimit: number
    readonly largestReply: number
    readonly inFlightLimit: number
  }
  readonly sameBookings: Counted | null
  readonly otherCase: Counted | null
  /** The share of equal fields among those that are no noise; null if none was compared. */
  readonly equal: number | null
  readonly compared: readonly {
    readonly action: string
    readonly field: string
    readonly equal: number
    readonly differs: number
    readonly noise: number
    readonly examples: readonly string[]
  }[]
  readonly changes?: Changes
}

/** What differs from an earlier report. */
export interface Changes {
  readonly since: string
  readonly share: number | null
  readonly appeared: readonly string[]
  readonly gone: readonly string[]
}

const HOUR_MS = 3_600_000
const MOST_SHOWN = 1_000

/** Makes the report of a run. */
export function reportOf(
  { tally, peaks, blocks, rehearsal }: Found,
  files: readonly RecordedFile[],
  stopped: boolean,
  now: Date,
): Report {
  const { catalog, config, limits } = rehearsal
  const place = (at: number): Place => {
    const { file, linesBefore } = blocks[blockOf(at)] ?? { file: 0, linesBefore: 0 }
    return { file: files[file]?.name ?? '', line: linesBefore + lineOf(at) + 1 }
  }
  const counted = ({ count, first, last, example, callers }: Spot): Counted => ({
    count,
    first: place(first),
    last: place(last),
    example,
    callers: [...callers]
      .map(([caller, times]) => ({ caller, count: times }))
      .sort((one, other) => other.count - one.count),
  })
  const rows = (name: keyof typeof tally.tables) =>
    [...tally.tables[name]]
      .sort(([, one], [, other]) => other.count - one.count || one.first - other.first)
      .slice(0, MOST_SHOWN)
      .map(([key, spot]) => ({ parts: key.split('\t'), ...counted(spot) }))
  const named = (name: 'vehicles' | 'states') =>
    rows(name).map(({ parts: [, ..._], ...one }) => ({ name: one.example, action: '', ...one }))
  const groups = [...tally.calls].map(([key, [pass, lossy, refused, unseen]]): CallGroup => {
    const [caller = '', action = '', path = ''] = key.split('\t')
    return { caller, action, path, pass, lossy, refused, unseen }
  })
  const sum = (what: 'pass' | 'lossy' | 'refused' | 'unseen') => groups.reduce((all, group) => all + group[what], 0)
  const calls = { pass: sum('pass'), lossy: sum('lossy'), refused: sum('refused'), unseen: sum('unseen') }
  const told = calls.pass + calls.lossy + calls.refused
  const compared = comparedOf(rows('compared'))
  const joined = (key: string) => {
    const spot = tally.tables.joins.get(key)
    return spot ? counted(spot) : null
  }
  return {
    version: 1,
    at: now.toISOString(),
    files,
    stopped,
    lines: tally.lines,
    unreadable: rows('unreadable').map(({ parts: [why = ''], ...one }) => ({ why, ...one })),
    calls: { all: told + calls.unseen, ...calls, other: tally.other },
    share: told === 0 ? null : (calls.pass + calls.lossy) / told,
    groups: groups.sort((one, other) => other.refused - one.refused || other.pass + other.lossy - one.pass - one.lossy),
    problems: rows('problems').map(({ parts: [kind = '', action = '', field = '', code = ''], ...one }) => {
      const problem = { id: [kind, action, field, code].filter(Boolean).join(' '), kind, action, field, code, ...one }
      return { ...problem, ...describe(problem, catalog, config.LEGACY_BASE_PATHS) }
    }),
    unknown: rows('unknown').map(({ parts: [action = '', field = ''], ...one }) => {
      const means = meantField(field, catalog.actions.get(action)?.fields.names ?? [])
      return { action, name: plainName(field), ...one, ...(means !== undefined && { means }) }
    }),
    unused: [...tally.sent]
      .flatMap(([action, counts]) => unusedOf(catalog, action, counts))
      .sort((one, other) => other.count - one.count),
    fallbacks: {
      vehicle_types: named('vehicles'),
      states: named('states'),
      actions: rows('actions').map(({ parts: [path = ''], ...one }) => ({
        name: one.example,
        action: catalog.endpoints.get(path.toLowerCase())?.actions[0]?.action.name ?? '',
        ...one,
      })),
    },
    habits: rows('habits').map(({ parts: [habit = ''], ...one }) => ({ habit, ...one })),
    load: {
      hours: [...tally.hours]
        .sort(([one], [other]) => one - other)
        .map(([hour, count]) => ({ hour: new Date(hour * HOUR_MS).toISOString(), count })),
      peak: peakOf(peaks.get('')),
      peaks: [...peaks]
        .flatMap(([caller, { count, second }]) =>
          caller === ''
            ? []
            : [
                {
                  caller,
                  count,
                  at: new Date(second * 1000).toISOString(),
                  limit: limits.get(caller)?.per_second ?? null,
                },
              ],
        )
        .sort((one, other) => other.count - one.count)
        .slice(0, MOST_SHOWN),
      largestBody: tally.largestBody,
      bodyLimit: config.BODY_LIMIT_BYTES,
      largestReply: tally.largestReply,
      inFlightLimit: config.MAX_IN_FLIGHT,
    },
    sameBookings: joined(SAME_BOOKING),
    otherCase: joined(OTHER_CASE),
    equal: equalShare(compared),
    compared,
  }
}

const peakOf = (peak: { count: number; second: number } | undefined) =>
  peak ? { count: peak.count, at: new Date(peak.second * 1000).toISOString() } : null

/** A name of a field may itself hold a value, where a body was garbled. */
const plainName = (name: string): string => (/^[\w .[\]-]{1,64}$/.test(name) || name === OTHERS ? name : masked(name))

function unusedOf(catalog: Catalog, name: string, counts: readonly number[]) {
  const compiled = catalog.actions.get(name)
  if (!compiled) return []
  const { action, fields } = compiled
  return fields.names.flatMap((field, slot) => {
    const row = [...action.request, ...(action.remember ?? [])].find((one) => fieldsOf(one).includes(field))
    const count = counts[slot] ?? 0
    return row?.kind === 'v1Only' && count > 0 ? [{ action: name, name: field, why: row.why, count }] : []
  })
}

function comparedOf(rows: readonly (Counted & { readonly parts: readonly string[] })[]): Report['compared'] {
  const groups = Map.groupBy(rows, ({ parts: [action, field] }) => `${action}\t${field}`)
  return [...groups].map(([key, all]) => {
    const [action = '', field = ''] = key.split('\t')
    const of = (verdict: string) =>
      all.filter(({ parts }) => parts[2] === verdict).reduce((count, one) => count + one.count, 0)
    const examples = all.flatMap(({ example }) => (example === '' ? [] : [example]))
    return { action, field, equal: of('equal'), differs: of('differs'), noise: of('noise'), examples }
  })
}

function equalShare(compared: Report['compared']): number | null {
  const sum = (what: 'equal' | 'differs') => compared.reduce((all, one) => all + one[what], 0)
  return compared.length === 0 || sum('equal') + sum('differs') === 0
    ? null
    : sum('equal') / (sum('equal') + sum('differs'))
}

type Described = Pick<ReportedProblem, 'message' | 'advice' | 'paste'>

const CALLER = 'Tell the callers below: '

/** Says what a problem is, and what to do about it. */
function describe(
  { kind, action: name, field, code, example }: Omit<ReportedProblem, keyof Described>,
  catalog: Catalog,
  prefixes: readonly string[],
): Described {
  const action = catalog.actions.get(name)?.action
  const rows = [...(action?.request ?? []), ...(action?.remember ?? [])]
  const row = rows.find((one) => fieldsOf(one).includes(field) || placesOf(one).includes(field))
  const codec = row && 'codec' in row ? row.codec : undefined
  if (kind === 'refused') {
    const title = Object.hasOwn(errorTable, code) ? errorTable[code as keyof typeof errorTable].title : undefined
    switch (code) {
      case 'action-unknown':
        return {
          message: 'ActionName is not known on this path',
          advice: 'Add it to LOOKUPS_FILE, or to "actions" of the tenant, with the action that it means:',
          paste: json({ actions: { [example]: 'quote.get' } }),
        }
      case 'path-unknown': {
        const prefix = knownPrefix(field, catalog)
        return prefix === undefined
          ? { message: `${field} is no path of version 1`, advice: `${CALLER}no version-1 script has this name` }
          : {
              message: `${field} is below a prefix that is not served`,
              advice: 'Serve it:',
              paste: `LEGACY_BASE_PATHS=${[...prefixes, prefix].map((one) => one || '/').join(',')}`,
            }
      }
      case 'credential-wrong':
        return {
          message: 'no tenant has this client id',
          advice: 'Add it to the credentials of its tenant in TENANTS_FILE:',
          paste: json({ credentials: [{ id: example, secret_hash: '<transload tenants hash>' }] }),
        }
      case 'body-too-large':
        return {
          message: 'the body is larger than BODY_LIMIT_BYTES',
          advice: 'Allow it, or tell the callers below:',
          paste: `BODY_LIMIT_BYTES=${Number(example) || 1_048_576}`,
        }
      case 'required':
        return {
          message: `${field} is required, or what stands for it`,
          advice: `${CALLER}${field} is missing. If it has another name there, a mapping of your own can read it (MAPPINGS_DIR).`,
        }
      default: {
        const own = Object.hasOwn(fieldProblems, code)
          ? fieldProblems[code as keyof typeof fieldProblems]
          : codec?.problem
        const message = field === '' ? (title ?? code) : `${field} ${own ?? title ?? code}`
        return { message, advice: `${CALLER}${message}. A mapping of your own can read other values (MAPPINGS_DIR).` }
      }
    }
  }
  if (code === 'assumed' && row && 'fallbacks' in row && (row.kind === 'lookup' || placesOf(row).includes(field))) {
    const isLookup = row.kind === 'lookup'
    const setting = row.fallbacks.find((one) => one.kind === 'setting')
    const key = setting?.kind === 'setting' ? setting.setting : field
    return {
      message: `${field} is assumed: ${isLookup ? `the table ${row.table} knows no value that was sent` : `no ${fieldsOf(row)[0]} was sent`}`,
      advice: isLookup
        ? 'Add the values below to LOOKUPS_FILE (--lookups FILE writes it), or set what is assumed for the tenant:'
        : 'Set what is assumed for the tenant, if it is not this:',
      paste: json({ defaults: { [key]: key === 'transport_type' ? 'open' : 'car' } }),
    }
  }
  const said =
    { lossy: 'loses a part', assumed: 'is read with an assumption', warning: 'has a doubtful value, which is sent on' }[
      kind
    ] ?? kind
  return {
    message: `${field} ${said}${codec ? `: ${codec.summary}` : ''}`,
    advice:
      kind === 'warning' ? `${CALLER}the value of ${field} is unusual` : 'Nothing, if the service does not need it.',
  }
}

const json = (value: unknown): string => JSON.stringify(value)

function knownPrefix(path: string, { endpoints }: Catalog): string | undefined {
  const end = path.replace(/\/+$/, '').lastIndexOf('/')
  return end > 0 && endpoints.has(path.slice(end).replace(/\/+$/, '').toLowerCase()) ? path.slice(0, end) : undefined
}

/** Compares a report with an earlier one. */
export function changesSince(before: Report, now: Report): Changes {
  const idsOf = ({ problems, unknown }: Report) => [
    ...problems.map(({ id }) => id),
    ...unknown.map(({ action, name }) => `unknown ${action} ${name}`),
  ]
  const [old, own] = [new Set(idsOf(before)), new Set(idsOf(now))]
  return {
    since: before.at,
    share: before.share,
    appeared: [...own].filter((id) => !old.has(id)),
    gone: [...old].filter((id) => !own.has(id)),
  }
}

/** Returns the values that no table knows as a `LOOKUPS_FILE`, most frequent first; each means what is assumed today. */
export function lookupsOf({ tally, rehearsal: { config, catalog } }: Found): string {
  const keys = (name: 'vehicles' | 'actions') =>
    [...tally.tables[name]]
      .sort(([, one], [, other]) => other.count - one.count)
      .flatMap(([key]) => (key === OTHERS ? [] : [key]))
  const actions = keys('actions').map((key) => {
    const [path = '', name = ''] = key.split('\t')
    return [name, catalog.endpoints.get(path.toLowerCase())?.actions[0]?.action.name ?? '']
  })
  const types = keys('vehicles').map((value) => [value, config.DEFAULT_VEHICLE_TYPE])
  return `${JSON.stringify({ vehicle_types: Object.fromEntries(types), actions: Object.fromEntries(actions) }, null, 2)}\n`
}

const grouped = (value: number): string => value.toLocaleString('en-US')
const several = (value: number, noun: string): string => `${grouped(value)} ${noun}${value === 1 ? '' : 's'}`
const shareText = (share: number | null): string =>
  share === null ? 'no call could be told' : `${Math.floor(share * 100_000) / 1000} %`
const at = ({ file, line }: Place): string => `${file}:${line}`
const callersText = (callers: Counted['callers']): string => {
  const [most, ...others] = callers.filter(({ caller }) => caller !== '')
  return most ? `${most.caller}${others.length > 0 ? ` and ${others.length} more` : ''}` : ''
}

/** A part of a report, for people: a heading and a table. */
export interface Section {
  readonly title: string
  readonly head: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

const ROWS_SHOWN = 20

/** Lays a report out for people: the same sections as text, as Markdown and as a page. */
export function sectionsOf(report: Report): readonly Section[] {
  const {
    groups,
    problems,
    unknown,
    unused,
    fallbacks,
    habits,
    load,
    compared,
    files,
    unreadable,
    sameBookings,
    otherCase,
    changes,
  } = report
  const numbers = (values: readonly number[]) => values.map(grouped)
  const values = (title: string, list: readonly Named[]): Section => ({
    title,
    head: ['value', 'calls', 'first'],
    rows: list.map(({ name, count, first }) => [name, grouped(count), at(first)]),
  })
  const facts: (readonly string[])[] = [
    ...(load.peak
      ? [
          [
            'most calls in a second',
            `${grouped(load.peak.count)} at ${load.peak.at}; ${grouped(load.inFlightLimit)} may be under way (MAX_IN_FLIGHT)`,
          ],
        ]
      : []),
    ...load.peaks.flatMap(({ caller, count, limit }) =>
      limit !== null && count > limit
        ? [[`most calls in a second of ${caller}`, `${grouped(count)}, and its limit is ${limit} (per_second)`]]
        : [],
    ),
    ['largest body', `${grouped(load.largestBody)} bytes; BODY_LIMIT_BYTES is ${grouped(load.bodyLimit)}`],
    ...(load.largestReply > 0 ? [['largest reply', `${grouped(load.largestReply)} bytes`]] : []),
    ...(sameBookings
      ? [
          [
            'bookings that would count as one',
            `${grouped(sameBookings.count)} without a reference, within DEDUPE_WINDOW; the first at ${at(sameBookings.first)}`,
          ],
        ]
      : []),
    ...(otherCase
      ? [
          [
            'bookings whose reference has another case than their quote',
            `${grouped(otherCase.count)}; the first at ${at(otherCase.first)}`,
          ],
        ]
      : []),
  ]
  const all: readonly Section[] = [
    {
      title: 'Files',
      head: ['file', 'format', ''],
      rows: files.map(({ name, format = '', fault = '' }) => [name, format, fault]),
    },
    {
      title: 'Lines that are no calls',
      head: ['line', 'count', 'first'],
      rows: unreadable.map(({ why, count, first }) => [why, grouped(count), at(first)]),
    },
    ...(changes
      ? [
          {
            title: `Since ${changes.since} (${shareText(changes.share)})`,
            head: ['', 'problem'],
            rows: [...changes.appeared.map((id) => ['new', id]), ...changes.gone.map((id) => ['gone', id])],
          },
        ]
      : []),
    {
      title: 'Calls',
      head: ['caller', 'action', 'path', 'pass', 'with loss', 'refused', 'not told'],
      rows: groups.map(({ caller, action, path, pass, lossy, refused, unseen }) => [
        caller,
        action,
        path,
        ...numbers([pass, lossy, refused, unseen]),
      ]),
    },
    {
      title: 'Problems',
      head: ['', 'calls', 'problem', 'example', 'first', 'last', 'callers', 'what to do'],
      rows: problems.map(({ kind, count, action, message, example, first, last, callers, advice, paste }) => [
        kind,
        grouped(count),
        `${action ? `${action}: ` : ''}${message}`,
        example,
        at(first),
        at(last),
        callersText(callers),
        `${advice}${paste ? ` ${paste}` : ''}`,
      ]),
    },
    {
      title: 'Unknown fields',
      head: ['action', 'field', 'calls', 'first', 'may mean'],
      rows: unknown.map(({ action, name, count, first, means = '' }) => [
        action,
        name,
        grouped(count),
        at(first),
        means,
      ]),
    },
    {
      title: 'Unused fields',
      head: ['action', 'field', 'calls', 'why'],
      rows: unused.map(({ action, name, count, why }) => [action, name, grouped(count), why]),
    },
    values('Vehicle types that no table knows', fallbacks.vehicle_types),
    values('States that are none', fallbacks.states),
    values('ActionNames that are not known', fallbacks.actions),
    {
      title: 'Habits',
      head: ['calls', 'habit', 'first', 'callers'],
      rows: habits.map(({ habit, count, first, callers }) => [grouped(count), habit, at(first), callersText(callers)]),
    },
    { title: 'Load', head: ['', ''], rows: facts },
    {
      title: 'Compared replies',
      head: ['action', 'field', 'equal', 'differs', 'noise', 'native → translated'],
      rows: compared.map(({ action, field, equal, differs, noise, examples }) => [
        action,
        field,
        ...numbers([equal, differs, noise]),
        examples.slice(0, 3).join(', '),
      ]),
    },
  ]
  return all.filter(({ rows }) => rows.length > 0)
}

/** Says in a sentence what a report comes to. */
export function verdictOf({ calls, share, equal, lines, stopped }: Report): string {
  const { all, pass, lossy, refused, unseen, other } = calls
  const parts = [
    `${grouped(pass)} pass`,
    `${grouped(lossy)} pass with a loss or an assumption`,
    `${grouped(refused)} would be refused`,
    ...(unseen > 0 ? [`${grouped(unseen)} cannot be told without their body`] : []),
  ]
  return `${stopped ? 'Stopped. ' : ''}${several(lines, 'line')}, ${several(all, 'call')} of version 1${other > 0 ? `, ${grouped(other)} others` : ''}: ${parts.join(', ')}. Share that passes: ${shareText(share)}.${equal === null ? '' : ` Share of compared fields that are equal: ${shareText(equal)}.`}`
}

const textCells = (cells: readonly string[], widths: readonly number[]): string =>
  cells
    .map((cell, i) => cell.padEnd(widths[i] ?? 0))
    .join('  ')
    .trimEnd()

/** Writes a report as text. A problem takes several lines. */
export function textOf(report: Report): readonly string[] {
  const sections = sectionsOf(report).flatMap(({ title, head, rows }) => {
    const shown = rows.slice(0, ROWS_SHOWN)
    const rest = rows.length > shown.length ? [`  … and ${rows.length - shown.length} more (--json has all)`] : []
    if (title === 'Problems') {
      const lines = shown.flatMap(([kind, count, problem, example, first, last, callers, advice]) => [
        `  ${count} × ${kind}  ${problem}`,
        `      ${example === '' ? '' : `such as ${example}; `}${first} to ${last}${callers === '' ? '' : `; ${callers}`}`,
        `      ${advice}`,
      ])
      return ['', title, ...lines, ...rest]
    }
    const lines = [head, ...shown]
    const widths = head.map((_, i) => Math.max(...lines.map((cells) => cells[i]?.length ?? 0)))
    return ['', title, ...(head.some(Boolean) ? lines : shown).map((cells) => `  ${textCells(cells, widths)}`), ...rest]
  })
  return [verdictOf(report), ...sections]
}

const markdownCell = (text: string): string => escapeControls(text).replace(/[\\`*_[\]<>|#]/g, '\\$&')

/** Writes a report as Markdown. */
export function markdownOf(report: Report): string {
  const row = (cells: readonly string[]) => `| ${cells.map(markdownCell).join(' | ')} |`
  const tables = sectionsOf(report).map(({ title, head, rows }) =>
    [`## ${markdownCell(title)}`, '', row(head), `|${head.map(() => '---').join('|')}|`, ...rows.map(row), ''].join(
      '\n',
    ),
  )
  return ['# Rehearsal', '', markdownCell(verdictOf(report)), '', ...tables].join('\n')
}

const xml = (text: string): string =>
  text
    .toWellFormed()
    .replace(/[^\t\n\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '?')
    .replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)

/** Writes a report as JUnit: a test for each group of calls, which fails if some are refused, and one for each problem. */
export function junitOf({ groups, problems }: Report): string {
  const cases = [
    ...groups.map(({ caller, action, path, refused }) => ({
      name: [caller, action, path].join(' '),
      failure: refused > 0 ? `${refused} would be refused` : '',
    })),
    ...problems.map(({ id, kind, count, message, first, advice, paste = '' }) => ({
      name: id,
      failure: kind === 'refused' ? `${count} × ${message}, first at ${at(first)}. ${advice} ${paste}` : '',
    })),
  ]
  const failed = cases.filter(({ failure }) => failure !== '').length
  const lines = cases.map(
    ({ name, failure }) =>
      `  <testcase classname="rehearsal" name="${xml(name)}">${failure === '' ? '' : `<failure message="${xml(failure)}"/>`}</testcase>`,
  )
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuite name="transload rehearse" tests="${cases.length}" failures="${failed}">`,
    ...lines,
    '</testsuite>',
    '',
  ].join('\n')
}

const PAGE_STYLE =
  'body{font:1rem/1.5 system-ui,sans-serif;max-width:90rem;margin:2rem auto;padding:0 1rem;color-scheme:light dark}table{border-collapse:collapse;font-size:.9rem}th,td{text-align:left;vertical-align:top;padding:.3rem 1rem .3rem 0;border-bottom:1px solid #8886;overflow-wrap:anywhere}svg{width:100%;height:10rem}.bad{fill:#c0392b}.good{fill:#1a7f37}figcaption{font-size:.85rem}'

/** Writes a report as one page that needs nothing else. */
export function pageOf(report: Report): string {
  const tables = sectionsOf(report).map(({ title, head, rows }) => {
    const cells = (tag: string, texts: readonly string[]) =>
      texts.map((text) => `<${tag}>${xml(text)}</${tag}>`).join('')
    return `<h2>${xml(title)}</h2><table><thead><tr>${cells('th', head)}</tr></thead><tbody>${rows.map((row) => `<tr>${cells('td', row)}</tr>`).join('\n')}</tbody></table>`
  })
  const { load, groups } = report
  const byCaller = [...Map.groupBy(groups, ({ caller }) => caller)]
    .map(([name, own]) => ({
      name,
      good: own.reduce((all, { pass, lossy }) => all + pass + lossy, 0),
      bad: own.reduce((all, { refused }) => all + refused, 0),
    }))
    .sort((one, other) => other.bad - one.bad)
  const pictures = [
    picture(
      'Calls by hour',
      load.hours.map(({ hour, count }) => ({ name: hour.slice(0, 'yyyy-mm-ddThh'.length), good: count, bad: 0 })),
    ),
    picture(
      'Problems by caller: calls that would be refused',
      byCaller.filter(({ bad }) => bad > 0).map((one) => ({ ...one, good: 0 })),
    ),
  ]
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'"><title>Rehearsal – Transload</title><style>${PAGE_STYLE}</style></head>
<body><h1>Rehearsal</h1><p>${xml(verdictOf(report))}</p>
${[...pictures, ...tables].join('\n')}
</body></html>
`
}

const MOST_BARS = 500

function picture(
  title: string,
  bars: readonly { readonly name: string; readonly good: number; readonly bad: number }[],
): string {
  const shown = bars.slice(0, MOST_BARS)
  const most = Math.max(1, ...shown.map(({ good, bad }) => good + bad))
  if (shown.length === 0) return ''
  const drawn = shown.map(({ name, good, bad }, i) => {
    const height = (100 * (good + bad)) / most
    return `<rect class="${bad > 0 ? 'bad' : 'good'}" x="${i}" y="${(100 - height).toFixed(2)}" width="0.8" height="${height.toFixed(2)}"><title>${xml(`${name}: ${grouped(good + bad)}`)}</title></rect>`
  })
  const ends = [shown[0]?.name ?? '', shown.at(-1)?.name ?? '']
  return `<figure><figcaption>${xml(title)}: ${xml(ends[0] === ends[1] ? (ends[0] ?? '') : ends.join(' to '))}; the highest is ${grouped(most)}</figcaption><svg viewBox="0 0 ${shown.length} 100" preserveAspectRatio="none" role="img" aria-label="${xml(title)}">${drawn.join('')}</svg></figure>`
}
