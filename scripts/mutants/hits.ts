import { children, isFunction, isNode, type Node, parse } from './syntax.ts'

/** The module that records calls of functions: each once in a process, by an append that a kill does not lose. */
export const hitModule = (file: string): string => `import { appendFileSync } from 'node:fs'
const seen = new Set()
export const hit = (id) => {
  if (seen.has(id)) return
  seen.add(id)
  appendFileSync(${JSON.stringify(file)}, id + '\\n')
}
`

/** Returns a file that records each of its functions that is called, as `PATH#NUMBER`; the module itself is -1. */
export function recording(source: string, path: string, module: string): string {
  const inserts: [at: number, text: string][] = []
  let functions = 0
  const record = (fn: number) => `__hit(${JSON.stringify(`${path}#${fn}`)})`
  const visit = (node: Node) => {
    if (isFunction(node)) {
      const { body } = node
      const call = record(functions++)
      if (isNode(body) && body.type === 'BlockStatement') inserts.push([body.start + 1, `${call};`])
      else if (isNode(body)) inserts.push([body.start, `(${call}, `], [body.end, ')'])
    }
    for (const [, child] of children(node)) visit(child)
  }
  visit(parse(source))
  let text = source
  // From the end, and inner parentheses first: places before do not move.
  for (const [at, insert] of inserts.sort(([one], [other]) => other - one)) {
    text = text.slice(0, at) + insert + text.slice(at)
  }
  return `import { hit as __hit } from ${JSON.stringify(module)}; ${record(-1)}; ${text}`
}
