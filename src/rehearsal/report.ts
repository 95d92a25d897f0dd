import { html, raw } from 'hono/html'
import { errorTable } from '../errors.ts'
import { fieldProblems, meantField } from '../mapping/fields.ts'
import { fieldsOf, placesOf } from '../mapping/row-parts.ts'
import { style } from '../pages/fixed.ts'
import { grouped, shown, table } from '../pages/layout.ts'
import { escapeControls } from '../text/service-text.ts'
import { masked } from './compare.ts'
import type { RecordedFile } from './recording.ts'
import { blockOf, lineOf, OTHERS, type Spot, type TableName } from './rehearsal.ts'
import type { Found } from './run.ts'

/** A place in a recording: the line of a file, or the entry of a HAR. */
interface Place {
  readonly file: string
  readonly line: number
}

/** The findings of a rehearsal, as `--json` prints them. */
export type Report = ReturnType<typeof reportOf> & { readonly changes?: ReturnType<typeof changesSince> }

const HOUR_MS = 3_600_000
const MOST_SHOWN = 1_000

const sum = <Key extends string>(list: readonly Readonly<Record<Key, number>>[], key: Key): number =>
  list.reduce((all, one) => all + one[key], 0)
const timeOf = (ms: number): string => new Date(ms).toISOString()

