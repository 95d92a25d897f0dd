/** Promise: the same names and VIN mean the same thing to every call, by five laws (contract, section 6). */

import { expect, test } from 'vitest'
import { openNames } from '../../src/state/names/names.ts'
import { chooseVehicle } from '../../src/state/names/resolve.ts'
import { size } from '../size.ts'
import { type Trial, tryWorlds } from './laws.ts'

const shown = ({ violations }: Trial) => violations.map((one) => JSON.stringify(one))

/** This takes seconds on a free processor, but longer on a busy machine. */
const LONG_MS = 600_000

test('every call of every small world means what the laws say', { timeout: LONG_MS }, async () => {
  const trial = await tryWorlds({ openNames, chooseVehicle }, 10, 10)
  expect(shown(trial)).toEqual([])
  expect(trial.cases).toBeGreaterThan(size(18_000, 200_000))
  // Each row of the table with each outcome.
  expect([...trial.seen.keys()].toSorted()).toMatchInlineSnapshot(`
    [
      "a vehicle of one of them: cancel: several",
      "a vehicle of one of them: cancel: shipment",
      "a vehicle of one of them: read: shipment",
      "a vehicle of one of them: update: shipment",
      "a vehicle without a VIN: cancel: several",
      "a vehicle without a VIN: cancel: shipment",
      "a vehicle without a VIN: read: shipment",
      "a vehicle without a VIN: update: shipment",
      "anything else: cancel: several",
      "anything else: read: no-such-vehicle",
      "anything else: update: several",
      "conflict",
      "in-doubt",
      "no VIN, one shipment: cancel: shipment",
      "no VIN, one shipment: read: shipment",
      "no VIN, one shipment: update: several",
      "no VIN, one shipment: update: shipment",
      "no VIN, several shipments: cancel: several",
      "no VIN, several shipments: read: shipment",
      "no VIN, several shipments: update: several",
      "one shipment of one vehicle: cancel: several",
      "one shipment of one vehicle: read: no-such-vehicle",
      "one shipment of one vehicle: update: several",
      "one shipment of one vehicle: update: shipment",
      "quote",
      "unknown",
    ]
  `)
})
