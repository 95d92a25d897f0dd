import { registerHooks } from 'node:module'
import { MISTAKES, mistaken } from './mistakes.ts'
import { SCENARIOS } from './scenarios.ts'

/*
 * Explores the code with each of the mistakes, and prints a line of JSON for each. Its argument is the depth. A module that is imported
 * with `?mistake=` and a name has that mistake, and so does everything that it imports.
 */

const queryIn = (url = '') => (url.includes('?mistake=') ? url.slice(url.indexOf('?')) : '')

registerHooks({
  resolve(specifier, context, next) {
    const resolved = next(specifier, context)
    const isOurs = specifier.startsWith('.') && !resolved.url.includes('/node_modules/')
    const isPlain = isOurs && !resolved.url.includes('?')
    return isPlain ? { ...resolved, url: resolved.url + queryIn(context.parentURL) } : resolved
  },
  load(url, context, next) {
    const loaded = next(url, context)
    const name = decodeURIComponent(queryIn(url).replace('?mistake=', ''))
    const [file = ''] = url.split('?')
    return name === '' ? loaded : { ...loaded, source: mistaken(name, file, `${loaded.source}`) }
  },
})

for (const [name, [breaks, scenario]] of MISTAKES) {
  const { explore }: typeof import('./explore.ts') = await import(`./explore.ts?mistake=${encodeURIComponent(name)}`)
  const { states, violation } = await explore(SCENARIOS[scenario], Number(process.argv[2]), breaks)
  process.stdout.write(`${JSON.stringify({ name, states, violation })}\n`)
}
