import { Socket } from 'node:net'
import pg from 'pg'
import type { Server } from './address.ts'
import { type Answer, type Choice, chooseServer } from './choose.ts'
import { askRole, type Identity, isSameServer, shortcomingOf } from './role.ts'

/** A server without an answer for this long counts as gone. */
export const QUERY_TIMEOUT_MS = 5_000
const CONNECT_TIMEOUT_MS = 3_000
/** The longest wait of a call for a connection; an outage of the server is known sooner. */
const POOL_WAIT_MS = 10_000

/** Opens a connection to one server. */
export async function connectTo(server: Server, name: string): Promise<pg.Client> {
  const client = new pg.Client({
    ...server.connection,
    application_name: name,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
    keepAlive: true,
  })
  // It may break between two queries; the next one fails then.
  client.on('error', () => undefined)
  try {
    await client.connect()
    return client
  } catch (error) {
    end(client)
    throw error
  }
}

/** Closes a connection; not awaited, because a dead server never answers. */
export function end(client: pg.Client): void {
  void client.end().catch(() => undefined)
}

/** Asks all servers for their roles. */
async function askAll(servers: readonly Server[], name: string) {
  return Promise.all(
    servers.map(async (server): Promise<{ answer: Answer; client?: pg.Client }> => {
      let client: pg.Client | undefined
      try {
        client = await connectTo(server, name)
        return { answer: { server, role: await askRole(client) }, client }
      } catch (error) {
        if (client) end(client)
        return { answer: { server, role: { kind: 'down', error } } }
      }
    }),
  )
}

/** Returns what the servers answer now, each on a new connection. */
export async function look(servers: readonly Server[]): Promise<readonly Answer[]> {
  const asked = await askAll(servers, 'transload probe')
  for (const { client } of asked) if (client) end(client)
  return asked.map(({ answer }) => answer)
}

/** Connects to the server that takes writes. */
export async function connectToPrimary(
  servers: readonly Server[],
  newest: Identity | undefined,
): Promise<Choice & { readonly client: pg.Client }> {
  const asked = await askAll(servers, 'transload session')
  let client: pg.Client | undefined
  try {
    const choice = chooseServer(
      asked.map(({ answer }) => answer),
      newest,
    )
    client = asked.find(({ answer }) => answer.server === choice.chosen.server)?.client
    if (!client) throw new Error('The chosen server has no connection.')
    return { ...choice, client }
  } finally {
    for (const { client: other } of asked) if (other && other !== client) end(other)
  }
}

/** The pool's server, and its identity once known. */
export interface Target {
  readonly server: Server
  readonly identity: Identity | undefined
}

/** The connections of the store's calls. */
export interface Pool {
  readonly pool: pg.Pool
  /** New connections go to this server. */
  use(target: Target): void
  /** Breaks all connections: calls that wait for a server that is left fail at once. */
  leave(): void
}

/**
 * Creates a pool whose connections go to the chosen server. A name may have moved since: a new connection that reaches another
 * server, or one that takes no writes, is refused, and `onOther` is told.
 */
export function createPool(first: Server, max: number, onOther: (error: Error) => void): Pool {
  let target: Target = { server: first, identity: undefined }
  const sockets = new Set<Socket>()

  class ServerClient extends pg.Client {
    constructor(config?: pg.ClientConfig) {
      super({ ...config, ...target.server.connection, stream: openSocket })
    }
  }

  function openSocket(): Socket {
    const socket = new Socket()
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    return socket
  }

  async function verify(client: pg.ClientBase): Promise<void> {
    const role = await askRole(client)
    const { server, identity } = target
    if (role.kind === 'primary' && isSameServer(role.identity, identity)) return
    const found = role.kind === 'primary' ? 'is another server than before' : shortcomingOf(role.kind)
    const error = new Error(`${server.place} ${found}.`)
    onOther(error)
    throw error
  }

  const pool = new pg.Pool({
    Client: ServerClient,
    onConnect: verify,
    application_name: 'transload',
    max,
    connectionTimeoutMillis: POOL_WAIT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
    keepAlive: true,
  })
  // An idle connection that breaks is replaced when needed; the session reports the outage.
  pool.on('error', () => undefined)
  // One that breaks inside a transaction fails the next query; without a listener the event would end the process.
  pool.on('connect', (client) => client.on('error', () => undefined))

  return {
    pool,
    use(next) {
      target = next
    },
    leave() {
      for (const socket of sockets) socket.destroy()
    },
  }
}
