/** Promise: names and VINs mean one thing, are never overruled, and stay valid, on PostgreSQL (contract, section 6). */

import { afterAll } from 'vitest'
import { openPlaces } from '../store/places.ts'
import { edgeTests } from './edge.ts'

const places = openPlaces()
afterAll(() => places.close())

edgeTests(async () => (await places.postgres()).open(), ['tenants'])
