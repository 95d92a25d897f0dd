/** Promise: of several servers the right one is chosen, or none (contract, section 11). */

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { NoServer } from '../../src/store/postgres/errors.ts'
import { Ambiguous, type Answer, chooseServer, type Identity, type Role } from '../../src/store/postgres/servers.ts'

const at = (timeline: number, cluster = 'c', started = `${cluster} ${timeline}`): Identity => ({
  cluster,
  timeline,
  started,
})
const primary = (identity?: Identity): Role => ({ kind: 'primary', identity })
const standby: Role = { kind: 'standby' }
const readOnly: Role = { kind: 'read-only' }
const down: Role = { kind: 'down', error: new Error('connect ECONNREFUSED') }

const answersOf = (...roles: readonly Role[]): readonly Answer[] =>
  roles.map((role, index) => ({ server: { place: `h${index + 1}:5432`, connection: {} }, role }))

const choose = (roles: readonly Role[], newest?: Identity) => {
  const { chosen, notices } = chooseServer(answersOf(...roles), newest)
  return { place: chosen.server.place, notices }
}

test.each<[what: string, roles: readonly Role[], place: string, newest?: Identity]>([
  ['the one that takes writes', [standby, down, primary(at(3)), readOnly], 'h3:5432'],
  ['one that does not tell its timeline, if it is alone,', [standby, primary()], 'h2:5432'],
  ['the first of two addresses of one server', [primary(at(1)), primary(at(1))], 'h1:5432'],
  ['one of another cluster', [primary(at(1, 'new'))], 'h1:5432', at(7, 'old')],
])('%s is chosen', (_what, roles, place, newest) => {
  expect(choose(roles, newest)).toEqual({ place, notices: [] })
})

test('no server is named with its reason', () => {
  expect(() => choose([standby, readOnly, down, primary(at(1))], at(2))).toThrow(
    new NoServer(
      'No server of STORE_URL takes writes: h1:5432 is a standby; h2:5432 is read-only (default_transaction_read_only); h3:5432 does not answer: connect ECONNREFUSED; h4:5432 is an old primary: it has timeline 1, and the gateway has used timeline 2.',
    ),
  )
})

test.each([
  ['of two clusters', [primary(at(1, 'a')), primary(at(2, 'b'))]],
  ['of the same timeline', [primary(at(1, 'a', '1')), primary(at(1, 'a', '2'))]],
  ['that do not tell', [primary(), primary()]],
  ['of which one does not tell', [primary(at(1)), primary()]],
] as const)('two servers %s are not used', (_what, roles) => {
  expect(() => choose(roles)).toThrow(Ambiguous)
  expect(() => choose(roles.toReversed())).toThrow(Ambiguous)
})

test('the highest timeline is chosen in any order, and never one below the newest', () => {
  const timelines = fc.uniqueArray(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 })
  fc.assert(
    fc.property(timelines, fc.integer({ min: 1, max: 9 }), (present, newest) => {
      const roles = present.map((timeline) => primary(at(timeline)))
      const highest = Math.max(...present)
      if (highest < newest) {
        expect(() => choose(roles, at(newest))).toThrow(NoServer)
        return
      }
      const { place, notices } = choose(roles, at(newest))
      expect(place).toBe(`h${present.indexOf(highest) + 1}:5432`)
      expect(notices.length).toBe(present.length - 1)
    }),
  )
})