/** Makes the report of a run. */
export function reportOf(found: Found, files: readonly RecordedFile[], stopped: boolean, now: Date) {
  const { tally, peaks, blocks, rehearsal } = found
  const { catalog, config, limits } = rehearsal
  const place = (at: number): Place => {
    const { file, linesBefore } = blocks[blockOf(at)] ?? { file: 0, linesBefore: 0 }
    return { file: files[file]?.name ?? '', line: linesBefore + lineOf(at) + 1 }
  }
  const counted = ({ count, first, last, example, callers }: Spot) => ({
    count,
    first: place(first),
    last: place(last),
    example,
    /** Most frequent first. */
    callers: [...callers].map(([caller, times]) => ({ caller, count: times })).sort((a, b) => b.count - a.count),
  })
  /** Returns the rows of a table, most frequent first, with the parts of their keys by these names. */
  const rows = <Part extends string>(name: TableName, ...parts: readonly Part[]) =>
    [...tally.tables[name]]
      .sort(([, one], [, other]) => other.count - one.count || one.first - other.first)
      .slice(0, MOST_SHOWN)
      .map(([key, spot]) => {
        const values = key.split('\t')
        const named = Object.fromEntries(parts.map((part, i) => [part, values[i] ?? '']))
        return { ...(named as Record<Part, string>), ...counted(spot) }
      })
  const joined = (key: string) => {
    const spot = tally.tables.joins.get(key)
    return spot ? counted(spot) : null
  }
  const groups = [...tally.calls]
    .map(([key, [pass, lossy, refused, unseen]]) => {
      const [caller = '', action = '', path = ''] = key.split('\t')
      return { caller, action, path, pass, lossy, refused, unseen }
    })
    .sort((one, other) => other.refused - one.refused || other.pass + other.lossy - one.pass - one.lossy)
  const counts = {
    pass: sum(groups, 'pass'),
    lossy: sum(groups, 'lossy'),
    refused: sum(groups, 'refused'),
    unseen: sum(groups, 'unseen'),
  }
  const told = counts.pass + counts.lossy + counts.refused
  const verdicts = rows('compared', 'action', 'field', 'verdict')
  const compared = [...Map.groupBy(verdicts, ({ action, field }) => `${action}\t${field}`)].map(([key, all]) => {
    const [action = '', field = ''] = key.split('\t')
    const of = (verdict: string) =>
      sum(
        all.filter((one) => one.verdict === verdict),
        'count',
      )
    const examples = all.flatMap(({ example }) => example || [])
    return { action, field, equal: of('equal'), differs: of('differs'), noise: of('noise'), examples }
  })
  const [equal, decided] = [sum(compared, 'equal'), sum(compared, 'equal') + sum(compared, 'differs')]
  const busiest = [...peaks]
    .map(([caller, { count, second }]) => ({
      caller,
      count,
      at: timeOf(second * 1000),
      limit: limits.get(caller)?.per_second ?? null,
    }))
    .sort((one, other) => other.count - one.count)
  const valued = (name: 'vehicles' | 'states') => rows(name).map((one) => ({ name: one.example, ...one }))
  return {
    version: 1 as const,
    at: now.toISOString(),
    files,
    stopped,
    lines: tally.lines,
    unreadable: rows('unreadable', 'why'),
    calls: { all: told + counts.unseen, ...counts, other: tally.other },
    /** The share of calls that pass, also with a loss; null if none could be told. */
    share: told === 0 ? null : (counts.pass + counts.lossy) / told,
    groups,
    problems: rows('problems', 'kind', 'action', 'field', 'code').map((one) => {
      const [message, advice, paste] = describe(one, found)
      const id = [one.kind, one.action, one.field, one.code].filter(Boolean).join(' ')
      return { id, ...one, message, advice, ...(paste !== undefined && { paste }) }
    }),
    unknown: rows('unknown', 'action', 'field').map(({ field, ...one }) => {
      const means = meantField(field, catalog.actions.get(one.action)?.fields.names ?? [])
      // A name may itself hold a value, where a body was garbled.
      const name = /^[\w .[\]-]{1,64}$/.test(field) || field === OTHERS ? field : masked(field)
      return { name, ...one, ...(means !== undefined && { means }) }
    }),
    unused: [...tally.sent]
      .flatMap(([action, sent]) => {
        const compiled = catalog.actions.get(action)
        const all = [...(compiled?.action.request ?? []), ...(compiled?.action.remember ?? [])]
        return (compiled?.fields.names ?? []).flatMap((name, slot) => {
          const row = all.find((one) => fieldsOf(one).includes(name))
          const count = sent[slot] ?? 0
          return row?.kind === 'v1Only' && count > 0 ? [{ action, name, why: row.why, count }] : []
        })
      })
      .sort((one, other) => other.count - one.count),
    fallbacks: {
      vehicle_types: valued('vehicles'),
      states: valued('states'),
      actions: rows('actions', 'path').map((one) => ({ name: one.example, ...one })),
    },
    habits: rows('habits', 'habit'),
    load: {
      hours: [...tally.hours]
        .sort(([one], [other]) => one - other)
        .map(([hour, count]) => ({ hour: timeOf(hour * HOUR_MS), count })),
      peak: busiest.find(({ caller }) => caller === '') ?? null,
      peaks: busiest.filter(({ caller }) => caller !== '').slice(0, MOST_SHOWN),
      largestBody: tally.largestBody,
      bodyLimit: config.BODY_LIMIT_BYTES,
      largestReply: tally.largestReply,
      inFlightLimit: config.MAX_IN_FLIGHT,
    },
    sameBookings: joined('same-booking'),
    otherCase: joined('other-case'),
    /** The share of equal fields among those that are no noise; null if none was compared. */
    equal: decided === 0 ? null : equal / decided,
    compared,
  }
}

/** A problem in words, advice, and lines for a file or the environment. */
type Described = readonly [message: string, advice: string, paste?: string]

const CALLER = 'Tell the callers below: '
const MAPPING = 'A mapping of your own can read'
const NOTES: Readonly<Record<string, string>> = {
  lossy: 'loses a part',
  assumed: 'is read with an assumption',
  warning: 'has a doubtful value, which is sent on',
}

