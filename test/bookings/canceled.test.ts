/** Promise: canceling a booking in any way frees its key, and nothing else does (contract, section 7). */

import { test } from 'vitest'
import { play, storiesIn } from './stories.ts'

/* A read of the very id that the booking holds shows `canceled`, or finds nothing; test/doubt/numbers.txt has other spellings. */

test.each(storiesIn(import.meta.dirname, 'canceled.txt'))('%s', (_, steps) => play(steps))
