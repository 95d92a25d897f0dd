import type pg from 'pg'
import { thingOf } from '../rows.ts'
import type { Link, Thing } from '../store.ts'
import { inBatches, rowByItem, rowsByItem } from './batches.ts'
import { LINK_ORDER, storedLink } from './links.ts'

// Not prepared: a plan that was made while a table was small reads all of it, and an import makes it large within minutes.

const LINKS = `SELECT nth, stored.* FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS wanted (tenant, name, nth)
  JOIN transload.links AS stored USING (tenant, name) ORDER BY ${LINK_ORDER}`

const THINGS = `SELECT nth, own, facts, at FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS wanted (tenant, id, nth)
  JOIN transload.things AS stored USING (tenant, id)`

/** Returns a function that finds every link of a name, in the order of the contract. */
export function createLinks(pool: pg.Pool): (wanted: Pick<Link, 'tenant' | 'name'>) => Promise<readonly Link[]> {
  return inBatches<Pick<Link, 'tenant' | 'name'>, readonly Link[]>(pool, {
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
