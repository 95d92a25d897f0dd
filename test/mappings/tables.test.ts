/** Promise: a change to a shipped table is reviewed (contract, section 4). */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { tables } from '../../mappings/index.ts'
import { knownStates, stateCodes } from '../../mappings/us-states.ts'

describe('tables', () => {
  /*
   * A lookup table is data that no rule can prove. It is compared with the reviewed data: `docs/lookups.json`, and for states the list
   * below. A change to an entry must be made in both.
   */

  type Table = Readonly<Record<string, string>>

  const documented: Readonly<Record<string, Table>> = JSON.parse(
    readFileSync(join(import.meta.dirname, '../../docs/lookups.json'), 'utf8'),
  )

  test.each(Object.entries(tables))('%s are as documented', (name, table) => {
    expect(Object.keys(table).length).toBeGreaterThan(50)
    expect(documented[name]).toEqual(table)
  })

  /** The codes of the postal service: states, the federal district, territories, military mail. */
  const POSTAL = `
  AL Alabama, AK Alaska, AZ Arizona, AR Arkansas, CA California, CO Colorado, CT Connecticut, DE Delaware, FL Florida, GA Georgia,
  HI Hawaii, ID Idaho, IL Illinois, IN Indiana, IA Iowa, KS Kansas, KY Kentucky, LA Louisiana, ME Maine, MD Maryland,
  MA Massachusetts, MI Michigan, MN Minnesota, MS Mississippi, MO Missouri, MT Montana, NE Nebraska, NV Nevada,
  NH New Hampshire, NJ New Jersey, NM New Mexico, NY New York, NC North Carolina, ND North Dakota, OH Ohio, OK Oklahoma, OR Oregon,
  PA Pennsylvania, RI Rhode Island, SC South Carolina, SD South Dakota, TN Tennessee, TX Texas, UT Utah, VT Vermont, VA Virginia,
  WA Washington, WV West Virginia, WI Wisconsin, WY Wyoming`

  const OTHERS = `
  DC District of Columbia, DC Washington DC, PR Puerto Rico, GU Guam, VI Virgin Islands, VI US Virgin Islands,
  VI United States Virgin Islands, AS American Samoa, MP Northern Mariana Islands, AA Armed Forces Americas, AE Armed Forces Europe,
  AP Armed Forces Pacific`

  test('the states are those of the postal service', () => {
    const entries = [...POSTAL.split(','), ...OTHERS.split(',')].map((entry): [string, string] => {
      const [code = '', ...name] = entry.trim().split(' ')
      return [name.join('').toUpperCase(), code]
    })
    expect(entries).toHaveLength(62)
    expect([...stateCodes].sort()).toEqual(entries.sort())
    expect([...knownStates].sort()).toEqual([...new Set(entries.map(([, code]) => code))].sort())
  })
})
