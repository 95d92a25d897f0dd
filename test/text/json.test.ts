/** Promise: JSON keeps its digits and its order (contract, section 4). */

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { forEachMember, isStructure, JsonError, parseJson, scalarText, setMember } from '../../src/text/json.ts'
import { runs } from '../size.ts'

const RUNS = runs(400, 2_000)

const blanks = fc.stringMatching(/^[ \t\r\n]{0,2}$/)
const anyText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.constantFrom('__proto__', 'toString', '\\', '"'),
)
const digits = fc.stringMatching(/^-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?$/)

/** `JSON.parse` of Node 24.21 takes `"` and `\\` for one another where they are the whole name of a member. */
const anyName = anyText.map((text) => (text.length === 1 ? `${text}.` : text))

/** A value written as JSON, with blanks wherever they may be. */
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

/** Returns the results of both readers for a text; undefined for a refusal. */
function bothRead(text: string): readonly [own: string | undefined, native: string | undefined] {
  const read = (parse: (text: string) => unknown) => {
    try {
      return JSON.stringify([parse(text)])
    } catch (error) {
      if (error instanceof JsonError || error instanceof SyntaxError) return undefined
      throw error
    }
  }
  // Numbers as doubles, the way `JSON.parse` has them.
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

  test('with one character changed is refused where JSON.parse refuses it', () => {
    const law = fc.property(written, fc.nat(), fc.nat(0x7f), (text, place, code) => {
      const at = place % (text.length + 1)
      const [own, native] = bothRead(text.slice(0, at) + String.fromCharCode(code) + text.slice(at + 1))
      expect(own === undefined).toBe(native === undefined)
    })
    fc.assert(law, { numRuns: RUNS })
  })

  test('cut anywhere is refused where JSON.parse refuses it', () => {
    const law = fc.property(written, fc.nat(), (text, place) => {
      const [own, native] = bothRead(text.slice(0, place % text.length))
      expect(own === undefined).toBe(native === undefined)
    })
    fc.assert(law, { numRuns: RUNS })
  })

  test('is written again with every digit that was read', () => {
    const law = fc.property(digits, (literal) => {
      expect(JSON.stringify(parseJson(literal))).toBe(literal)
      expect(scalarText(parseJson(literal))).toBe(literal)
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
    ['lists', '[', ']'],
    ['objects', '{"a":', '}'],
  ])('of %s nests a hundred levels deep and no deeper', (_what, open, close) => {
    const nested = (levels: number) => `${open.repeat(levels)}${open === '[' ? '' : '1'}${close.repeat(levels)}`
    expect(JSON.stringify(parseJson(nested(100)))).toBe(nested(100))
    for (const levels of [101, 20_000, 1_000_000]) {
      expect(faultOf(nested(levels))).toBe('it nests deeper than 100 levels')
    }
  })

  test.each([
    ['', 'it ends too early'],
    ['{"a":1', 'it ends too early'],
    ['"abc', 'it ends too early'],
    ['"a\\', 'it ends too early'],
    ['[1,]', 'it breaks at character 4'],
    ['[1 2]', 'it breaks at character 4'],
    ['{"a" 1}', 'it breaks at character 6'],
    ['{a:1}', 'it breaks at character 2'],
    ['"a\\x"', 'it breaks at character 4'],
    ['"a\n"', 'it breaks at character 3'],
    ['nul', 'it breaks at character 1'],
    ['+1', 'it breaks at character 1'],
    ['1 1', 'it breaks at character 3'],
    ['NaN', 'it breaks at character 1'],
  ])('%j: %s', (text, fault) => {
    expect(faultOf(text)).toBe(fault)
  })
})

describe('the members of an object', () => {
  const membersOf = (text: string) => {
    const members: [string, unknown][] = []
    forEachMember(text, (name, value) => members.push([name, value]))
    return members
  }

  test('come in their order, equal names included', () => {
    expect(membersOf('{"b":1,"2":"x","b":null,"1":true}')).toEqual([
      ['b', 1],
      ['2', 'x'],
      ['b', null],
      ['1', true],
    ])
    expect(membersOf(' { } ')).toEqual([])
    expect(() => membersOf('{}x')).toThrow(JsonError)
  })

  test('may nest without a limit', () => {
    const levels = 200_000
    const [nested, after] = membersOf(`{"a":${'['.repeat(levels)}${']'.repeat(levels)},"b":1}`)
    expect(isStructure(nested?.[1])).toBe(true)
    expect(after).toEqual(['b', 1])
  })

  test.each([['[]'], ['1'], ['{"a":1}{}'], ['{"a":1,}'], ['{,}'], ['{"a":1;"b":2}']])('%j is refused', (text) => {
    expect(() => membersOf(text)).toThrow(JsonError)
  })
})

test('a scalar is text with the digits that were read; a structure is none', () => {
  const [raw, ...others] = parseJson('[1.50,1.5,"x",true,null,[],{}]') as unknown[]
  expect(scalarText(raw)).toBe('1.50')
  expect(others.map(scalarText)).toEqual(['1.5', 'x', 'true', undefined, undefined, undefined])
  expect([raw, ...others].map(isStructure)).toEqual([false, false, false, false, false, true, true])
})

test('a member can have any name', () => {
  const object = {}
  for (const name of ['a', '__proto__', 'constructor']) setMember(object, name, name)
  expect(JSON.stringify(object)).toBe('{"a":"a","__proto__":"__proto__","constructor":"constructor"}')
})
