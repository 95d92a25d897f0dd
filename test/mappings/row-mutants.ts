import type { Action, Row, Sentence } from '../../src/mapping/declare.ts'
import { quoteFact, setting } from '../../src/mapping/declare.ts'
import { fieldsOf, placesOf } from '../../src/mapping/row-parts.ts'
import { replacements } from './other-codecs.ts'

/** A declaration with one change. */
export interface RowMutant {
  readonly about: string
  readonly action: Action
}

const SECTIONS = ['request', 'remember', 'reply'] as const

/** Returns every mutant of an action: each row changed in every way that its kind has. */
export function rowMutants(action: Action): readonly RowMutant[] {
  return SECTIONS.flatMap((section) =>
    (action[section] ?? []).flatMap((row, index) =>
      changesOf(row, { section, isMerged: action.service.mergeInto !== undefined }).map(([change, changed]) => ({
        about: `${action.name} ${section}: ${row.kind} ${[...fieldsOf(row), ...placesOf(row)].join(' ')}: ${change}`,
        action: { ...action, [section]: (action[section] ?? []).toSpliced(index, 1, ...changed) },
      })),
    ),
  )
}

/** A change, and the rows instead; none where the row is dropped. */
type Change = readonly [change: string, rows: readonly Row[]]

/** The place of a row. Changes that mean nothing there are left out, each with its reason below. */
interface Section {
  readonly section: (typeof SECTIONS)[number]
  /** Only a body that is merged asks who sets a place. */
  readonly isMerged: boolean
}

/** Returns every change of a row. */
export function changesOf(row: Row, where: Section): readonly Change[] {
  return [['dropped', []], ...ofKind(row, where).map(([change, changed]): Change => [change, [changed]])]
}

type Changed = readonly [change: string, row: Row]

function ofKind(row: Row, { section, isMerged }: Section): readonly Changed[] {
  switch (row.kind) {
    case 'move':
      return [
        ['another field', { ...row, v1: OTHER_FIELD }],
        ['another place', { ...row, v2: otherPlace(row.v2) }],
        // A fact may be missing: a quote needs none to be priced.
        ...(section === 'remember' ? [] : [['required flipped', { ...row, required: !row.required }] as const]),
        ...replacements(row.codec, section).map((codec): Changed => [`through ${codec.name}`, { ...row, codec }]),
        // A reply and a fact have no other source.
        ...(section === 'request' ? otherFallbacks(row.fallbacks) : []).map(
          (fallbacks): Changed => [`falls back to ${JSON.stringify(fallbacks)}`, { ...row, fallbacks }],
        ),
      ]
    case 'split': {
      const parts = Object.entries(row.v2)
      return [
        ['another field', { ...row, v1: OTHER_FIELD }],
        [
          'parts in other places',
          { ...row, v2: Object.fromEntries(parts.map(([part], i) => [part, parts.at(i - 1)?.[1] ?? ''])) },
        ],
        ...parts.map(
          ([part]): Changed => [
            `without ${part}`,
            { ...row, v2: Object.fromEntries(parts.filter(([other]) => other !== part)) },
          ],
        ),
        ...parts.map(
          ([part, place]): Changed => [
            `${part} in another place`,
            { ...row, v2: { ...row.v2, [part]: otherPlace(place) } },
          ],
        ),
      ]
    }
    case 'join':
      return [
        ['another place', { ...row, v2: otherPlace(row.v2) }],
        ['the other way around', { ...row, v1: row.v1.toReversed() }],
        ...row.v1.map(
          (field): Changed => [`without ${field}`, { ...row, v1: row.v1.filter((other) => other !== field) }],
        ),
      ]
    case 'lookup':
      return [
        ['another place', { ...row, v2: otherPlace(row.v2) }],
        ['another table', { ...row, table: 'other' }],
        ...otherFallbacks(row.fallbacks).map(
          (fallbacks): Changed => [`falls back to ${JSON.stringify(fallbacks)}`, { ...row, fallbacks }],
        ),
        ...row.sources.flatMap((source, i): Changed[] => [
          [`without ${source.v1}`, { ...row, sources: row.sources.toSpliced(i, 1) }],
          [
            `${source.v1} otherwise`,
            {
              ...row,
              sources: row.sources.toSpliced(i, 1, {
                ...source,
                by: source.by === 'phraseIn' ? 'wholeValue' : 'phraseIn',
              }),
            },
          ],
          ...(i > 0
            ? [[`${source.v1} first`, { ...row, sources: [source, ...row.sources.toSpliced(i, 1)] }] as const]
            : []),
        ]),
      ]
    case 'fromQuote':
      return [
        ['another place', { ...row, v2: otherPlace(row.v2) }],
        ...(row.onlyWith
          ? [['always', withoutSwitch(row)] as const]
          : [['only with a switch', { ...row, onlyWith: 'send_quote_id' }] as const]),
        ...otherFallbacks(row.fallbacks).map(
          (fallbacks): Changed => [`falls back to ${JSON.stringify(fallbacks)}`, { ...row, fallbacks }],
        ),
      ]
    case 'ref':
    case 'v1Only':
      return [
        ['another field', { ...row, v1: OTHER_FIELD }],
        ['without a reason', { ...row, why: '' }],
      ]
    case 'v2Only':
      return [
        ['another place', { ...row, v2: otherPlace(row.v2) }],
        ['without a reason', { ...row, why: '' }],
        ...(isMerged ? [['set by another', { ...row, setByService: !row.setByService }] as const] : []),
      ]
    case 'callerNumber':
      return [
        ['another field', { ...row, v1: OTHER_FIELD }],
        ['another place', { ...row, v2: otherPlace(row.v2) }],
      ]
    case 'fixed':
      return [
        ['another field', { ...row, v1: OTHER_FIELD }],
        ['another value', { ...row, value: `${row.value}!` }],
      ]
    case 'choose':
      return [
        ['another field', { ...row, v1: OTHER_FIELD }],
        ['another place', { ...row, v2: otherPlace(row.v2) }],
        ['another default', { ...row, default: `${row.default}!` }],
        ...Object.keys(row.cases).map(
          (value): Changed => [`another answer for ${value}`, { ...row, cases: { ...row.cases, [value]: 'other' } }],
        ),
      ]
    case 'message':
      return [
        ['another field', { ...row, v1: OTHER_FIELD }],
        ...row.sentences.flatMap((sentence, i): Changed[] => [
          [`without sentence ${i}`, { ...row, sentences: row.sentences.toSpliced(i, 1) }],
          ...otherSentences(sentence).map(
            (other): Changed => [
              `sentence ${i} is ${JSON.stringify(other)}`,
              { ...row, sentences: row.sentences.toSpliced(i, 1, other) },
            ],
          ),
        ]),
      ]
    default:
      return row satisfies never
  }
}

