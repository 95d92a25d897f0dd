import { openStore } from '../../src/outside/store/open.ts'
import { named, newClaim, quote } from './samples.ts'

/** A process that writes as fast as it can, and reports each write when it is durable. */
const [path = '', round = ''] = process.argv.slice(2)
const WRITERS = 24
const store = await openStore(path)
let count = 0

async function writeOn(): Promise<never> {
  for (;;) {
    count += 1
    const name = `${round}-${count}`
    if (count % 3 === 0) {
      await store.claim(newClaim({ key: name }))
      process.stdout.write(`claim ${name}\n`)
    } else {
      await store.put({ names: [named({ name, id: name })], quote: quote({ id: name, own: name }) })
      process.stdout.write(`link ${name}\n`)
    }
  }
}

await Promise.all(Array.from({ length: WRITERS }, writeOn))
