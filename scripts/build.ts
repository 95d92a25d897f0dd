import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { rolldown } from 'rolldown'

/*
 * Builds what the package and the image run: `dist/src/main.js`, its threads, and the parts that are loaded late. Some
 * packages are included, because hundreds of small modules would double the start and take ten megabytes more.
 */

const ROOT = join(import.meta.dirname, '..')
const OUT = join(ROOT, 'dist/src')

/** The programs: the gateway, and the threads of its embedded store, which are found beside it. */
const PROGRAMS = {
  main: 'src/main.ts',
  'writer-worker': 'src/store/sqlite/writer-worker.ts',
  'checkpoint-worker': 'src/store/sqlite/checkpoint-worker.ts',
}

/** The packages whose code is included. The others stay packages. */
const INCLUDED = ['zod', 'hono', '@hono/node-server']

const isIncluded = (id: string) => INCLUDED.some((name) => id === name || id.startsWith(`${name}/`))
/** The name of a package begins with a letter or an `@`. */
const isPackage = (id: string) => /^(?:node:|@?[a-z])/.test(id) && !id.startsWith('src/')

rmSync(join(ROOT, 'dist'), { recursive: true, force: true })
const bundle = await rolldown({
  cwd: ROOT,
  input: PROGRAMS,
  platform: 'node',
  external: (id) => isPackage(id) && !isIncluded(id),
})
await bundle.write({ dir: OUT, format: 'esm', chunkFileNames: '[name]-[hash].js' })
await bundle.close()

// The licenses of the included packages require their text beside every copy.
const licenses = join(ROOT, 'dist/licenses')
mkdirSync(licenses)
for (const name of INCLUDED) {
  const from = join(ROOT, 'node_modules', name)
  const { version } = JSON.parse(readFileSync(join(from, 'package.json'), 'utf8'))
  const to = join(licenses, `${name.replaceAll(/[@/]+/g, '-').replace(/^-/, '')}.txt`)
  cpSync(join(from, 'LICENSE'), to)
  writeFileSync(to, `${name} ${version}\n\n${readFileSync(to, 'utf8')}`)
}
