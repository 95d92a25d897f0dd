import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { type PassThroughDeps, passThrough } from '../../src/calls/pass-through.ts'
import { beginCall, unlimitedShare } from '../../src/observe/call.ts'

/** Ends a call when its credential is asked for, and tells what happened to its body before. */
async function eventsOf(headers: Readonly<Record<string, string>>) {
  const incoming = new IncomingMessage(new Socket())
  Object.assign(incoming.headers, headers)
  incoming.push('x'.repeat(Math.min(Number(headers['content-length'] ?? 0), 1_000)))
  incoming.push(null)
  const events: string[] = []
  const call = beginCall(incoming)
  call.share = {
    ...unlimitedShare,
    expectBody: (bytes) => events.push(`buffer ${bytes}`),
    streamBody: (bytes) => events.push(`stream ${bytes}`),
    enter: () => events.push('enter'),
  }
  const credentials = {
    passThrough: (_incoming: IncomingMessage, streams: boolean) => {
      events.push(streams ? 'a stream' : 'no stream')
      throw new Error('no credential')
    },
  }
  // Nothing else is asked before the credential.
  const deps = { config: { UPSTREAM_TIMEOUT_MS: 1_000 }, credentials } as unknown as PassThroughDeps
  await expect(passThrough(incoming, new ServerResponse(incoming), call, deps)).rejects.toThrow('no credential')
  return { events, incoming }
}

test.each<[string, Readonly<Record<string, string>>, readonly string[]]>([
  ['without a length is none', {}, ['enter', 'no stream']],
  ['of no bytes is none', { 'content-length': '0' }, ['enter', 'no stream']],
  ['of a byte is buffered', { 'content-length': '1' }, ['buffer 1', 'enter', 'no stream']],
  ['of 64 KiB is buffered', { 'content-length': '65536' }, ['buffer 65536', 'enter', 'no stream']],
  ['of more is a stream', { 'content-length': '65537' }, ['stream 65537', 'enter', 'a stream']],
  [
    'that is compressed is a stream',
    { 'content-length': '9', 'content-encoding': 'gzip' },
    ['stream 9', 'enter', 'a stream'],
  ],
  ['in chunks is a stream of any length', { 'transfer-encoding': 'chunked' }, ['stream Infinity', 'enter', 'a stream']],
])('a body %s', async (_, headers, expected) => {
  const { events, incoming } = await eventsOf(headers)
  expect(events).toEqual(expected)
  // A stream that is not read is let go.
  expect(incoming.listenerCount('data')).toBe(expected.some((event) => event.startsWith('buffer')) ? 1 : 0)
})
