import { Socket } from 'node:net'
import pg from 'pg'
import type { Server } from './address.ts'
import { messageOf, NoServer } from './errors.ts'

/** A server that takes writes. The identity is undefined where the server does not tell, as some managed ones. */
export interface Primary {
  readonly kind: 'primary'
  readonly identity: Identity | undefined
}

/** Tells servers apart. */
export interface Identity {
  /** A server and its standbys are one cluster. */
  readonly cluster: string
  /** Grows with every promotion of a standby. */
  readonly timeline: number
  /** When the server process started: servers of a cluster differ in it. */
  readonly started: string
}

/** The part of a server in its cluster, or why it does not answer. */
export type Role =
  | Primary
  | { readonly kind: keyof typeof SHORTCOMINGS }
  | { readonly kind: 'down'; readonly error: unknown }

/** A commit of this user that waits for a standby as long as this is not answered any more. */
const STUCK_AFTER = `interval '5 seconds'`
// A client that has given up leaves its session behind: it waits on, and shows that further commits would wait, too.
const ASK_ROLE = `SELECT CASE WHEN pg_is_in_recovery() THEN 'standby'
  WHEN current_setting('transaction_read_only') = 'on' THEN 'read-only'
  WHEN EXISTS (SELECT FROM pg_stat_activity WHERE usename = current_user AND wait_event = 'SyncRep'
    AND query_start < clock_timestamp() - ${STUCK_AFTER}) THEN 'waiting' ELSE 'primary' END AS kind`
// `pg_control_checkpoint()` names the old timeline until the first checkpoint after a promotion; the name of the log file does not.
const ASK_IDENTITY = `SELECT (pg_control_system()).system_identifier::text AS cluster,
  ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint::int AS timeline,
  extract(epoch FROM pg_postmaster_start_time())::text AS started`

/** Asks a server for its role. */
async function askRole(client: pg.ClientBase): Promise<Exclude<Role, { kind: 'down' }>> {
  const { rows } = await client.query(ASK_ROLE)
  const kind = rows[0]?.kind
  if (kind !== 'primary') return { kind }
  // Without the right to ask, servers cannot be told apart, and one alone works.
  const answer = await client.query(ASK_IDENTITY).catch(() => undefined)
  const row = answer?.rows[0]
  if (!row) return { kind: 'primary', identity: undefined }
  const { cluster, timeline, started } = row
  return {
    kind: 'primary',
    identity: { cluster: String(cluster), timeline: Number(timeline), started: String(started) },
  }
}

/** Returns true if two answers are of one server that was not promoted in between. */
export function isSameServer(one: Identity | undefined, other: Identity | undefined): boolean {
  if (!one || !other) return true
  return one.cluster === other.cluster && one.timeline === other.timeline && one.started === other.started
}

/** Why a server that answers cannot be used. */
export const SHORTCOMINGS = {
  standby: 'is a standby',
  'read-only': 'is read-only (default_transaction_read_only)',
  waiting: 'commits nothing while it waits for a synchronous standby (synchronous_standby_names)',
}

/* The choice among several */

/** A server and its answer. */
export interface Answer<R = Role> {
  readonly server: Server
  readonly role: R
}

/** The server to use, and why others that take writes are not used. */
export interface Choice {
  readonly chosen: Answer<Primary>
  readonly notices: readonly string[]
}

/** Two servers take writes, and nothing tells which of them is the right one. */
export class Ambiguous extends NoServer {}

/**
 * Chooses the one server that takes writes. Of two, the one with the higher timeline was promoted later, and the other is an
 * old primary that came back. `newest` is the server that was used before: an older timeline of its cluster is never used
 * again, even if no other server answers. Throws `NoServer`, or the server's own error if there is only one and it is down.
 */
export function chooseServer(answers: readonly Answer[], newest: Identity | undefined): Choice {
  const primaries = answers.flatMap(({ server, role }) => (role.kind === 'primary' ? [{ server, role }] : []))
  const notOld = primaries.filter(({ role }) => !isOlder(role.identity, newest))
  // Two addresses may lead to one server, through two poolers for instance.
  const different = notOld.filter(
    ({ role: { identity } }, index) =>
      !notOld
        .slice(0, index)
        .some(({ role: other }) => identity && other.identity && isSameServer(identity, other.identity)),
  )
  const [first, ...others] = different.toSorted((one, other) => timelineOf(other) - timelineOf(one))
  if (!first) throw noServer(answers, newest)
  const rival = others.find(({ role }) => !isOlder(role.identity, first.role.identity))
  if (rival) {
    throw new Ambiguous(
      `Two servers of STORE_URL take writes, and the gateway cannot tell which is the right one: ${inWords(first)} and ${inWords(rival)}. Stop one of them.`,
    )
  }
  const old = primaries.filter(({ role }) => isOlder(role.identity, first.role.identity ?? newest))
  return {
    chosen: first,
    notices: old.map(
      (one) =>
        `${inWords(one)} takes writes, and so does ${inWords(first)}, which was promoted later: ${one.server.place} is an old primary and is not used; stop it`,
    ),
  }
}

