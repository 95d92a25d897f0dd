/** Promise: tenants that use the same numbers never meet (contract, section 5). */

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { get, post, type WholeAnswer } from '../gateway.ts'
import { runs } from '../size.ts'
import { as, atService, CALLS, type Edge, KINDS, named, openEdge, seen } from './tenants-gateway.ts'

const NAMES = ['acme', 'beta', 'gamma'] as const
type Name = (typeof NAMES)[number]

const WHATS = [...KINDS, 'dry run', 'pass through'] as const
/** The operations of one tenant with numbers that the others also use. */
const operation = fc.record({
  who: fc.constantFrom(...NAMES),
  what: fc.constantFrom(...WHATS),
  number: fc.constantFrom('1', '2', '3'),
})

const OWNERS: Readonly<Record<string, Name>> = Object.fromEntries(NAMES.map((name) => [atService(name), name]))

/** Performs an operation with data that name the tenant, and returns the tenant's answer. */
function act(edge: Edge, who: Name, what: (typeof WHATS)[number], number: string): Promise<WholeAnswer> {
  const own = { BillToName: `${who}-customer`, PickupName: `${who}-name`, BillToContact: `${who}-contact` }
  if (what === 'dry run') return post(edge, '/dry-run/updateShipment.php', { ReferenceNumber: number }, as(who))
  if (what === 'pass through') return get(edge, `/v2/shipments/${number}`, as(who))
  return CALLS[what](edge, number, as(who), own)
}

test('tenants that use the same numbers never meet', async () => {
  const edge = await openEdge(named(NAMES))
  let run = 0
  let successes = 0
  let made = 0
  const law = fc.asyncProperty(
    fc.array(operation, { minLength: 5, maxLength: 25 }),
    fc.boolean(),
    async (all, atOnce) => {
      edge.sandbox.clear()
      run += 1
      made += all.length
      const operations = all.map((one) => ({ ...one, number: `R-${run}-${one.number}` }))
      const answers: WholeAnswer[] = []
      const make = async ({ who, what, number }: (typeof operations)[number], i: number) => {
        answers[i] = await act(edge, who, what, number)
      }
      if (atOnce) await Promise.all(operations.map(make))
      else for (const [i, one] of operations.entries()) await make(one, i)

      // The owner of each thing at the service, by the credential that made it.
      const owners = new Map<string, Name>()
      for (const [id, { client }] of edge.sandbox.quotes) owners.set(id, client.replace('-v2', '') as Name)
      for (const [id, shipment] of edge.sandbox.shipments) {
        const maker = NAMES.find((name) => JSON.stringify(shipment).includes(`${name}-`))
        if (maker) owners.set(id, maker)
      }
      // No request names another tenant's thing.
      for (const { path, headers } of edge.sandbox.requests) {
        const owner = owners.get(/[0-9a-f]{8}-[0-9a-f-]{27}/.exec(path)?.[0] ?? '')
        if (owner) expect(owner).toBe(OWNERS[headers.authorization ?? ''])
      }
      // No answer contains another tenant's data.
      for (const [i, { who }] of operations.entries()) {
        if (answers[i]?.status === 200) successes += 1
        const told = seen(answers[i] ?? expect.fail())
        for (const other of NAMES) if (other !== who) expect(told).not.toContain(`${other}-`)
        for (const [id, owner] of owners) if (owner !== who) expect(told).not.toContain(id)
      }
      // Each tenant's booking is made, even if others have booked under that number.
      const booked = [...edge.sandbox.shipments].map(([id, { external_id }]) => `${owners.get(id)} ${external_id}`)
      for (const { what, who, number } of operations) if (what === 'book') expect(booked).toContain(`${who} ${number}`)
    },
  )
  await fc.assert(law, { numRuns: runs(8, 40) })
  expect(successes).toBeGreaterThan(made / 5)
}, 30_000)