const OTHER_FIELD = 'OtherField'
const otherPlace = (place: string) => place.replace(/\w+$/, 'other')

const withoutSwitch = ({ onlyWith: _, ...row }: Extract<Row, { kind: 'fromQuote' }>): Row => row

type Fallbacks = Extract<Row, { kind: 'move' }>['fallbacks']

function otherFallbacks(fallbacks: Fallbacks): readonly Fallbacks[] {
  if (fallbacks.length === 0)
    return [
      [setting('transport_type')],
      [quoteFact('pickup', 'delivery', 'transport_type', 'customer_name', 'address')],
    ]
  return [
    ...fallbacks.map((_, i) => fallbacks.toSpliced(i, 1)),
    ...(fallbacks.length > 1 ? [fallbacks.toReversed()] : []),
    ...fallbacks.flatMap((fallback, i): Fallbacks[] =>
      fallback.kind === 'setting'
        ? [
            fallbacks.toSpliced(
              i,
              1,
              setting(fallback.setting === 'transport_type' ? 'vehicle_type' : 'transport_type'),
            ),
          ]
        : [
            fallbacks.toSpliced(i, 1, quoteFact(fallback.facts[0] === 'city' ? 'state' : 'city')),
            ...(fallback.facts.length > 1
              ? [
                  fallbacks.toSpliced(i, 1, quoteFact(...fallback.facts.toReversed())),
                  ...fallback.facts.map((fact) =>
                    fallbacks.toSpliced(i, 1, quoteFact(...fallback.facts.filter((other) => other !== fact))),
                  ),
                ]
              : []),
          ],
    ),
  ]
}

function otherSentences({ text, when }: Sentence): readonly Sentence[] {
  const conditions = ['present', 'absent', 'several'] as const
  return [
    { text: `${text}!`, ...(when && { when }) },
    ...[...text.matchAll(/\{([^}]+)\}/g)].map(([placeholder]) => ({
      text: text.replace(placeholder, '{other}'),
      ...(when && { when }),
    })),
    ...(when ? [{ text }, { text, when: { ...when, v2: 'other' } }] : []),
    ...(when ? conditions.filter((is) => is !== when.is).map((is) => ({ text, when: { ...when, is } })) : []),
  ]
}
