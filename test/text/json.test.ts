/** Promise: JSON keeps its digits, and one value has one text (contract, sections 4 and 7). */

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { canonicalJson, JsonError, parseJson } from '../../src/language/text/json.ts'
import { anyCharacter } from '../laws.ts'
import { runs } from '../size.ts'

const RUNS = runs(400, 2_000)

const blanks = fc.stringMatching(/^[ \t\r\n]{0,2}$/)
const anyText = fc.oneof(
  fc.string({ unit: anyCharacter, maxLength: 12 }),
  fc.constantFrom('__proto__', 'toString', '\\', '"'),
)
const digits = fc.stringMatching(/^-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?$/)

/** `JSON.parse` in Node 24.21 confuses `"` and `\\` if they are the whole name of a member. */
const anyName = anyText.map((text) => (text.length === 1 ? `${text}.` : text))

/** A value written as JSON, with blanks wherever they are allowed. */
const written: fc.Arbitrary<string> = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom('null', 'true', 'false'),
    digits,
    anyText.map((text) => JSON.stringify(text)),
    fc.tuple(blanks, fc.array(tie('value'), { maxLength: 4 })).map(([blank, list]) => {
      return `[${blank}${list.join(`${blank},${blank}`)}${blank}]`
    }),
    fc.tuple(blanks, fc.array(fc.tuple(anyName, tie('value')), { maxLength: 4 })).map(([blank, members]) => {
      const pairs = members.map(([name, value]) => [JSON.stringify(name), ':', value].join(blank))
      return `{${blank}${pairs.join(`${blank},${blank}`)}${blank}}`
    }),
  ),
})).value

/** Returns the results of both parsers for a text; undefined for a refusal. */
function bothRead(text: string): readonly [own: string | undefined, native: string | undefined] {
  const read = (parse: (text: string) => unknown) => {
    try {
      return JSON.stringify([parse(text)])
    } catch (error) {
      if (error instanceof JsonError || error instanceof SyntaxError) return undefined
      throw error
    }
  }
  // Numbers as doubles, as in `JSON.parse`.
  return [read((json) => JSON.parse(JSON.stringify([parseJson(json)]))[0]), read(JSON.parse)]
}

const faultOf = (text: string): string => {
  try {
    parseJson(text)
  } catch (error) {
    if (error instanceof JsonError) return error.message
  }
  throw new Error('it was read')
}

describe('a whole value', () => {
  test('is the same as with JSON.parse, except for the digits', () => {
    const law = fc.property(written, (text) => {
      const [own, native] = bothRead(text)
      expect(own).toBe(native)
    })
    fc.assert(law, { numRuns: RUNS })
  })

  test('with one character changed, or cut anywhere, is refused where JSON.parse refuses it', () => {
    const change = fc.oneof(
      fc.constant(undefined),
      fc.nat(0x7f).map((code) => String.fromCharCode(code)),
    )
    const law = fc.property(written, fc.nat(), change, (text, place, character) => {
      const at = place % (text.length + 1)
      const rest = character === undefined ? '' : character + text.slice(at + 1)
      const [own, native] = bothRead(text.slice(0, at) + rest)
      expect(own === undefined).toBe(native === undefined)
    })
    fc.assert(law, { numRuns: 2 * RUNS })
  })

  test('keeps the digits of every number', () => {
    const number = fc.oneof(digits, fc.constantFrom('-0', '1.10', '0.0000001'))
    const law = fc.property(number, (text) => {
      expect(JSON.stringify(parseJson(`[0,\n${text}]`))).toBe(`[0,${text}]`)
    })
    fc.assert(law, { numRuns: RUNS })
  })

  test('keeps __proto__ as a name like any other', () => {
    const value = parseJson('{"__proto__":{"polluted":1},"a":{"__proto__":2}}')
    expect(Object.keys(value as object)).toEqual(['__proto__', 'a'])
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype)
    expect({}).not.toHaveProperty('polluted')
    expect(JSON.stringify(value)).toBe('{"__proto__":{"polluted":1},"a":{"__proto__":2}}')
  })

  test.each([
    ['[', ']'],
    ['{"a":', '}'],
  ])('of %s nests a hundred levels deep and no deeper', (open, close) => {
    const nested = (levels: number) => `${open.repeat(levels)}1${close.repeat(levels)}`
    expect(JSON.stringify(parseJson(nested(100)))).toBe(nested(100))
    for (const levels of [101, 20_000, 1_000_000]) {
      expect(faultOf(nested(levels))).toBe('it nests deeper than 100 levels')
    }
  })

  test.each([
    ['', 'it ends too early'],
    ['{"a":1', 'it ends too early'],
    ['"a\\', 'it ends too early'],
    ['[1,]', 'the error is at character 4'],
    ['{a:1}', 'the error is at character 2'],
    ['[1:2]', 'the error is at character 3'],
    ['{"a",1}', 'the error is at character 5'],
    ['"a\\x"', 'the error is at character 4'],
    ['"a\n"', 'the error is at character 3'],
    ['nul', 'the error is at character 1'],
    ['1 1', 'the error is at character 3'],
  ])('%j: %s', (text, fault) => {
    expect(faultOf(text)).toBe(fault)
  })
})

describe('one value has one text', () => {
  const canonical = (text: string) => canonicalJson(parseJson(text))

  test('whose members are in the order of their names, and keep digits, any name and escapes', () => {
    const text = '{ "b" : [ 1.50 , {"d":null,"c":true} ], "a" : "\\u0041/\\/", "__proto__":["\\ud83d","\\u0000"]}'
    const one = '{"__proto__":["\\ud83d","\\u0000"],"a":"A//","b":[1.50,{"c":true,"d":null}]}'
    expect(canonical(text)).toBe(one)
  })

  test('the blanks between members change nothing', () => {
    const law = fc.property(fc.json(), (text) => {
      const once = canonical(text)
      expect(canonical(once)).toBe(once)
      expect(canonical(JSON.stringify(JSON.parse(text), null, 2))).toBe(canonical(JSON.stringify(JSON.parse(text))))
    })
    fc.assert(law, { numRuns: RUNS })
  })
})
