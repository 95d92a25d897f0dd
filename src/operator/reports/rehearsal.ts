import { html, raw } from 'hono/html'
import { masked } from '../../labs/rehearse/compare.ts'
import type { RecordedFile } from '../../labs/rehearse/recording.ts'
import { HIDDEN, OTHERS, type Rehearsal, type Spot, type Table } from '../../labs/rehearse/rehearsal.ts'
import { fieldProblems, looseName, meantField } from '../../language/mapping/fields.ts'
import { fieldsOf, placesOf } from '../../language/mapping/row-parts.ts'
import { keptFields } from '../../runtime/recorder.ts'
import { style } from '../pages/fixed.ts'
import { type Column, type Html, named, shareBar, shown, table, textTable } from '../pages/layout.ts'
import { aligned, errorTitle, grouped, largestFirst, plural, titled, total } from '../words.ts'
import { tableOf } from './tables.ts'
import { percent } from './verdict.ts'

/** The findings of a rehearsal, as `--json` prints them. */
export type Report = ReturnType<typeof reportOf>

const MOST_SHOWN = 1_000

/** Returns the rows of a table, most frequent first, with the texts that tell them apart by these names. */
const rowsOf = <Part extends string>(table: Table, ...names: readonly Part[]) =>
  [...table.values()]
    .sort(largestFirst('count'))
    .slice(0, MOST_SHOWN)
    .map(({ parts, callers, ...spot }: Spot) => ({
      // Each name has its text.
      ...(Object.fromEntries(names.map((name, i) => [name, parts[i] ?? ''])) as Record<Part, string>),
      ...spot,
      /** Most frequent first. */
      callers: [...callers].map(([caller, count]) => ({ caller, count })).sort(largestFirst('count')),
    }))

/** Makes the report of a run. */
export function reportOf(rehearsal: Rehearsal, files: readonly RecordedFile[], stopped: boolean, now: Date) {
  const { tally, catalog } = rehearsal
  const groups = [...tally.calls]
    .map(([key, outcomes]) => {
      const [caller = '', action = '', path = ''] = key.split('\t')
      return { caller, action, path, ...outcomes }
    })
    .sort((one, other) => other.refused - one.refused || other.pass + other.lossy - one.pass - one.lossy)
  const [pass, lossy] = [total(groups, 'pass'), total(groups, 'lossy')]
  const [refused, unseen] = [total(groups, 'refused'), total(groups, 'unseen')]
  const told = pass + lossy + refused
  const verdicts = rowsOf(tally.compared, 'action', 'field', 'verdict')
  const compared = [...Map.groupBy(verdicts, ({ action, field }) => `${action}\t${field}`)].map(([key, all]) => {
    const [action = '', field = ''] = key.split('\t')
    const of = (verdict: string) => all.find((one) => one.verdict === verdict)?.count ?? 0
    const examples = all.flatMap(({ example }) => example || [])
    return { action, field, equal: of('equal'), differs: of('differs'), noise: of('noise'), examples }
  })
  const equal = total(compared, 'equal')
  const decided = equal + total(compared, 'differs')
  return {
    version: 1 as const,
    at: now.toISOString(),
    files,
    stopped,
    lines: tally.lines,
    unreadable: rowsOf(tally.unreadable, 'why'),
    calls: { all: told + unseen, pass, lossy, refused, unseen, other: tally.other },
    /** The share of calls that pass, also with a loss; null if none could be told. */
    share: told === 0 ? null : (pass + lossy) / told,
    groups,
    problems: rowsOf(tally.problems, 'kind', 'action', 'field', 'code', 'words').map(({ words, ...one }) => {
      const [message, advice] = describe({ ...one, words }, rehearsal)
      const id = [one.kind, one.action, one.field, one.code].filter(Boolean).join(' ')
      return { id, ...one, message, advice }
    }),
    unknown: rowsOf(tally.unknown, 'action', 'field').map(({ field, ...one }) => {
      const means = meantField(field, catalog.actions.get(one.action)?.fields.names ?? [])
      // A name may itself hold a value, where a body was garbled.
      const name = /^[\w .[\]-]{1,64}$/.test(field) || field === OTHERS ? field : masked(field)
      return { name, ...one, means }
    }),
    vehicleTypes: rowsOf(tally.vehicles),
    actionNames: rowsOf(tally.actions, 'path'),
    /** The share of equal fields among those that are no noise; null if none was compared. */
    equal: decided === 0 ? null : equal / decided,
    compared,
  }
}

const CALLER = 'Tell the callers: '
const NOTES: Readonly<Record<string, string>> = {
  lossy: 'is partly lost',
  assumed: 'is partly assumed',
  warning: 'has an unusual value, which is sent anyway',
}

