import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { startHaproxy } from './haproxy.ts'
import { startNginx, startNginxRedis } from './nginx.ts'
import { cores, freePort, HOST, type Running, startServer } from './processes.ts'
import type { Programs } from './programs.ts'

const ROOT = join(import.meta.dirname, '../..')

/** The port of the service, and a folder for one contender. */
export interface Place {
  readonly folder: string
  readonly servicePort: number
}

/** A program between callers and the service. */
export interface Contender {
  readonly id: string
  readonly name: string
  readonly start: (place: Place) => Promise<Running>
}

const DOCKERFILE = readFileSync(join(ROOT, 'Dockerfile'), 'utf8')

/** The environment of the image. */
export const shippedEnv: NodeJS.ProcessEnv = Object.fromEntries(
  [...DOCKERFILE.matchAll(/^ENV (.*)$/gm)].flatMap(([, pairs = '']) => pairs.split(' ').map((pair) => pair.split('='))),
)

/**
 * Returns the command of the image: the last `CMD` of the Dockerfile. Its rights name folders of the image, and are left out;
 * what they cost is in docs/architecture.md.
 */
export function shippedCommand(root = ROOT): readonly string[] {
  const lines = DOCKERFILE.replaceAll('\\\n', ' ')
  const commands = lines.match(/^CMD \[.*\]$/gm) ?? []
  const [, ...words]: string[] = JSON.parse(commands.at(-1)?.slice('CMD '.length) ?? '[]')
  const flags = words.filter((word) => !/^--(permission|allow-|disable-warning)/.test(word))
  return [process.execPath, ...flags.map((word) => (word.endsWith('.js') ? join(root, word) : word))]
}

interface GatewayOptions {
  /** @default an embedded store in the folder of the contender */
  readonly storeUrl?: string
  readonly env?: NodeJS.ProcessEnv
  /** A checkout of the gateway that is built. @default this one */
  readonly root?: string
  /** @default the contenders' core; null: all of them */
  readonly core?: string | null
}

/** Starts the gateway like the image does, with a log line for every call. */
export async function startGateway({ folder, servicePort }: Place, options: GatewayOptions = {}): Promise<Running> {
  const port = await freePort()
  const env = {
    ...shippedEnv,
    V2_BASE_URL: `http://${HOST}:${servicePort}`,
    STORE_URL: options.storeUrl ?? join(folder, 'transload.db'),
    EMERGENCY_LOG_FILE: join(folder, 'emergency.ndjson'),
    HOST,
    PORT: String(port),
    ADMIN_PORT: '0',
    ...options.env,
  }
  const core = options.core === null ? undefined : (options.core ?? cores.contender)
  return startServer(port, shippedCommand(options.root), { core, env })
}

/** The gateway like in the image. */
export const gateway: Contender = { id: 'gateway', name: 'Transload', start: (place) => startGateway(place) }

/** The parts of the gateway, with nothing that a gateway needs besides: the least that its functions can be added to. */
export const parts: Contender = nodeContender('parts', 'the parts of Transload alone')

/** The gateway with a store in memory. */
export const forgetful: Contender = {
  id: 'gateway-memory',
  name: 'Transload, `STORE_URL=memory:`',
  start: (place) => startGateway(place, { storeUrl: 'memory:' }),
}

function nodeContender(id: string, name: string, store = '', postgres = ''): Contender {
  return {
    id,
    name,
    start: async ({ folder, servicePort }) => {
      const port = await freePort()
      const program = join(import.meta.dirname, 'contenders', `${id.replace(`-${store}`, '')}.js`)
      const words = [process.execPath, program, String(port), `http://${HOST}:${servicePort}`, folder, store, postgres]
      return startServer(port, words, { core: cores.contender, env: { NODE_ENV: 'production' } })
    },
  }
}

/** Starts a PostgreSQL server on the core of the contenders. */
export async function startPostgres(): Promise<Running> {
  const port = await freePort()
  const program = join(import.meta.dirname, 'contenders/postgres.js')
  return startServer(port, [process.execPath, program, String(port)], { core: cores.contender })
}

export const postgresUrl = ({ port }: Running) => `postgres://postgres:password@${HOST}:${port}/postgres`

/** The gateway over PostgreSQL. */
export const overPostgres = (server: Running): Contender => ({
  id: 'gateway-postgres',
  name: 'Transload, PostgreSQL',
  start: (place) => startGateway(place, { storeUrl: postgresUrl(server) }),
})

/** Returns the contenders that answer a quote only once it is on the disk, as far as they are installed. */
export function durable({ nginxLua, redis }: Programs, server: Running): readonly Contender[] {
  return [
    ...(nginxLua && redis
      ? [{ id: 'nginx-redis', name: 'nginx + Lua + Redis', start: (place: Place) => startNginxRedis(place, nginxLua) }]
      : []),
    parts,
    nodeContender('fastify-sqlite', 'fastify + @fastify/reply-from + `node:sqlite`', 'sqlite'),
    nodeContender('express-postgres', 'express + axios + `pg`', 'postgres', postgresUrl(server)),
  ]
}

/** The other Node programs, which also book and read. */
export const nodePeers: readonly Contender[] = [
  nodeContender('bare', 'bare `node:http` + undici `dispatch`'),
  nodeContender('fastify', 'fastify + @fastify/reply-from'),
  nodeContender('express', 'express + axios'),
]

/** Returns the other contenders that translate quotes, as far as they are installed. */
export function translators({ nginxLua, haproxyLua }: Programs): readonly Contender[] {
  return [
    ...(nginxLua ? [nginx('nginx + Lua', nginxLua)] : []),
    ...(haproxyLua ? [haproxy('HAProxy + Lua', haproxyLua)] : []),
    ...nodePeers,
  ]
}

/** Returns the other contenders that pass calls through, as far as they are installed. */
export function passers(programs: Programs): readonly Contender[] {
  return [nginx('nginx', undefined), ...(programs.haproxy ? [haproxy('HAProxy', undefined)] : []), ...nodePeers]
}

const nginx = (name: string, modules: readonly string[] | undefined): Contender => ({
  id: 'nginx',
  name,
  start: (place) => startNginx(place, modules),
})

const haproxy = (name: string, json: string | undefined): Contender => ({
  id: 'haproxy',
  name,
  start: (place) => startHaproxy(place, json),
})
