/** Promise: names and VINs mean one thing, are never overruled, and stay valid, on PostgreSQL (contract, section 6). */

import { afterAll, beforeAll } from 'vitest'
import { openPlaces } from '../store/places.ts'
import { edgeTests } from './edge.ts'

const places = openPlaces()
// The server takes a while to start.
beforeAll(() => places.postgres())
afterAll(() => places.close())

edgeTests(async () => (await places.postgres()).open(), ['tenants'])