/** Says a problem in words, and what to do. No advice has a value of a caller: it would be masked, and wrong. */
function describe(
  { kind, action: name, field, code, words }: Readonly<Record<'kind' | 'action' | 'field' | 'code' | 'words', string>>,
  { catalog, config }: Rehearsal,
): readonly [message: string, advice: string] {
  const action = catalog.actions.get(name)?.action
  const row = [...(action?.request ?? []), ...(action?.remember ?? [])].find(
    (one) => fieldsOf(one).includes(field) || placesOf(one).includes(field),
  )
  const codec = row && 'codec' in row ? row.codec : undefined
  const key = kind === 'refused' || (code === 'assumed' && row && 'fallbacks' in row) ? code : kind
  switch (key) {
    case 'action-unknown':
      return [
        'ActionName is unknown on this path',
        'Add it to LOOKUPS_FILE (--lookups FILE writes it there for you to edit), or to the tenant\'s "actions".',
      ]
    case 'path-unknown': {
      const end = field.lastIndexOf('/')
      const prefix = field.slice(0, end)
      if (!catalog.endpoints.has(field.slice(end).toLowerCase()))
        return [`${field} is not a version-1 path`, `${CALLER}no version-1 script has this name.`]
      const served = [...config.LEGACY_BASE_PATHS, prefix].map((one) => one || '/').join(',')
      const advice = prefix.includes(HIDDEN) ? 'Add its prefix to LEGACY_BASE_PATHS.' : `LEGACY_BASE_PATHS=${served}`
      return [`${field} is below a prefix that is not served`, advice]
    }
    case 'credential-wrong':
      return [
        'no tenant has this client id',
        'Add it to the credentials of its tenant in TENANTS_FILE, with the hash that "transload tenants hash" prints.',
      ]
    case 'body-too-large':
      return ['the body is larger than BODY_LIMIT_BYTES', 'Raise it, or tell the callers.']
    case 'required':
      return [
        `${field} or an alternative is required`,
        `${CALLER}${field} is missing. If they send it under another name, your own mapping can read it (MAPPINGS_DIR).`,
      ]
    case 'assumed': {
      const fallbacks = row && 'fallbacks' in row ? row.fallbacks : []
      const [named] = fallbacks.flatMap((one) => ('setting' in one ? one.setting : []))
      // What a quote remembered only in part has no setting.
      if (named === undefined) break
      const defaults = `set DEFAULT_${named.toUpperCase()}, or the tenant's "defaults".`
      if (row?.kind === 'lookup')
        return [
          `${field} is assumed: no value from the table ${row.table} was sent in ${row.sources.map(({ v1 }) => v1).join(', ')}`,
          `Add its values to LOOKUPS_FILE (--lookups FILE writes them there for you to edit), or ${defaults}`,
        ]
      if (row && placesOf(row).includes(field))
        return [`${field} is assumed: no ${fieldsOf(row)[0]} was sent`, `If that is wrong, ${defaults}`]
    }
  }
  if (kind === 'refused') {
    const own: Readonly<Record<string, string | undefined>> = fieldProblems
    const title = errorTitle(code)
    if (words !== '' || field === '') return [words || title, `${CALLER}${words || title}.`]
    const message = `${field} ${Object.hasOwn(own, code) ? own[code] : (codec?.problem ?? title)}`
    return [message, `${CALLER}${message}. Your own mapping can read other values (MAPPINGS_DIR).`]
  }
  const advice =
    kind === 'warning' ? `${CALLER}the value of ${field} is unusual.` : 'Nothing, if the service does not need it.'
  return [`${field} ${NOTES[kind] ?? kind}${codec ? `: ${codec.summary}` : ''}`, advice]
}

/**
 * Returns the values that no table knows as a `LOOKUPS_FILE`, most frequent first; each means what is assumed today. Words of a
 * free text are left out: a recording may have masked them.
 */
export function lookupsOf({ tally, config, catalog }: Rehearsal): string {
  const actions = rowsOf(tally.actions, 'path', 'name')
    .filter(({ path }) => path !== OTHERS)
    .map(({ path, name }) => [name, catalog.endpoints.get(path.toLowerCase())?.actions[0]?.action.name ?? ''])
  const { whole } = keptFields({ catalog, LOOKUPS_FILE: config.LOOKUPS_FILE })
  const types = rowsOf(tally.vehicles, 'value', 'field')
    .filter(({ field }) => whole.has(looseName(field)))
    .map(({ value }) => [value, config.DEFAULT_VEHICLE_TYPE])
  const lookups = { vehicle_types: Object.fromEntries(types), actions: Object.fromEntries(actions) }
  return `${JSON.stringify(lookups, null, 2)}\n`
}

/** `0.29 * 100_000` is less than 29,000. */
const ROUNDING = 1e-7

const shareText = (share: number | null): string =>
  share === null ? 'no call could be judged' : `${Math.floor(share * 100_000 + ROUNDING) / 1000} %`

/** The headings of columns that are not named as their members. */
const HEADINGS: Readonly<Record<string, string>> = {
  count: 'calls',
  fault: '',
  lossy: 'with loss',
  unseen: 'not judged',
  message: 'problem',
  advice: 'what to do',
  means: 'may mean',
  examples: 'native → translated',
}

const PROBLEM_COLUMNS = 'kind count message example first last callers advice'

