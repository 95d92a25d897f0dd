/** Promise: every package is known, licensed and pinned. */

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT } from './command.ts'

interface Manifest {
  readonly version: string
  readonly dependencies: Readonly<Record<string, string>>
  readonly devDependencies: Readonly<Record<string, string>>
}
const read = (path: string): unknown => JSON.parse(readFileSync(join(ROOT, path), 'utf8'))
const own = read('package.json') as Manifest

interface LockedPackage {
  readonly dev?: boolean
  readonly optional?: boolean
}
const locked = (read('package-lock.json') as { readonly packages: Readonly<Record<string, LockedPackage>> }).packages

/** The packages that are installed with the gateway; npm leaves out optional ones that do not fit the machine. */
const production = Object.entries(locked).filter(([path, { dev }]) => path !== '' && !dev)

/** Licenses that require nothing but their own text. */
const ALLOWED = ['0BSD', 'Apache-2.0', 'BlueOak-1.0.0', 'BSD-2-Clause', 'BSD-3-Clause', 'ISC', 'MIT']

test('every package that is installed with the gateway has a license from the list', () => {
  expect(production.length).toBeGreaterThan(20)
  const installed = production.filter(([, { optional }]) => !optional).map(([path]) => path)
  const others = installed
    .map((path) => ({ path, ...(read(`${path}/package.json`) as { license?: string }) }))
    .filter(({ license = 'none' }) => !ALLOWED.includes(license))
    .map(({ path, license }) => ({ path, license }))
  expect(others).toEqual([])
})

test('the documents give the number of these packages', () => {
  const told = /\*\*Installation\*\*: (\d+) packages/.exec(readFileSync(join(ROOT, 'docs/operations.md'), 'utf8'))?.[1]
  // Including the gateway's own.
  expect(Number(told)).toBe(production.length + 1)
})

test('the sources import every dependency, and no other package', () => {
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

test('docker-bake.json builds both architectures of the version and the base image that the Dockerfile names', () => {
  const dockerfile = readFileSync(join(ROOT, 'Dockerfile'), 'utf8')
  // biome-ignore lint/suspicious/noExplicitAny: the test checks its shape.
  const { variable, target } = read('docker-bake.json') as any
  const { image } = target
  expect(image.platforms).toEqual(['linux/amd64', 'linux/arm64'])
  expect(image.output).toEqual(['type=image,rewrite-timestamp=true'])
  expect(variable['VERSION']?.default).toBe(own.version)
  expect(dockerfile).toContain(`ARG NODE_IMAGE=${variable['NODE_IMAGE']?.default}\n`)
  expect(variable['NODE_IMAGE']?.default).toBe(`node:${own.devDependencies['node']}-slim`)
  // Every argument belongs to the Dockerfile or BuildKit, and every used variable has a default.
  const { SOURCE_DATE_EPOCH: _, ...args } = image.args
  expect(Object.keys(args).filter((name) => !new RegExp(`^ARG ${name}\\b`, 'm').test(dockerfile))).toEqual([])
  const used = [...JSON.stringify(target).matchAll(/\$\{(\w+)\}/g)].map(([, name = '']) => name)
  expect(new Set(used)).toEqual(new Set(Object.keys(variable)))
})
