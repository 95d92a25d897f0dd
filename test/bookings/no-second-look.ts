import { registerHooks } from 'node:module'

/* To be imported before the gateway: a claim is not looked at again before its request is written. */
const FILE = '/src/bookings/leases.ts'
const LOOK = /return \(\) => isHeldSince.*/

registerHooks({
  load(url, context, next) {
    const loaded = next(url, context)
    if (!url.endsWith(FILE)) return loaded
    const source = String(loaded.source)
    if (!LOOK.test(source)) throw new Error(`There is no second look in ${FILE}.`)
    return { ...loaded, source: source.replace(LOOK, 'return () => true') }
  },
})
