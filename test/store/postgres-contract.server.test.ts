/** Promise: PostgreSQL keeps the contract of all stores (contract, section 7). */

import { testEngine } from './engine.ts'

testEngine('postgres')
