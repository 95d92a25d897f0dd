/** Promise: the image is built, runs without root and stops (contract, section 11). */

import { createHash } from 'node:crypto'
import {
  chmodSync,
  constants,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { cleanEnv, newFolder, output, pathWithThisNode, personalPath, ROOT, run, start } from '../command.ts'
import { freePort } from '../free-port.ts'
import { basic, CLIENT } from '../gateway.ts'
import { startSandbox } from '../stand-in/stand-in.ts'

/*
 * The container image without containers: every instruction of the Dockerfile is replayed in a folder, which stands for
 * the root of its stage. It proves the commands, the files and the user; not the base image.
 */

interface Stage {
  readonly root: string
  workdir: string
  env: Record<string, string>
  /** The last instruction of every other kind. */
  readonly told: Record<string, string>
}

const INSTALL_TWICE_MS = 300_000
/** The base image has the Node of the tests. */
const BASE = `node:${JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).devDependencies.node}-slim`
const AS_ROOT = process.getuid?.() === 0

const folder = newFolder('image')
let stages: ReadonlyMap<string, Stage> = new Map()

beforeAll(async () => {
  chmodSync(folder, 0o755)
  stages = await replay(join(folder, 'stages'), buildContext(join(folder, 'context')))
}, INSTALL_TWICE_MS)

// Removing so many files takes long on a busy disk.
afterAll(() => rmSync(folder, { recursive: true }), INSTALL_TWICE_MS)

test('the same sources build the same files', { timeout: INSTALL_TWICE_MS }, async () => {
  const again = await replay(join(folder, 'again'), join(folder, 'context'))
  const digests = digestsOf([...stages.values()].at(-1)?.root ?? '')
  expect(digests.length).toBeGreaterThan(1000)
  expect(digestsOf([...again.values()].at(-1)?.root ?? '')).toEqual(digests)
})

/** Returns the path, the rights and the content of every file below a folder, but not its times. */
function digestsOf(root: string): readonly string[] {
  return readdirSync(root, { recursive: true, encoding: 'utf8' })
    .sort()
    .map((path) => {
      const { mode } = lstatSync(join(root, path))
      const type = mode & constants.S_IFMT
      const content =
        type === constants.S_IFREG
          ? readFileSync(join(root, path))
          : type === constants.S_IFLNK
            ? readlinkSync(join(root, path))
            : ''
      return `${path} ${mode.toString(8)} ${createHash('sha256').update(content).digest('hex')}`
    })
}

test('the stages build, and the result serves, is healthy and stops, all without root', async () => {
  const image = [...stages.values()].at(-1)
  const builder = stages.get('build')
  if (!image || !builder) throw new Error('the Dockerfile has no stages')
  const at = (path: string) => join(image.root, image.workdir, path)

  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const { LABEL, USER, CMD = '', HEALTHCHECK = '', ...told } = image.told
  expect(LABEL).toContain(`org.opencontainers.image.version="${version}"`)
  expect(LABEL).toContain(`org.opencontainers.image.base.name="${BASE}"`)
  expect(USER).toMatch(/^1000(:|$)/)
  expect(told).toEqual({ EXPOSE: '8080', VOLUME: join(image.workdir, 'data'), STOPSIGNAL: 'SIGTERM' })
  expect(existsSync(at('node_modules/vitest'))).toBe(false)
  expect(existsSync(at('src'))).toBe(false)
  const installed = Object.keys(JSON.parse(readFileSync(at('node_modules/.package-lock.json'), 'utf8')).packages)
  const { components } = JSON.parse(readFileSync(at('sbom.cdx.json'), 'utf8'))
  const names = components.map(({ name }: { readonly name: string }) => `node_modules/${name}`)
  expect(names.sort()).toEqual(installed.sort())

  const sandbox = await startSandbox({ credentials: { [CLIENT.id]: CLIENT.secret } })
  onTestFinished(sandbox.close)
  const port = await freePort()
  // The base image brings Node; here it is the one that the build stage installed.
  const node = join(builder.root, builder.workdir, 'node_modules/.bin')
  const inside = {
    cwd: at('.'),
    env: {
      PATH: [node, ...personalPath()].join(':'),
      ...image.env,
      PORT: `${port}`,
      ADMIN_PORT: `${await freePort()}`,
      V2_BASE_URL: sandbox.url,
    },
    ...(AS_ROOT && { uid: 1000, gid: 1000 }),
  }
  const [program = '', ...words]: string[] = JSON.parse(CMD.replaceAll('=/app/', `=${at('.')}/`))
  const [asks = '', ...question]: string[] = JSON.parse(HEALTHCHECK.slice(HEALTHCHECK.indexOf('[')))

  expect((await run(asks, question, inside)).code).toBe(1)
  const gateway = start(program, words, inside)
  await gateway.says(/"msg":"listening"/)
  expect(await run(asks, question, inside)).toEqual({ code: 0, out: '', err: '' })
  expect(await run(join(image.root, 'usr/local/bin/transload'), ['--version'], inside)).toMatchObject({
    code: 0,
    err: '',
  })
  const quoted = await fetch(`http://127.0.0.1:${port}/getShippingQuote.php`, {
    method: 'POST',
    headers: { authorization: basic() },
    body: JSON.stringify(quoteExample),
  })
  expect(quoted.status).toBe(200)
  if (AS_ROOT) expect(statSync(at('data/transload.db')).uid).toBe(1000)

  gateway.signal('SIGTERM')
  expect(await gateway.ended).toMatchObject({ code: 0, err: '' })
  expect((await run(asks, question, inside)).code).toBe(1)
})

/** The files that .dockerignore lets through: all are left out but those that it names. */
function buildContext(context: string): string {
  const lines = readFileSync(join(ROOT, '.dockerignore'), 'utf8').split('\n')
  const [first, ...rest] = lines.map((line) => line.trim()).filter((line) => line !== '' && !line.startsWith('#'))
  expect(first).toBe('*')
  mkdirSync(context)
  for (const line of rest) {
    expect(line).toMatch(/^!/)
    cpSync(join(ROOT, line.slice(1)), join(context, line.slice(1)), { recursive: true })
  }
  return context
}

async function replay(folder: string, context: string): Promise<ReadonlyMap<string, Stage>> {
  const stages = new Map<string, Stage>()
  let stage = newStage(folder)
  for (const [instruction, rest] of instructions()) {
    switch (instruction) {
      case 'FROM': {
        const [base, , name = 'image'] = rest.split(' ')
        expect(base).toMatch(/^\$\{NODE_IMAGE\}$/)
        stage = newStage(join(folder, name))
        stages.set(name, stage)
        break
      }
      case 'WORKDIR':
        stage.workdir = rest
        mkdirSync(join(stage.root, rest), { recursive: true })
        break
      case 'COPY': {
        const words = rest.split(' ')
        const named = /^--from=(.+)$/.exec(words[0] ?? '')?.[1]
        const from = named === undefined ? context : stages.get(named)?.root
        if (from === undefined) throw new Error(`COPY from a stage that does not exist: ${rest}`)
        const sources = words.slice(named === undefined ? 0 : 1, -1)
        const target = join(stage.root, stage.workdir, words.at(-1) ?? '')
        for (const source of sources) {
          const to = target.endsWith('/') ? join(target, basename(source)) : target
          cpSync(join(from, source), to, { recursive: true, verbatimSymlinks: true })
        }
        break
      }
      case 'RUN':
        await output('bash', ['-c', `${CHOWN}\n${rest}`], {
          cwd: join(stage.root, stage.workdir),
          // The base image brings Node.
          env: cleanEnv({ PATH: pathWithThisNode(), ...stage.env }),
        })
        break
      case 'ENV': {
        const [name = '', value = ''] = rest.split('=')
        stage.env = { ...stage.env, [name]: value }
        break
      }
      case 'USER':
      case 'HEALTHCHECK':
      case 'CMD':
      case 'STOPSIGNAL':
      case 'VOLUME':
      case 'EXPOSE':
      case 'LABEL':
        stage.told[instruction] = rest.replaceAll(/\$\{NODE_IMAGE\}/g, BASE)
        break
      case 'ARG':
        // The base image, before and after the stages begin; the time of the build, which is not set.
        expect(['SOURCE_DATE_EPOCH', 'NODE_IMAGE', `NODE_IMAGE=${BASE}`]).toContain(rest)
        break
      default:
        throw new Error(`this test cannot replay ${instruction}`)
    }
  }
  return stages
}

/** Without root, a folder's owner cannot be changed, and the user of the tests stands in for user 1000. */
const CHOWN = 'chown() { test "$(id -u)" -ne 0 || command chown "$@"; }'

function instructions(): readonly (readonly [instruction: string, rest: string])[] {
  return readFileSync(join(ROOT, 'Dockerfile'), 'utf8')
    .replace(/^#.*\n/gm, '')
    .replace(/\\\n\s*/g, '')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => [line.slice(0, line.indexOf(' ')), line.slice(line.indexOf(' ') + 1).trim()])
}

const newStage = (root: string): Stage => ({ root, workdir: '/', env: {}, told: {} })
