import { openStore } from '../../src/store/open.ts'
import { link } from './samples.ts'

/** A process that opens a store, writes a link, and ends. */
const [path = ''] = process.argv.slice(2)
const store = await openStore(path)
await store.put({ links: [link({ name: `process ${process.pid}` })] })
await store.close()
process.exit(0)
