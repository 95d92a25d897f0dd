/** Promise: a quote that is approved and then booked becomes one shipment, and is approved once (contract, section 7). */

import { test } from 'vitest'
import { play, storiesIn } from './stories.ts'

test.each(storiesIn(import.meta.dirname, 'approved.txt'))('%s', (_, steps) => play(steps))