function describe(
  {
    kind,
    action: name,
    field,
    code,
    example,
  }: Readonly<Record<'kind' | 'action' | 'field' | 'code' | 'example', string>>,
  { rehearsal: { catalog, config } }: Found,
): Described {
  const action = catalog.actions.get(name)?.action
  const row = [...(action?.request ?? []), ...(action?.remember ?? [])].find(
    (one) => fieldsOf(one).includes(field) || placesOf(one).includes(field),
  )
  const codec = row && 'codec' in row ? row.codec : undefined
  const key = kind === 'refused' || (code === 'assumed' && row && 'fallbacks' in row) ? code : kind
  switch (key) {
    case 'action-unknown': {
      const advice = 'Add it to LOOKUPS_FILE, or to "actions" of the tenant, with the action that it means:'
      return ['ActionName is not known on this path', advice, JSON.stringify({ actions: { [example]: 'quote.get' } })]
    }
    case 'path-unknown': {
      const path = field.replace(/\/+$/, '')
      const end = path.lastIndexOf('/')
      if (end <= 0 || !catalog.endpoints.has(path.slice(end).toLowerCase()))
        return [`${field} is no path of version 1`, `${CALLER}no version-1 script has this name`]
      const prefixes = [...config.LEGACY_BASE_PATHS, path.slice(0, end)].map((one) => one || '/')
      return [`${field} is below a prefix that is not served`, 'Serve it:', `LEGACY_BASE_PATHS=${prefixes.join(',')}`]
    }
    case 'credential-wrong': {
      const paste = { credentials: [{ id: example, secret_hash: '<transload tenants hash>' }] }
      const advice = 'Add it to the credentials of its tenant in TENANTS_FILE:'
      return ['no tenant has this client id', advice, JSON.stringify(paste)]
    }
    case 'body-too-large':
      return [
        'the body is larger than BODY_LIMIT_BYTES',
        'Allow it, or tell the callers below:',
        `BODY_LIMIT_BYTES=${Number(example) || 1_048_576}`,
      ]
    case 'required': {
      const advice = `${CALLER}${field} is missing. If it has another name there, a mapping of your own can read it (MAPPINGS_DIR).`
      return [`${field} is required, or what stands for it`, advice]
    }
    case 'assumed': {
      const setting = row && 'fallbacks' in row ? row.fallbacks.find((one) => one.kind === 'setting') : undefined
      const named = setting?.kind === 'setting' ? setting.setting : field
      const paste = JSON.stringify({ defaults: { [named]: named === 'transport_type' ? 'open' : 'car' } })
      if (row?.kind === 'lookup') {
        const advice =
          'Add the values below to LOOKUPS_FILE (--lookups FILE writes it), or set what is assumed for the tenant:'
        return [`${field} is assumed: the table ${row.table} knows no value that was sent`, advice, paste]
      }
      if (row && placesOf(row).includes(field)) {
        const message = `${field} is assumed: no ${fieldsOf(row)[0]} was sent`
        return [message, 'Set what is assumed for the tenant, if it is not this:', paste]
      }
    }
  }
  if (kind === 'refused') {
    const titles: Readonly<Record<string, { readonly title: string } | undefined>> = errorTable
    const own: Readonly<Record<string, string | undefined>> = fieldProblems
    const said = (Object.hasOwn(own, code) && own[code]) || titles[code]?.title || code
    const message =
      field === ''
        ? (titles[code]?.title ?? code)
        : `${field} ${Object.hasOwn(own, code) ? said : (codec?.problem ?? said)}`
    return [message, `${CALLER}${message}. ${MAPPING} other values (MAPPINGS_DIR).`]
  }
  const advice =
    kind === 'warning' ? `${CALLER}the value of ${field} is unusual` : 'Nothing, if the service does not need it.'
  return [`${field} ${NOTES[kind] ?? kind}${codec ? `: ${codec.summary}` : ''}`, advice]
}

