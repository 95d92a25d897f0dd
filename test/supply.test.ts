/** Promise: every package is known, licensed and pinned. */

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { cleanEnv, output, pathWithThisNode, ROOT } from './command.ts'

const manifest = z.object({
  version: z.string(),
  license: z.string(),
  dependencies: z.record(z.string(), z.string()).default({}),
  devDependencies: z.record(z.string(), z.string()).default({}),
})
const read = (path: string): unknown => JSON.parse(readFileSync(join(ROOT, path), 'utf8'))
const own = manifest.parse(read('package.json'))

const locked = z
  .object({
    packages: z.record(z.string(), z.object({ dev: z.boolean().default(false), optional: z.boolean().default(false) })),
  })
  .parse(read('package-lock.json')).packages

/** The packages that the gateway is installed with; npm leaves out optional ones that do not fit the machine. */
const production = Object.entries(locked).filter(([path, { dev }]) => path !== '' && !dev)

/** Licenses that ask for nothing but their own text. */
const ALLOWED = ['0BSD', 'Apache-2.0', 'BlueOak-1.0.0', 'BSD-2-Clause', 'BSD-3-Clause', 'ISC', 'MIT']

test('every package that the gateway is installed with has a license of the list', () => {
  expect(production.length).toBeGreaterThan(20)
  const installed = production.filter(([, { optional }]) => !optional).map(([path]) => path)
  const others = installed
    .map((path) => ({ path, license: z.object({ license: z.string() }).safeParse(read(`${path}/package.json`)).data }))
    .filter(({ license }) => !ALLOWED.includes(license?.license ?? 'none'))
  expect(others).toEqual([])
})

test('the documents say how many packages that is', () => {
  const told = /\*\*Installation\*\*: (\d+) packages/.exec(readFileSync(join(ROOT, 'docs/operations.md'), 'utf8'))?.[1]
  // With the gateway's own.
  expect(Number(told)).toBe(production.length + 1)
})

test('the sources import every dependency, and no package besides', () => {
  const imported = new Set(
    ['src', 'mappings'].flatMap((top) =>
      readdirSync(join(ROOT, top), { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.ts'))
        .flatMap((name) => [
          ...readFileSync(join(ROOT, top, name), 'utf8').matchAll(/(?:from|import\()\s*'([@a-z][^'\s]*)'/g),
        ])
        .map(([, name = '']) =>
          name.startsWith('@') ? name.split('/').slice(0, 2).join('/') : (name.split('/')[0] ?? ''),
        ),
    ),
  )
  // The template of a module imports the package itself.
  const packages = [...imported].filter((name) => !name.startsWith('node:') && name !== 'transload')
  expect(packages.sort()).toEqual(Object.keys(own.dependencies).sort())
})

test('every version is exact', () => {
  const versions = Object.values({ ...own.dependencies, ...own.devDependencies })
  expect(versions.filter((version) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))).toEqual([])
})

describe('npm run sbom', () => {
  const sbom = (more: NodeJS.ProcessEnv = {}) =>
    output(process.execPath, [join(ROOT, 'scripts/sbom.ts')], { env: cleanEnv({ PATH: pathWithThisNode(), ...more }) })

  test('lists what the gateway is installed with, by the hashes of the lock file', async () => {
    const bill = z
      .object({
        bomFormat: z.literal('CycloneDX'),
        metadata: z.object({ component: z.object({ name: z.literal('transload'), version: z.literal(own.version) }) }),
        components: z.array(
          z.object({
            name: z.string(),
            purl: z.string(),
            hashes: z.array(z.object({ alg: z.literal('SHA-512') })).min(1),
            licenses: z.array(z.unknown()).min(1),
          }),
        ),
      })
      .parse(JSON.parse(await sbom()))
    const listed = bill.components.map(({ name }) => `node_modules/${name}`)
    expect(listed.sort()).toEqual(production.map(([path]) => path).sort())
  })

  test('gives the same bytes each time, with the time that it is told', async () => {
    const [first, second, stamped] = await Promise.all([sbom(), sbom(), sbom({ SOURCE_DATE_EPOCH: '1700000000' })])
    expect(second).toBe(first)
    expect(first).not.toContain('timestamp')
    expect(JSON.parse(stamped).metadata.timestamp).toBe('2023-11-14T22:13:20.000Z')
  })
})

test('docker-bake.json builds both architectures of the version and the base image that the Dockerfile names', () => {
  const dockerfile = readFileSync(join(ROOT, 'Dockerfile'), 'utf8')
  const { variable, target } = z
    .object({
      variable: z.record(z.string(), z.object({ default: z.string() })),
      target: z.object({
        image: z.object({
          platforms: z.array(z.string()),
          tags: z.array(z.string()),
          args: z.record(z.string(), z.string()),
          labels: z.record(z.string(), z.string()),
          output: z.array(z.string()),
        }),
      }),
    })
    .parse(read('docker-bake.json'))
  const { image } = target
  expect(image.platforms).toEqual(['linux/amd64', 'linux/arm64'])
  expect(image.output).toEqual(['type=image,rewrite-timestamp=true'])
  expect(variable['VERSION']?.default).toBe(own.version)
  expect(dockerfile).toContain(`ARG NODE_IMAGE=${variable['NODE_IMAGE']?.default}\n`)
  expect(variable['NODE_IMAGE']?.default).toBe(`node:${own.devDependencies['node']}-slim`)
  // Every argument is one of the Dockerfile, and every variable that is used has a default.
  expect(Object.keys(image.args).filter((name) => !new RegExp(`^ARG ${name}\\b`, 'm').test(dockerfile))).toEqual([])
  const used = [...JSON.stringify(target).matchAll(/\$\{(\w+)\}/g)].map(([, name = '']) => name)
  expect(new Set(used)).toEqual(new Set(Object.keys(variable)))
})
