import { claimReads, claimWrites } from './claim.ts'
import { copyReads, copyWrites } from './copy.ts'
import { doubtReads, doubtWrites } from './doubt.ts'
import { eventReads, eventWrites } from './events.ts'
import { lockReads, lockWrites } from './locks.ts'
import { nameReads, nameWrites } from './names.ts'
import { pruneWrites } from './pruning.ts'
import { countReads, countWrites } from './scoreboard.ts'

/** Every read of the contract that both engines make in the same way. */
export const READS = {
  ...nameReads,
  ...claimReads,
  ...lockReads,
  ...eventReads,
  ...countReads,
  ...doubtReads,
  ...copyReads,
}

/** Every such write. */
export const WRITES = {
  ...nameWrites,
  ...claimWrites,
  ...lockWrites,
  ...eventWrites,
  ...countWrites,
  ...doubtWrites,
  ...pruneWrites,
  ...copyWrites,
}
