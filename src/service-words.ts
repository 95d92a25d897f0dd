import { oneLine } from './errors.ts'

const WORDS_LIMIT_CHARACTERS = 300
/** Where services put their words, the most telling first. */
const KEYS = [
  'message',
  'Message',
  'detail',
  'error_description',
  'description',
  'reason',
  'faultstring',
  'msg',
  'title',
]
const HOLDERS = ['error', 'errors', 'Error', 'fault', 'fields', 'details', 'data']
const DEPTH_LIMIT = 4

/** The service's own words in the body of a refusal, if any can be found; HTML is not quoted. */
export function serviceWords(body: Buffer): string | undefined {
  const text = body.toString('utf8').trim()
  if (text === '' || text.startsWith('<')) return undefined
  const words = /^[{["]/.test(text) ? wordsIn(parsed(text), 0) : [text]
  const line = oneLine([...new Set(words)].join('; '))
  if (line === '') return undefined
  return line.length > WORDS_LIMIT_CHARACTERS ? `${line.slice(0, WORDS_LIMIT_CHARACTERS - 1)}…` : line
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function wordsIn(value: unknown, depth: number): string[] {
  if (typeof value === 'string') return value.trim() === '' || value.trim().startsWith('<') ? [] : [value.trim()]
  if (typeof value !== 'object' || value === null || depth > DEPTH_LIMIT) return []
  if (Array.isArray(value)) return value.flatMap((entry) => wordsIn(entry, depth + 1))
  const body = new Map(Object.entries(value))
  const own = KEYS.flatMap((key) => wordsIn(body.get(key), depth + 1)).slice(0, 1)
  const field = body.get('field') ?? body.get('path')
  const named = own.map((words) => (typeof field === 'string' && !words.includes(field) ? `${field}: ${words}` : words))
  const held = HOLDERS.flatMap((key) => heldWords(body.get(key), depth + 1))
  return [...named, ...held]
}

/** What a holder such as `errors` says: texts, entries with messages, or lists of texts by field. */
function heldWords(value: unknown, depth: number): string[] {
  const words = wordsIn(value, depth)
  if (words.length > 0 || typeof value !== 'object' || value === null || Array.isArray(value)) return words
  return Object.entries(value).flatMap(([field, entry]) =>
    field === 'code' || field === 'status' ? [] : wordsIn(entry, depth + 1).map((said) => `${field}: ${said}`),
  )
}
