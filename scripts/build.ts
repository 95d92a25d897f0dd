import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { join } from 'node:path'
import { type OutputOptions, type RolldownBuild, rolldown } from 'rolldown'

/*
 * Builds what the package and the image run: `dist/src/main.js`, its threads, and the parts that are loaded late. Most
 * packages are included, because hundreds of small modules would double the start and take ten megabytes more.
 */

const ROOT = join(import.meta.dirname, '..')
const OUT = join(ROOT, 'dist/src')

/** The programs: the gateway, and the threads of its embedded store, which are found beside it. */
const PROGRAMS = {
  main: 'src/main.ts',
  'writer-thread': 'src/outside/store/sqlite/writer-thread.ts',
}

/** Packages that few gateways load, or that others must find as the same copy. The code of all others is included. */
const APART = ['@opentelemetry/api', 'csv-parse', 'pg', 'prom-client']

const isApart = (id: string) => APART.some((name) => id === name || id.startsWith(`${name}/`))

/**
 * The parts that a gateway loads one after the other: each is one file, because each further file takes time at the start. A
 * container runs the health check again and again.
 */
const PARTS = {
  start: ['src/operator/cli.ts'],
  healthcheck: ['src/operator/commands/healthcheck.ts'],
  thread: ['src/operator/commands/early-thread.ts'],
  serve: ['src/operator/commands/serve.ts', 'src/outside/store/sqlite/sqlite.ts'],
  gateway: ['src/gateway.ts'],
}

// Comments would be read at every start.
const FORM: OutputOptions = { format: 'esm', chunkFileNames: '[name]-[hash].js', comments: false }

/** Gives each module to the first part that needs it at once. */
async function partOfModules(bundle: RolldownBuild): Promise<ReadonlyMap<string, string>> {
  const { output } = await bundle.generate(FORM)
  const chunks = new Map(output.flatMap((file) => (file.type === 'chunk' ? [[file.fileName, file]] : [])))
  const partOf = new Map<string, string>()
  const seen = new Set<string>()
  const take = (fileName: string, part: string) => {
    const chunk = chunks.get(fileName)
    if (!chunk || seen.has(fileName)) return
    seen.add(fileName)
    for (const imported of chunk.imports) take(imported, part)
    for (const id of chunk.moduleIds) partOf.set(id, part)
  }
  for (const [part, modules] of Object.entries(PARTS)) {
    for (const chunk of chunks.values()) {
      if (modules.some((path) => chunk.moduleIds.includes(join(ROOT, path)))) take(chunk.fileName, part)
    }
  }
  // It waits for the command: a part that imports from its file would wait for ever.
  partOf.delete(join(ROOT, PROGRAMS.main))
  return partOf
}

rmSync(join(ROOT, 'dist'), { recursive: true, force: true })
const modules = new Set<string>()
// One by one: a thread would start later from files that it shares with the others.
for (const [name, path] of Object.entries(PROGRAMS)) {
  const bundle = await rolldown({
    cwd: ROOT,
    input: { [name]: path },
    platform: 'node',
    preserveEntrySignatures: 'allow-extension',
    external: (id) => isBuiltin(id) || isApart(id),
  })
  const partOf = await partOfModules(bundle)
  const groups = Object.keys(PARTS).map((part) => ({ name: part, test: (id: string) => partOf.get(id) === part }))
  const codeSplitting = { includeDependenciesRecursively: false, groups }
  const { output } = await bundle.write({ ...FORM, dir: OUT, codeSplitting })
  for (const file of output) if (file.type === 'chunk') for (const id of file.moduleIds) modules.add(id)
  await bundle.close()
}

// Served to browsers as it stands.
copyFileSync(join(ROOT, 'src/operator/pages/workbench-client.js'), join(OUT, 'workbench-client.js'))

// The licenses of the included packages require their text beside every copy.
const licenses = join(ROOT, 'dist/licenses')
mkdirSync(licenses)
const PACKAGE = /\/node_modules\/((?:@[^/]+\/)?[^/]+)\//
for (const name of new Set([...modules].flatMap((path) => PACKAGE.exec(path)?.[1] ?? []))) {
  const from = join(ROOT, 'node_modules', name)
  const { version } = JSON.parse(readFileSync(join(from, 'package.json'), 'utf8'))
  const license = readdirSync(from).find((file) => /^licen[cs]e/i.test(file))
  if (license === undefined) throw new Error(`${name} has no license file`)
  const text = readFileSync(join(from, license), 'utf8')
  const to = `${name.replaceAll(/[@/]+/g, '-').replace(/^-/, '')}.txt`
  writeFileSync(join(licenses, to), `${name} ${version}\n\n${text}`)
}
