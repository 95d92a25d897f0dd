/** Promise: the image is built, runs without root, keeps its data and stops (contract, section 11). */

import {
  copyFileSync,
  cpSync,
  globSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { book, openSandbox } from '../bookings/desk.ts'
import { cleanEnv, newFolder, output, ROOT, run, start } from '../command.ts'
import { freePort } from '../free-port.ts'

/*
 * Builds the Dockerfile with Buildah, and runs the image. A replacement for the base image is made from the programs of this machine that
 * the Dockerfile runs, with the Node of the tests.
 */

const BUILD_MS = 600_000
const { version, devDependencies, license } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
const BASE = `localhost/node:${devDependencies.node}-slim`
const IMAGE = 'localhost/transload'

const folder = newFolder('image')
const options = { env: cleanEnv({ BUILDAH_ISOLATION: 'chroot' }) }
const storage = ['--root', join(folder, 'storage'), '--runroot', join(folder, 'run')]
const buildah = async (...words: readonly string[]) => (await output('buildah', [...storage, ...words], options)).trim()
const build = (...words: readonly string[]) =>
  buildah('bud', '--quiet', '--format', 'docker', '--network', 'host', ...words)

beforeAll(async () => {
  const base = await buildah('from', 'scratch')
  const root = await buildah('mount', base)
  const put = (from: string, to = from) => {
    mkdirSync(join(root, dirname(to)), { recursive: true })
    copyFileSync(realpathSync(from), join(root, to))
  }
  const programs = ['sh', 'env', 'ln', 'mkdir', 'chown'].map((name) => `/usr/bin/${name}`)
  const addons = globSync(join(ROOT, 'node_modules/@*/*/*.node'))
  const libraries = (await output('ldd', [...programs, process.execPath, ...addons])).match(/\/\S+\.so\S*/g) ?? []
  for (const path of new Set([...programs, ...libraries])) put(path)
  put(process.execPath, '/usr/local/bin/node')
  for (const name of ['tmp', 'root', 'etc']) mkdirSync(join(root, name), { recursive: true })
  symlinkSync('usr/bin', join(root, 'bin'))
  const npm = async (...words: readonly string[]) => (await output('npm', words, options)).trim()
  cpSync(join(await npm('root', '--global'), 'npm'), join(root, 'usr/local/lib/node_modules/npm'), { recursive: true })
  symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', join(root, 'usr/local/bin/npm'))
  // The certificate authorities and packages of this machine, where npm looks for them.
  const authorities = '/etc/ssl/certs/ca-certificates.crt'
  put(authorities)
  mkdirSync(join(root, 'usr/local/etc'), { recursive: true })
  writeFileSync(join(root, 'usr/local/etc/npmrc'), `cafile=${authorities}\nprefer-offline=true\n`)
  await buildah('config', '--env', 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', base)
  await buildah('commit', '--quiet', '--disable-compression', '--rm', base, BASE)
  const cache = await npm('config', 'get', 'cache')
  await build('--tag', IMAGE, '--build-arg', `NODE_IMAGE=${BASE}`, '--volume', `${cache}:/root/.npm`, ROOT)
}, BUILD_MS)

afterAll(async () => {
  await buildah('rm', '--all')
  await buildah('rmi', '--all', '--force')
  rmSync(folder, { recursive: true, force: true })
}, BUILD_MS)

test('the image identifies itself, and has the files that it needs and no others', async () => {
  const { Docker } = JSON.parse(await buildah('inspect', '--type', 'image', IMAGE))
  expect(Docker.config).toMatchObject({
    User: '1000:1000',
    ExposedPorts: { '8080/tcp': {} },
    Volumes: { '/app/data': {} },
    WorkingDir: '/app',
    StopSignal: 'SIGTERM',
    Healthcheck: { Test: ['CMD', 'node', 'dist/src/main.js', 'healthcheck'] },
    Labels: {
      'org.opencontainers.image.version': version,
      'org.opencontainers.image.licenses': license,
      'org.opencontainers.image.base.name': BASE,
    },
  })
  const app = join(await buildah('mount', await buildah('from', '--name', 'first', IMAGE)), 'app')
  const files = ['LICENSE', 'bin', 'data', 'dist', 'node_modules', 'package.json']
  expect(readdirSync(app).sort()).toEqual(files.sort())
  const { packages } = JSON.parse(readFileSync(join(app, 'node_modules/.package-lock.json'), 'utf8'))
  for (const name of ['vitest', 'typescript', 'node']) expect(packages).not.toHaveProperty([`node_modules/${name}`])
  const strays = readdirSync(join(app, 'dist'), { recursive: true, encoding: 'utf8' }).filter(
    (path) => lstatSync(join(app, 'dist', path)).isFile() && !/\.(js|txt)$/.test(path),
  )
  expect(strays).toEqual([])
})

test(
  'a container serves as its user, is healthy, stops in its grace, and keeps its data over a restart',
  async () => {
    const sandbox = await openSandbox()
    const { Docker } = JSON.parse(await buildah('inspect', '--type', 'image', IMAGE))
    const { Cmd } = Docker.config
    const data = join(folder, 'data')
    await output('install', ['--directory', '--owner=1000', '--group=1000', data])

    async function up(container: string) {
      const [port, adminPort] = [await freePort(), await freePort()]
      const settings = { PORT: port, ADMIN_PORT: adminPort, V2_BASE_URL: sandbox.url }
      const env = Object.entries(settings).flatMap(([name, value]) => ['--env', `${name}=${value}`])
      const inside = (...words: readonly string[]) => [
        ...[...storage, 'run', '--network', 'host', '--volume', `${data}:/app/data`, ...env, container, '--'],
        ...words,
      ]
      // The shell becomes the program, so that its process gets signals, as from a container runtime.
      const running = start('buildah', inside('sh', '-c', 'echo "process $$"; exec "$@"', 'sh', ...Cmd), options)
      const id = Number(/process (\d+)/.exec(await running.says(/process \d+/))?.[1])
      await running.says(/"msg":"listening"/)
      return {
        id,
        stop: async () => {
          process.kill(id, 'SIGTERM')
          expect(await running.ended).toMatchObject({ code: 0 })
        },
        book: async () => {
          const { status, json, headers } = await book({ url: `http://127.0.0.1:${port}` })
          return { status, again: headers.get('idempotent-replayed'), ...json }
        },
        runs: (...words: readonly string[]) => run('buildah', inside(...words), options),
      }
    }

    const first = await up('first')
    expect(readFileSync(`/proc/${first.id}/status`, 'utf8')).toMatch(/^Uid:\t1000\t1000\t1000\t1000$/m)
    const [, ...check] = Docker.config.Healthcheck.Test
    expect(await first.runs(...check)).toMatchObject({ code: 0 })
    const { code, out } = await first.runs('transload', '--version')
    expect([code, out.trim()]).toEqual([0, `transload ${version}`])
    const booked = await first.book()
    expect(booked).toMatchObject({ status: 200, again: null, TransportationBooked: 'Yes' })
    expect(lstatSync(join(data, 'transload.db'))).toMatchObject({ uid: 1000 })
    await first.stop()
    expect((await first.runs(...check)).code).not.toBe(0)

    const second = await up(await buildah('from', IMAGE))
    expect(await second.book()).toEqual({ ...booked, again: 'true' })
    await second.stop()
    expect(sandbox.shipments.size).toBe(1)
  },
  BUILD_MS,
)
