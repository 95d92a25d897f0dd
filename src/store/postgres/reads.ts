import type pg from 'pg'
import { thingOf } from '../rows.ts'
import type { Link, Thing } from '../store.ts'
import { inBatches, rowByItem, rowsByItem } from './batches.ts'
import { LINK_ORDER, storedLink } from './links.ts'

/** `OFFSET` keeps a look-up of each row of parameters: a join would be planned for the size that the table had once. */
const LINKS = `SELECT nth, link.* FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS wanted (tenant, name, nth)
  CROSS JOIN LATERAL (SELECT tenant, name, kind, vin, id, at, turn FROM transload.links AS stored
    WHERE stored.tenant = wanted.tenant AND stored.name = wanted.name OFFSET 0) AS link
  ORDER BY ${LINK_ORDER}`

const THINGS = `SELECT nth, thing.* FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS wanted (tenant, id, nth)
  CROSS JOIN LATERAL (SELECT own, facts, at FROM transload.things AS stored
    WHERE stored.tenant = wanted.tenant AND stored.id = wanted.id OFFSET 0) AS thing`

/** Returns a function that finds every link of a name, in the order of the contract. */
export function createLinks(pool: pg.Pool): (wanted: Pick<Link, 'tenant' | 'name'>) => Promise<readonly Link[]> {
  return inBatches<Pick<Link, 'tenant' | 'name'>, readonly Link[]>(pool, {
    name: 'links',
    text: LINKS,
    valuesOf: (all) => [all.map(({ tenant }) => tenant), all.map(({ name }) => name)],
    answersOf(rows, all) {
      const rowsOf = rowsByItem(rows, all)
      return (index) => rowsOf(index).map(storedLink)
    },
  })
}

/** Returns a function that finds a thing. */
export function createThing(pool: pg.Pool): (wanted: Pick<Thing, 'tenant' | 'id'>) => Promise<Thing | undefined> {
  return inBatches<Pick<Thing, 'tenant' | 'id'>, Thing | undefined>(pool, {
    name: 'thing',
    text: THINGS,
    valuesOf: (all) => [all.map(({ tenant }) => tenant), all.map(({ id }) => id)],
    answersOf(rows, all) {
      const rowOf = rowByItem(rows, all)
      return (index) => {
        const [wanted, row] = [all[index], rowOf(index)]
        return wanted && row && thingOf(wanted.tenant, wanted.id, row)
      }
    },
  })
}