/** Compares a report with an earlier one. */
export function changesSince(before: Report, now: Report) {
  const idsOf = ({ problems, unknown }: Report) =>
    new Set([...problems.map(({ id }) => id), ...unknown.map(({ action, name }) => `unknown ${action} ${name}`)])
  const [old, own] = [idsOf(before), idsOf(now)]
  return { since: before.at, share: before.share, appeared: [...own.difference(old)], gone: [...old.difference(own)] }
}

/** Returns the values that no table knows as a `LOOKUPS_FILE`, most frequent first; each means what is assumed today. */
export function lookupsOf({ tally, rehearsal: { config, catalog } }: Found): string {
  const keys = (name: 'vehicles' | 'actions') =>
    [...tally.tables[name]]
      .sort(([, one], [, other]) => other.count - one.count)
      .flatMap(([key]) => (key === OTHERS ? [] : [key.split('\t')]))
  const actions = keys('actions').map(([path = '', name = '']) => [
    name,
    catalog.endpoints.get(path.toLowerCase())?.actions[0]?.action.name ?? '',
  ])
  const types = keys('vehicles').map(([value]) => [value, config.DEFAULT_VEHICLE_TYPE])
  const lookups = { vehicle_types: Object.fromEntries(types), actions: Object.fromEntries(actions) }
  return `${JSON.stringify(lookups, null, 2)}\n`
}

const several = (value: number, noun: string): string => `${grouped(value)} ${noun}${value === 1 ? '' : 's'}`
const shareText = (share: number | null): string =>
  share === null ? 'no call could be told' : `${Math.floor(share * 100_000) / 1000} %`
const at = ({ file, line }: Place): string => `${file}:${line}`

