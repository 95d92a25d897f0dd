import { setTimeout as pause } from 'node:timers/promises'

/* Takes a share of a processor until it is killed, and does nothing: node test/strangers/busy.ts <share> */

const SLICE_MS = 10
const share = Math.min(1, Number(process.argv[2]))

process.stdout.write('begun\n')
for (;;) {
  const until = performance.now() + SLICE_MS * share
  while (performance.now() < until);
  await pause(SLICE_MS * (1 - share))
}
