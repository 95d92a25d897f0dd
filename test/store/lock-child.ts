import { createInterface } from 'node:readline'
import { openStore } from '../../src/outside/store/open.ts'

/** A process that holds a lock, and reports on request whether it still holds it. */
const [address = '', key = ''] = process.argv.slice(2)
const PATIENT_MS = 60_000
const store = await openStore(address)
await store.exclusive(key, PATIENT_MS, async (isHeld) => {
  process.stdout.write('held\n')
  for await (const _ of createInterface(process.stdin)) process.stdout.write(isHeld() ? 'held\n' : 'lost\n')
})