/** A part of a report, for people: a heading and a table. */
interface Section {
  readonly title: string
  readonly head: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

/** The headings of columns that are not named as their members. */
const HEADINGS: Readonly<Record<string, string>> = {
  count: 'calls',
  fact: '',
  fault: '',
  lossy: 'with loss',
  unseen: 'not told',
  message: 'problem',
  advice: 'what to do',
  means: 'may mean',
  examples: 'native → translated',
}

/** Writes any value of a report for people. */
function cellOf(value: unknown): string {
  if (typeof value === 'number') return grouped(value)
  if (Array.isArray(value)) {
    if (typeof value[0] === 'string') return value.slice(0, 3).join(', ')
    const [most, ...others] = value.flatMap(({ caller }: { readonly caller: string }) => caller || [])
    return most ? `${most}${others.length > 0 ? ` and ${others.length} more` : ''}` : ''
  }
  // The only objects are places.
  return typeof value === 'object' && value !== null ? at(value as Place) : String(value ?? '')
}

/** Lays a report out for people: the same sections as text, as Markdown and as a page. */
function sectionsOf({ load, changes, fallbacks, ...report }: Report): readonly Section[] {
  const { peak, peaks } = load
  const facts = [
    peak && [
      'most calls in a second',
      `${grouped(peak.count)} at ${peak.at}; ${grouped(load.inFlightLimit)} may be under way (MAX_IN_FLIGHT)`,
    ],
    ...peaks.map(({ caller, count, limit }) =>
      limit !== null && count > limit
        ? [`most calls in a second of ${caller}`, `${grouped(count)}, and its limit is ${limit} (per_second)`]
        : null,
    ),
    ['largest body', `${grouped(load.largestBody)} bytes; BODY_LIMIT_BYTES is ${grouped(load.bodyLimit)}`],
    load.largestReply > 0 ? ['largest reply', `${grouped(load.largestReply)} bytes`] : null,
    ...(['sameBookings', 'otherCase'] as const).map((key) => {
      const found = report[key]
      return found && [JOINED[key], `${grouped(found.count)}; the first at ${at(found.first)}`]
    }),
  ].flatMap((fact) => (fact ? [{ fact: fact[0], '': fact[1] }] : []))
  const changed = [
    ...(changes?.appeared.map((id) => ({ '': 'new', problem: id })) ?? []),
    ...(changes?.gone.map((id) => ({ '': 'gone', problem: id })) ?? []),
  ]
  const problems = report.problems.map(({ action, message, advice, paste, ...one }) => ({
    ...one,
    message: action ? `${action}: ${message}` : message,
    advice: paste === undefined ? advice : `${advice} ${paste}`,
  }))
  const parts: readonly (readonly [
    title: string,
    list: readonly Readonly<Record<string, unknown>>[],
    columns: string,
  ])[] = [
    ['Files', report.files.map(({ name, ...file }) => ({ file: name, ...file })), 'file format fault'],
    ['Lines that are no calls', report.unreadable, 'why count first'],
    [`Since ${changes?.since} (${shareText(changes?.share ?? null)})`, changed, ' problem'],
    ['Calls', report.groups, 'caller action path pass lossy refused unseen'],
    [PROBLEMS, problems, 'kind count message example first last callers advice'],
    ['Unknown fields', report.unknown, 'action name count first means'],
    ['Unused fields', report.unused, 'action name count why'],
    ['Vehicle types that no table knows', fallbacks.vehicle_types, 'name count first'],
    ['States that are none', fallbacks.states, 'name count first'],
    ['ActionNames that are not known', fallbacks.actions, 'name count first'],
    ['Habits', report.habits, 'count habit first callers'],
    ['Load', facts, 'fact '],
    ['Compared replies', report.compared, 'action field equal differs noise examples'],
  ]
  return parts.flatMap(([title, list, columns]) => {
    const keys = columns.split(' ')
    const head = keys.map((key) => HEADINGS[key] ?? key)
    const rows = list.map((one) => keys.map((key) => cellOf(one[key])))
    return rows.length > 0 ? [{ title, head, rows }] : []
  })
}

const PROBLEMS = 'Problems'
const JOINED = {
  sameBookings: 'bookings without a reference that would count as one, within DEDUPE_WINDOW',
  otherCase: 'bookings whose reference has another case than their quote',
}

/** Says in a sentence what a report comes to. */
function verdictOf({ calls, share, equal, lines, stopped }: Report): string {
  const { all, pass, lossy, refused, unseen, other } = calls
  const others = other > 0 ? `, ${grouped(other)} others` : ''
  const untold = unseen > 0 ? `, ${grouped(unseen)} cannot be told without their body` : ''
  const same = equal === null ? '' : ` Share of compared fields that are equal: ${shareText(equal)}.`
  return `${stopped ? 'Stopped. ' : ''}${several(lines, 'line')}, ${several(all, 'call')} of version 1${others}: ${grouped(pass)} pass, ${grouped(lossy)} pass with a loss or an assumption, ${grouped(refused)} would be refused${untold}. Share that passes: ${shareText(share)}.${same}`
}

const ROWS_SHOWN = 20

/** Writes a report as text. A problem takes several lines. */
export function textOf(report: Report): readonly string[] {
  const sections = sectionsOf(report).flatMap(({ title, head, rows }) => {
    const few = rows.slice(0, ROWS_SHOWN)
    const rest = rows.length > few.length ? [`  … and ${rows.length - few.length} more (--json has all)`] : []
    const widths = head.map((_, i) => Math.max(...[head, ...few].map((cells) => cells[i]?.length ?? 0)))
    const lines =
      title === PROBLEMS
        ? few.flatMap(([kind, count, problem, example, first, last, callers, advice]) => [
            `${count} × ${kind}  ${problem}`,
            `    ${example && `such as ${example}; `}${first} to ${last}${callers && `; ${callers}`}`,
            `    ${advice}`,
          ])
        : [...(head.some(Boolean) ? [head] : []), ...few].map((cells) =>
            cells
              .map((cell, i) => cell.padEnd(widths[i] ?? 0))
              .join('  ')
              .trimEnd(),
          )
    return ['', title, ...lines.map((line) => `  ${line}`), ...rest]
  })
  return [verdictOf(report), ...sections]
}

/** Writes a report as Markdown. */
export function markdownOf(report: Report): string {
  const cell = (text: string) => escapeControls(text).replace(/[\\`*_[\]<>|#]/g, '\\$&')
  const row = (cells: readonly string[]) => `| ${cells.map(cell).join(' | ')} |`
  const tables = sectionsOf(report).map(({ title, head, rows }) =>
    [`## ${cell(title)}`, '', row(head), row(head).replace(/[^|]+/g, '---'), ...rows.map(row), ''].join('\n'),
  )
  return ['# Rehearsal', '', cell(verdictOf(report)), '', ...tables].join('\n')
}

const xml = (text: string): string =>
  text
    .toWellFormed()
    .replace(/[^\t\n\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '?')
    .replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)

/** Writes a report as JUnit: a test for each group of calls, which fails if some are refused, and one for each problem. */
export function junitOf({ groups, problems }: Report): string {
  const cases = [
    ...groups.map(({ caller, action, path, refused }) => [
      [caller, action, path].join(' '),
      refused > 0 ? `${refused} would be refused` : '',
    ]),
    ...problems.map(({ id, kind, count, message, first, advice, paste = '' }) => [
      id,
      kind === 'refused' ? `${count} × ${message}, first at ${at(first)}. ${advice} ${paste}` : '',
    ]),
  ]
  const lines = cases.map(
    ([name = '', failure = '']) =>
      `<testcase classname="rehearsal" name="${xml(name)}">${failure && `<failure message="${xml(failure)}"/>`}</testcase>\n`,
  )
  const failed = cases.filter(([, failure]) => failure !== '').length
  return `<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="transload rehearse" tests="${cases.length}" failures="${failed}">
${lines.join('')}</testsuite>
`
}

/** Writes a report as one page that needs nothing else. */
export function pageOf(report: Report): string {
  const tables = sectionsOf(report).map(
    ({ title, head, rows }) =>
      html`<h2>${shown(title)}</h2>${table(
        shown(title),
        head.map((name, i) => ({ title: name, cell: (row: readonly string[]) => shown(row[i] ?? '') })),
        rows,
      )}`,
  )
  const refused = [...Map.groupBy(report.groups, ({ caller }) => caller)]
    .map(([name, own]) => ({ name, count: sum(own, 'refused') }))
    .filter(({ count }) => count > 0)
    .sort((one, other) => other.count - one.count)
  const hours = report.load.hours.map(({ hour, count }) => ({ name: hour.slice(0, 'yyyy-mm-ddThh'.length), count }))
  return `${html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'"><title>Rehearsal – Transload</title><style>${raw(style.body)}</style></head>
<body><main><h1>Rehearsal</h1><p>${shown(verdictOf(report))}</p>
${picture('Calls by hour', 'good', hours)}
${picture('Problems by caller: calls that would be refused', 'bad', refused)}
${tables}
</main></body></html>
`}`
}

const MOST_BARS = 500

function picture(title: string, kind: string, all: readonly { readonly name: string; readonly count: number }[]) {
  const bars = all.slice(0, MOST_BARS)
  const most = Math.max(1, ...bars.map(({ count }) => count))
  const drawn = bars.map(({ name, count }, i) => {
    const height = (100 * count) / most
    return html`<rect class="${kind}" fill="var(--${kind})" x="${i}" y="${100 - height}" width="0.8" height="${height}"><title>${shown(name)}: ${grouped(count)}</title></rect>`
  })
  const ends = [...new Set([bars[0]?.name, bars.at(-1)?.name])].join(' to ')
  return bars.length === 0
    ? ''
    : html`<figure><figcaption>${title}: ${shown(ends)}; the highest is ${grouped(most)}</figcaption><svg viewBox="0 0 ${bars.length} 100" width="100%" height="160" preserveAspectRatio="none" role="img" aria-label="${title}">${drawn}</svg></figure>`
}
