const LINE_CHARACTERS = 120
const INDENT = '  '

/** Returns JSON as the formatter of this repository writes it: a list stays on one line where it fits. */
export function json(value: unknown, indent = '', before = 0): string {
  const deeper = indent + INDENT
  if (Array.isArray(value)) {
    const entries = value.map((entry) => json(entry, deeper))
    const line = `[${entries.join(', ')}]`
    if (!line.includes('\n') && indent.length + before + line.length < LINE_CHARACTERS) return line
    return `[\n${entries.map((entry) => deeper + entry).join(',\n')}\n${indent}]`
  }
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const entries = Object.entries(value).map(([name, entry]) => {
    const key = `${JSON.stringify(name)}: `
    return deeper + key + json(entry, deeper, key.length)
  })
  return entries.length === 0 ? '{}' : `{\n${entries.join(',\n')}\n${indent}}`
}