/** Lays a report out for people, refusals first: the same tables with a title as text and as a page. */
function sectionsOf(report: Report) {
  const problems = report.problems.map(({ action, message, ...one }) => ({
    ...one,
    message: action ? `${action}: ${message}` : message,
  }))
  const section = (title: string, list: readonly object[], columns: string) => tableOf(title, list, columns, HEADINGS)
  const compared = report.compared.map(({ examples, ...one }) => ({ ...one, examples: examples.slice(0, 3) }))
  return [
    section(
      'Refusals',
      problems.filter(({ kind }) => kind === 'refused'),
      PROBLEM_COLUMNS,
    ),
    section(
      'Losses and assumptions',
      problems.filter(({ kind }) => kind !== 'refused'),
      PROBLEM_COLUMNS,
    ),
    section('Calls', report.groups, 'caller action path pass lossy refused unseen'),
    section('Unknown fields', report.unknown, 'action name count first means'),
    section('Unknown vehicle types', report.vehicleTypes, 'example count first'),
    section('Unknown ActionNames', report.actionNames, 'example count first'),
    section('Compared replies', compared, 'action field equal differs noise examples'),
    section('Lines that are not calls', report.unreadable, 'why count first'),
    section(
      'Files',
      report.files.map(({ name, ...file }) => ({ file: name, ...file })),
      'file format fault',
    ),
  ].filter(({ rows }) => rows.length > 0)
}

/** Says in a sentence what a report comes to. */
function verdictOf({ calls, share, equal, lines, stopped }: Report): string {
  const { all, pass, lossy, refused, unseen, other } = calls
  const others = other > 0 ? `, ${grouped(other)} others` : ''
  const untold = unseen > 0 ? `, ${grouped(unseen)} cannot be judged without their bodies` : ''
  const same = equal === null ? '' : ` Share of compared fields that are equal: ${shareText(equal)}.`
  return `${stopped ? 'Stopped. ' : ''}${plural(lines, 'line')}, ${plural(all, 'version-1 call')}${others}: ${grouped(pass)} pass, ${grouped(lossy)} pass with a loss or an assumption, ${grouped(refused)} would be refused${untold}. Share that passes: ${shareText(share)}.${same}`
}

const ROWS_SHOWN = 20

/** Writes a report as text. A problem takes several lines. */
export function reportLines(report: Report): readonly string[] {
  const sections = sectionsOf(report).flatMap(({ title, head, rows }) => {
    const few = rows.slice(0, ROWS_SHOWN)
    const rest = rows.length > few.length ? [`… and ${rows.length - few.length} more (--json has all)`] : []
    const lines = head.includes('what to do')
      ? few.flatMap(([kind, count, problem, example, first, last, callers, advice]) => [
          `${count} × ${kind}  ${problem}`,
          `    ${example && `such as ${example}; `}${first === last ? first : `${first} to ${last}`}${callers && `; ${callers}`}`,
          `    ${advice}`,
        ])
      : aligned([head, ...few])
    return titled(title, [...lines, ...rest])
  })
  return [verdictOf(report), ...sections]
}

/** Writes a report as one page that needs nothing else: refusals first, then what becomes of each caller's calls. */
export function pageOf(report: Report): string {
  const sections = sectionsOf(report)
  const parts = sections.map((one) => html`<h2>${one.title}</h2>${textTable(one)}`)
  const refusals = sections[0]?.title === 'Refusals' ? 1 : 0
  return `${html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Rehearsal – Transload</title><style>${raw(style.body)} caption, body::before { display: none; } td bdi { overflow-wrap: break-word; } .share { background: var(--good); } .share rect { fill: var(--bad); }</style></head>
<body><main><h1>${headlineOf(report)}</h1><p>${shown(verdictOf(report))}</p>
${parts.slice(0, refusals)}
${outcomesByCaller(report)}
${parts.slice(refusals)}
</main></body></html>
`}`
}

function headlineOf({ calls: { all, refused } }: Report): string {
  if (all === 0) return 'No version-1 calls were found'
  if (refused === 0) return 'No calls would be refused'
  return `${grouped(refused)} of ${plural(all, 'call')} would be refused`
}

/** Shows what becomes of each caller's calls, most refusals first. */
function outcomesByCaller({ groups }: Report): Html {
  const callers = [...Map.groupBy(groups, ({ caller }) => caller)]
    .map(([caller, own]) => {
      const [refused, lossy, pass] = [total(own, 'refused'), total(own, 'lossy'), total(own, 'pass')]
      return { caller, refused, lossy, pass, share: refused / (refused + lossy + pass) }
    })
    .filter(({ share }) => !Number.isNaN(share))
    .sort((one, other) => other.refused - one.refused || other.lossy - one.lossy)
  const columns: readonly Column<(typeof callers)[number]>[] = [
    ['Caller', 'caller', named],
    ['Share that would be refused', ({ share }) => html`${shareBar(share)} ${percent(share)}`],
    ['Refused', 'refused'],
    ['With a loss or an assumption', 'lossy'],
    ['Pass', 'pass'],
  ]
  return html`<h2>Outcomes by caller</h2>${table('Outcomes by caller', columns, callers.slice(0, MOST_SHOWN), 'plain')}`
}
