import { z } from 'zod'
import { codec } from '../../src/mapping/codec.ts'
import { canonical, exact, join, type Keeps, lossy, move, type Row, split } from '../../src/mapping/declare.ts'

/** A row whose declared class is wrong. */
export interface WrongRow {
  readonly about: string
  readonly row: Row
  readonly says: RegExp
}

const field = (keeps: Keeps, decode: (text: string) => string, encode: (value: string) => string = (value) => value) =>
  move('Field', 'place', codec(z.string(), { name: 'wrong', summary: '', keeps, decode, encode }))

const SHORT = 3

/** Each has one mistake that its law must find. */
export const wrongRows: readonly WrongRow[] = [
  {
    about: 'exact, and it changes the case',
    row: field(exact, (text) => text.toUpperCase()),
    says: /put \{"Field"/,
  },
  {
    about: 'exact, and two parts become one',
    row: split(
      'Field',
      { one: 'one', two: 'two' },
      codec(z.record(z.string(), z.string()), {
        name: 'wrong',
        summary: '',
        keeps: exact,
        decode: (text) => ({ one: text, two: text }),
        encode: ({ two = '' }) => two,
      }),
    ),
    says: /was put back as/,
  },
  {
    about: 'canonical, and it cuts the end off',
    row: field(canonical('three characters'), (text) => text.slice(0, SHORT)),
    says: /became/,
  },
  {
    about: 'canonical, and each trip adds a sign',
    row: field(
      canonical('with a sign'),
      (text) => text,
      (value) => `${value}!`,
    ),
    says: /was put back as/,
  },
  {
    about: 'canonical, and the second trip finds another value',
    row: field(canonical('any'), (text) => `${text}.`),
    says: /was put back as/,
  },
  {
    about: 'lossy, and nothing is lost',
    row: field(lossy('something'), (text) => text),
    says: /nothing was lost/,
  },
  {
    about: 'lossy, and its remark does not name the loss',
    row: move(
      'Field',
      'place',
      codec(z.string(), {
        name: 'wrong',
        summary: '',
        keeps: lossy('the end'),
        decode: (text) => text.slice(0, SHORT),
        encode: (value) => value,
        remark: () => ({ warning: 'is odd' }),
      }),
    ),
    says: /without a remark/,
  },
  {
    about: 'exact, and the second field is dropped',
    row: join(['One', 'Two'], 'place', {
      name: 'wrong',
      summary: '',
      keeps: exact,
      join: ([one = '']) => one,
      split: (text) => [text],
    }),
    says: /put \{/,
  },
]