/** Returns true for a server of the same cluster before the other was promoted. */
function isOlder(one: Identity | undefined, other: Identity | undefined): boolean {
  return one !== undefined && other !== undefined && one.cluster === other.cluster && one.timeline < other.timeline
}

const timelineOf = ({ role }: Answer<Primary>) => role.identity?.timeline ?? 0

const inWords = ({ server, role: { identity } }: Answer<Primary>): string =>
  identity ? `${server.place} (cluster ${identity.cluster}, timeline ${identity.timeline})` : server.place

function noServer(answers: readonly Answer[], newest: Identity | undefined): unknown {
  const [only] = answers
  if (answers.length === 1 && only?.role.kind === 'down') return only.role.error
  const errors = answers.flatMap(({ role }) => (role.kind === 'down' ? [role.error] : []))
  const reasons = answers.map(({ server: { place }, role }) => `${place} ${reasonOf(role, newest)}`)
  const message = `No server of STORE_URL takes writes: ${reasons.join('; ')}.`
  // If all of them fail for good, such as by a wrong password, a retry cannot help; the errors tell.
  return errors.length === answers.length ? new AggregateError(errors, message) : new NoServer(message)
}

function reasonOf(role: Role, newest: Identity | undefined): string {
  if (role.kind === 'down') return `does not answer: ${messageOf(role.error)}`
  if (role.kind !== 'primary') return SHORTCOMINGS[role.kind]
  return `is an old primary: it has timeline ${role.identity?.timeline}, and the gateway has used timeline ${newest?.timeline}`
}

/* Connections */

/** A server without an answer for this long counts as gone. */
export const QUERY_TIMEOUT_MS = 5_000
const CONNECT_TIMEOUT_MS = 3_000
/** The longest wait of a call for a connection; an outage of the server is known sooner. */
const POOL_WAIT_MS = 10_000

/** Opens a connection to one server. */
async function connectTo(server: Server, name: string): Promise<pg.Client> {
  const client = new pg.Client({
    application_name: name,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
    keepAlive: true,
    ...server.connection,
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

/** Asks all servers for their roles, each on a new connection. */
async function askAll(servers: readonly Server[], name: string) {
  return Promise.all(
    servers.map(async (server): Promise<Answer & { readonly client?: pg.Client }> => {
      let client: pg.Client | undefined
      try {
        client = await connectTo(server, name)
        return { server, role: await askRole(client), client }
      } catch (error) {
        if (client) end(client)
        return { server, role: { kind: 'down', error } }
      }
    }),
  )
}

/** Returns what the servers answer now. */
export async function look(servers: readonly Server[]): Promise<readonly Answer[]> {
  const answers = await askAll(servers, 'transload probe')
  for (const { client } of answers) if (client) end(client)
  return answers
}

/** Connects to the server that takes writes. */
export async function connectToPrimary(
  servers: readonly Server[],
  newest: Identity | undefined,
): Promise<Choice & { readonly client: pg.Client }> {
  const answers = await askAll(servers, 'transload session')
  let used: Server | undefined
  try {
    const choice = chooseServer(answers, newest)
    used = choice.chosen.server
    // A server that takes writes has answered on its connection.
    return { ...choice, client: answers.find(({ server }) => server === used)?.client as pg.Client }
  } finally {
    for (const { server, client } of answers) if (client && server !== used) end(client)
  }
}

/** The connections of the store's calls. */
export interface Pool {
  readonly pool: pg.Pool
  /** New connections go to this server. */
  use(target: Answer<Primary>): void
  /** Breaks all connections: calls that wait for a server that is left fail at once. */
  leave(): void
}

/**
 * Creates a pool whose connections go to the chosen server. A name may have moved since: a new connection that reaches another
 * server, or one that takes no writes, is refused, and `onOther` is told.
 */
export function createPool(first: Server, max: number, onOther: (error: Error) => void): Pool {
  let target: Answer<Primary> = { server: first, role: { kind: 'primary', identity: undefined } }
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
    if (role.kind === 'primary' && isSameServer(role.identity, target.role.identity)) return
    const found = role.kind === 'primary' ? 'is another server than before' : SHORTCOMINGS[role.kind]
    const error = new Error(`${target.server.place} ${found}.`)
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
