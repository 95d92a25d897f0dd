import { expect, test } from 'vitest'
import { assumptions } from '../../src/certify/assumptions.ts'
import type { Result } from '../../src/certify/run.ts'
import { NO_SHIPMENT } from '../../src/service/account.ts'
import { basic, CLIENT } from '../gateway.ts'
import type { RecordedRequest, Sandbox } from '../stand-in/stand-in.ts'
import { CONFIRMING, contradicting, tried } from './trial.ts'

const line = ({ id, verdict, seen }: Result) => `${id}: ${verdict}: ${seen}`

/** Returns the requests of one trial, with a letter for each id. */
function conversation({ requests }: Sandbox): string {
  const ids = new Map([[NO_SHIPMENT, '{unknown}']])
  return requests
    .map((request) => `  ${requestLine(request)}`)
    .join('\n')
    .replace(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, (id) => {
      const name = ids.get(id) ?? `{${ids.size}}`
      ids.set(id, name)
      return name
    })
    .replace(/(?:x{100})x*/g, ({ length }) => `(${length} times x)`)
}

const CREDENTIALS = new Map([
  [basic(), 'its credential'],
  [basic(CLIENT.id, 'wrong'), 'a wrong secret'],
])

function requestLine({ method, path, headers, body }: RecordedRequest): string {
  const { authorization = 'nothing' } = headers
  const credential = CREDENTIALS.get(authorization) ?? authorization.replace(/ .*/, '')
  const type = headers['content-type'] ?? ''
  const condition = headers['if-match'] ? `If-Match ${headers['if-match']}` : ''
  return [method, path, `(${[credential, type, condition].filter(Boolean).join(', ')})`, body].filter(Boolean).join(' ')
}

/** For two trials of each assumption, on a busy machine. */
const LONG_MS = 120_000

test('every assumption is tried by the same requests as it was, and found the same', { timeout: LONG_MS }, async () => {
  const told: string[] = []
  for (const assumption of assumptions) {
    const { id } = assumption
    const kept = await tried(id, CONFIRMING[id] ?? {})
    const broken = await tried(id, contradicting(assumption))
    told.push(...kept.all.map(line), conversation(kept.sandbox), ...broken.all.map(line), '')
  }
  await expect(told.join('\n')).toMatchFileSnapshot('conversations.txt')
})
