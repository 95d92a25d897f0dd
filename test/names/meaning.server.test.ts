/** Promise: names and VINs mean one thing, are never overruled, and stay valid, on PostgreSQL (contract, section 6). */

import { afterAll, beforeAll } from 'vitest'
import { openPlaces } from '../store/places.ts'
import { meaningTests } from './meaning.ts'

const places = openPlaces()
// The server takes a while to start.
beforeAll(() => places.postgres())
afterAll(() => places.close())

meaningTests(async () => (await places.postgres()).open(), true)
