/** Promise: names and VINs mean one thing, are never overruled, and stay valid, on the embedded store (contract, section 6). */

import { createMemoryStore } from '../../src/outside/store/sqlite/sqlite.ts'
import { meaningTests } from './meaning.ts'

meaningTests(async () => createMemoryStore())
