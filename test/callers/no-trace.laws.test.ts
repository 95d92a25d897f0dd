/** Promise: a refused credential leaves no trace that another caller can see (contract, section 5). */

import type { IncomingMessage, ServerResponse } from 'node:http'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { basic, startGateway, type WholeAnswer } from '../gateway.ts'
import { bytesOf, openService } from '../http/service.ts'
import { runs, size } from '../size.ts'
import { startSandbox } from '../stand-in/stand-in.ts'
import { CALLS, KINDS, linksOf, seen } from './tenants-gateway.ts'

/*
 * A credential that the service has not accepted leaves no trace that another caller can see. The same calls of the owner
 * are made with and without strangers between them, and the same calls of strangers with and without the owner: neither can
 * tell the difference.
 */

const OWNER = basic()

/** The service's answers to strangers, for any request. The stranger's secret selects one. */
const VERDICTS: Readonly<Record<string, (outgoing: ServerResponse) => void>> = {
  refused: (outgoing) => void outgoing.writeHead(401, { 'www-authenticate': 'Basic' }).end(),
  forbidden: (outgoing) => void outgoing.writeHead(403).end('{"message":"not yours"}'),
  failing: (outgoing) => void outgoing.writeHead(500).end(),
  overloaded: (outgoing) => void outgoing.writeHead(503, { 'retry-after': '9' }).end(),
  unreadable: (outgoing) => void outgoing.writeHead(302, { location: '/' }).end(),
  broken: (outgoing) => void outgoing.destroy(),
  halved: (outgoing) => {
    outgoing.writeHead(200, { 'content-length': '10' }).write('{')
    setImmediate(() => outgoing.destroy())
  },
}

const call = fc.record({ what: fc.constantFrom(...KINDS), name: fc.constantFrom('N-1', 'N-2') })
type Call = typeof call extends fc.Arbitrary<infer T> ? T : never

const step = fc.record({
  owner: fc.option(call, { nil: undefined }),
  strangers: fc.array(
    fc.record({
      call,
      /** Most have the owner's client id. */
      id: fc.constantFrom('demo', 'demo', 'somebody'),
      verdict: fc.constantFrom(...Object.keys(VERDICTS)),
    }),
    { maxLength: 3 },
  ),
  atOnce: fc.boolean(),
})
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

/** A service that accepts only the owner, and answers each stranger by the stranger's secret. */
async function openDoubtfulService() {
  const sandbox = await startSandbox({ credentials: { demo: 'demo-secret' } })
  const answer = async (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const { authorization = '', 'content-type': type = 'application/json' } = incoming.headers
    const body = await bytesOf(incoming)
    const [, verdict = ''] = Buffer.from(authorization.slice('Basic '.length), 'base64').toString().split(':')
    if (authorization !== OWNER) return VERDICTS[verdict]?.(outgoing)
    const { method = 'GET', url = '' } = incoming
    const sent = { method, headers: { authorization, 'content-type': type }, ...(body.length > 0 && { body }) }
    const reply = await fetch(sandbox.url + url, sent)
    return void outgoing.writeHead(reply.status).end(await reply.text())
  }
  return {
    service: await openService((incoming, outgoing) => void answer(incoming, outgoing), { acceptsAll: false }),
    sandbox,
  }
}

/** The visible parts of an answer, with names in place of random values. */
function createView() {
  const names = new Map<string, string>()
  const named = (lot: string) => {
    if (!names.has(lot)) names.set(lot, `lot ${names.size}`)
    return names.get(lot) ?? ''
  }
  return (answer: WholeAnswer) => seen(answer).replace(/[0-9a-f]{8}(-[0-9a-f]{4,12}){4}|bk_[0-9a-f]{12}/g, named)
}

interface Trace {
  readonly owner: readonly string[]
  readonly strangers: readonly string[]
  /** The stored claims and names, without random values. */
  readonly rows: readonly string[]
}

/** Gateways close in the background, because each takes half a second. */
const closing: Promise<void>[] = []

async function play(steps: readonly Step[], who: 'all' | 'owner' | 'strangers'): Promise<Trace> {
  const { service, sandbox } = await openDoubtfulService()
  const gateway = await startGateway({ serviceUrl: service.url })
  const [viewOfOwner, viewOfStrangers] = [createView(), createView()]
  const owner: string[] = []
  const strangers: string[] = []
  // The service has accepted a credential: before that, failures of strangers count for the circuit.
  expect((await CALLS.quote(gateway, 'FIRST', { authorization: OWNER })).status).toBe(200)
  for (const { owner: own, strangers: others, atOnce } of steps) {
    const works: (() => Promise<unknown>)[] = []
    const add = (told: string[], view: (answer: WholeAnswer) => string, { what, name }: Call, authorization: string) =>
      works.push(async () => told.push(view(await CALLS[what](gateway, name, { authorization }))))
    if (who !== 'owner') {
      for (const { call: one, id, verdict } of others) add(strangers, viewOfStrangers, one, basic(id, verdict))
    }
    if (own && who !== 'strangers') add(owner, viewOfOwner, own, OWNER)
    if (atOnce) await Promise.all(works.map((work) => work()))
    else for (const work of works) await work()
  }
  const claims = await gateway.store.listClaims({})
  const rows = claims.map(({ tenant, state, reference }) => `${tenant} ${state} ${reference}`)
  for (const { tenant, kind, name } of await linksOf(gateway.store)) rows.push(`${tenant} ${kind} ${name}`)
  closing.push(gateway.gateway.close(), sandbox.close())
  // The order of the strangers' answers does not matter.
  return { owner, strangers: strangers.sort(), rows: rows.filter((row) => !/[0-9a-f]{8}-|TL-/.test(row)).sort() }
}

test('a refused credential leaves no trace that another caller can see', async () => {
  const { rows: untouched } = await play([], 'owner')
  let refused = 0
  let booked = 0
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 6 }), async (steps) => {
      const [all, ownerAlone, strangersAlone] = await Promise.all([
        play(steps, 'all'),
        play(steps, 'owner'),
        play(steps, 'strangers'),
      ])
      expect(all.owner).toEqual(ownerAlone.owner)
      expect(all.rows).toEqual(ownerAlone.rows)
      expect(all.strangers).toEqual(strangersAlone.strangers)
      expect(strangersAlone.rows).toEqual(untouched)
      refused += all.strangers.length
      booked += all.owner.filter((answer) => answer.includes('"Yes"')).length
    }),
    { numRuns: runs(5, 15) },
  )
  await Promise.all(closing)
  expect(refused).toBeGreaterThan(size(0, 50))
  // A sample may contain no booking.
  expect(booked).toBeGreaterThanOrEqual(size(0, 10))
}, 120_000)
