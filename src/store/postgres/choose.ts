import type { Server } from './address.ts'
import { messageOf, NoServer } from './errors.ts'
import { type Identity, isSameServer, type Primary, type Role, shortcomingOf } from './role.ts'

/** A server and its answer. */
export interface Answer<R = Role> {
  readonly server: Server
  readonly role: R
}

/** The server to use. */
export interface Choice {
  readonly chosen: Answer<Primary>
  /** Why other servers that take writes are not used. */
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
  switch (role.kind) {
    case 'down':
      return `does not answer: ${messageOf(role.error)}`
    case 'primary':
      return `is an old primary: it has timeline ${role.identity?.timeline}, and the gateway has used timeline ${newest?.timeline}`
    default:
      return shortcomingOf(role.kind)
  }
}
