import { registerHooks } from 'node:module'
import { mistaken } from './protocol/mistakes.ts'

/* Import this before a program to give its code the mistake that `MISTAKE` names. */
registerHooks({
  load(url, context, next) {
    const loaded = next(url, context)
    const isOurs = url.includes('/src/') && !url.includes('/node_modules/')
    return isOurs ? { ...loaded, source: mistaken(`${process.env['MISTAKE']}`, url, `${loaded.source}`) } : loaded
  },
})
