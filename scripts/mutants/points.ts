import { children, isFunction, isNode, type Node, nodesAt, parse } from './syntax.ts'

/** A place of a file, and the text that a mutant has there. */
export interface Point {
  readonly start: number
  readonly end: number
  readonly text: string
  /** The kind of change, such as `negated condition`. */
  readonly kind: string
  /** The function around it, counted from the beginning of the file; -1 for the module itself. */
  readonly fn: number
}

/** The other operators that a mutant has; a comparison also loses or gains its bound. */
const OTHER_OPERATORS: Readonly<Record<string, readonly string[]>> = {
  '<': ['<=', '>='],
  '<=': ['<', '>'],
  '>': ['>=', '<='],
  '>=': ['>', '<'],
  '===': ['!=='],
  '!==': ['==='],
  '+': ['-'],
  '-': ['+'],
  '*': ['/'],
  '/': ['*'],
  '%': ['*'],
  '&&': ['||'],
  '||': ['&&'],
  '&': ['|'],
  '|': ['&'],
  '>>>': ['<<'],
}
const OTHER_ASSIGNMENTS: Readonly<Record<string, string>> = { '+=': '-=', '-=': '+=', '??=': '=', '||=': '=' }

/** Returns every one-point mutant of a file, in the order of the text. */
export function pointsOf(source: string): readonly Point[] {
  const points: Point[] = []
  let functions = 0
  const visit = (node: Node, key: string, parent: Node | undefined, outer: number) => {
    const fn = isFunction(node) ? functions++ : outer
    for (const [place, text, kind] of changesOf(node, key, parent, source)) {
      const isSame = source.slice(place.start, place.end) === text
      if (!isSame) points.push({ start: place.start, end: place.end, text, kind, fn })
    }
    for (const [childKey, child] of children(node)) visit(child, childKey, node, fn)
  }
  visit(parse(source), '', undefined, -1)
  return points.sort((one, other) => one.start - other.start || one.end - other.end)
}

type Change = readonly [place: { readonly start: number; readonly end: number }, text: string, kind: string]

function changesOf(node: Node, key: string, parent: Node | undefined, source: string): readonly Change[] {
  const textOf = ({ start, end }: Node) => source.slice(start, end)
  switch (node.type) {
    case 'BinaryExpression':
    case 'LogicalExpression': {
      const [left] = nodesAt(node, 'left')
      const [right] = nodesAt(node, 'right')
      if (!left || !right) return []
      const operator = String(node['operator'])
      if (operator === '??') return [[node, textOf(left), 'dropped default']]
      const between = source.slice(left.end, right.start)
      return (OTHER_OPERATORS[operator] ?? []).map((other) => [
        { start: left.end, end: right.start },
        between.replace(operator, () => other),
        'other operator',
      ])
    }
    case 'AssignmentExpression': {
      const [left] = nodesAt(node, 'left')
      const [right] = nodesAt(node, 'right')
      const operator = String(node['operator'])
      const other = OTHER_ASSIGNMENTS[operator]
      if (!left || !right || other === undefined) return []
      const between = { start: left.end, end: right.start }
      return [[between, source.slice(left.end, right.start).replace(operator, () => other), 'other operator']]
    }
    case 'UnaryExpression': {
      const [argument] = nodesAt(node, 'argument')
      return node['operator'] === '!' && argument ? [[node, `(${textOf(argument)})`, 'dropped negation']] : []
    }
    case 'UpdateExpression': {
      const other = node['operator'] === '++' ? '--' : '++'
      return [[node, textOf(node).replace(String(node['operator']), other), 'other operator']]
    }
    case 'IfStatement':
    case 'ConditionalExpression':
    case 'WhileStatement':
      return nodesAt(node, 'test').map((test) => [test, `!(${textOf(test)})`, 'negated condition'])
    case 'ForStatement':
      return nodesAt(node, 'test').map((test) => [test, 'false', 'loop never entered'])
    case 'Literal':
      return literal(node, key, parent)
    case 'TemplateLiteral':
      return parent?.type === 'TaggedTemplateExpression' ? [] : [[node, '``', 'emptied text']]
    case 'ExpressionStatement':
      return 'directive' in node && node['directive'] ? [] : [[node, ';', 'removed statement']]
    case 'ThrowStatement':
    case 'BreakStatement':
    case 'ContinueStatement':
      return parent?.type === 'SwitchCase' && node.type === 'BreakStatement' ? [] : [[node, ';', 'removed statement']]
    case 'ReturnStatement':
      return isNode(node['argument']) && node['argument'].type !== 'TSSatisfiesExpression'
        ? [[node, 'return undefined', 'returned nothing']]
        : []
    case 'ArrowFunctionExpression': {
      const body = node['body']
      if (!isNode(body) || body.type === 'BlockStatement' || textOf(body) === 'undefined') return []
      // A function of a mock-free project that does nothing on purpose stays so.
      return [[body, 'undefined', 'returned nothing']]
    }
    case 'SpreadElement':
      return parent?.type === 'ObjectExpression' || parent?.type === 'ArrayExpression'
        ? [[nodesAt(node, 'argument')[0] ?? node, parent.type === 'ArrayExpression' ? '[]' : '{}', 'dropped part']]
        : []
    default:
      return []
  }
}

function literal(node: Node, key: string, parent: Node | undefined): readonly Change[] {
  const { value } = node
  if (typeof value === 'boolean') return [[node, String(!value), 'other truth']]
  if (typeof value === 'number') {
    return [
      [node, String(value + 1), 'other number'],
      [node, value > 0 ? String(value - 1) : '(-1)', 'other number'],
    ]
  }
  const isName = key === 'source' || (key === 'key' && parent?.['computed'] !== true)
  if (typeof value !== 'string' || isName || parent?.type === 'ImportExpression' || parent?.type === 'ExportSpecifier')
    return []
  return [[node, value === '' ? "'mutant'" : "''", 'emptied text']]
}

/** Returns the text of a mutant. */
export const mutated = (source: string, { start, end, text }: Point): string =>
  source.slice(0, start) + text + source.slice(end)
