/** Promise: if the service does not answer, the caller learns what may have been done (contract, section 9). */

import { test } from 'vitest'
import { play, storiesIn } from '../bookings/stories.ts'

test.each(storiesIn(import.meta.dirname, 'no-answer.txt'))('%s', (_, steps) => play(steps))
