import { parseAst } from 'vite'

/** A node of a syntax tree, with its place in the text. */
export interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [key: string]: unknown
}

/** Parses TypeScript. */
export function parse(text: string): Node {
  // The parser's own union of nodes does not help a walk that treats most of them alike.
  return parseAst(text, { lang: 'ts' }) as unknown as Node
}

/** Tells whether a value of a node's key is a node. */
export const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string'

/** Returns the nodes at a key, whether it holds one, several or none. */
export const nodesAt = (node: Node, key: string): readonly Node[] => [node[key]].flat().filter(isNode)

/** Keys of types, and of what is no code of its own. */
const NO_CODE = new Set(['typeAnnotation', 'typeParameters', 'typeArguments', 'returnType', 'superTypeArguments'])
const NO_STATEMENT = new Set([
  'ImportDeclaration',
  'TSInterfaceDeclaration',
  'TSTypeAliasDeclaration',
  'ExportAllDeclaration',
])

/** A child of a node, and the key that holds it. */
export type Child = readonly [key: string, child: Node]

/** Returns the children of a node that run; types do not. */
export const children = (node: Node): readonly Child[] =>
  Object.keys(node).flatMap((key) =>
    NO_CODE.has(key)
      ? []
      : nodesAt(node, key).flatMap((child): Child[] => (NO_STATEMENT.has(child.type) ? [] : [[key, child]])),
  )

const FUNCTIONS = new Set(['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression'])

/** Counts the functions of a node and below it. */
export const functionsIn = (node: Node): number =>
  children(node).reduce((sum, [, child]) => sum + functionsIn(child), isFunction(node) ? 1 : 0)

/** Tells whether a node is a function with a body. */
export const isFunction = (node: Node): boolean => FUNCTIONS.has(node.type) && isNode(node['body'])
