/** Promise: a number is never mistaken for another thing's, and one thing in two spellings is one thing (contract, sections 6 and 7). */

import { test } from 'vitest'
import { play, storiesIn } from '../bookings/stories.ts'

test.each(storiesIn(import.meta.dirname, 'numbers.txt'))('%s', (_, steps) => play(steps))
