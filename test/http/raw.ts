import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { basic } from '../gateway.ts'

const END = '{end}'
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', '0': '\0', '\\': '\\' }

/** Returns the bytes that a text stands for. */
const bytesOf = (text: string) =>
  text
    .replaceAll('\n', '\r\n')
    .replaceAll('{auth}', basic())
    .replace(/\{(\d+) ([^}]+)\}/g, (_, count, text) => text.repeat(Number(count)))
    .replace(/\\(?:x([\da-f]{2})|(.))/g, (_, hex, letter) =>
      hex ? String.fromCharCode(Number.parseInt(hex, 16)) : (ESCAPES[letter] ?? ''),
    )

/** The requests in `raw.txt`, each with its outcome. */
export const rawRequests = readFileSync(join(import.meta.dirname, 'raw.txt'), 'utf8')
  .split(/^== /m)
  .slice(1)
  .map((one) => {
    const [heading = '', ...lines] = one.replace(/\n$/, '').split('\n')
    const [what = '', outcome = ''] = heading.split(' → ')
    const text = lines.join('\n')
    return { what, outcome, bytes: bytesOf(text.replace(END, '')), ends: text.endsWith(END) }
  })
