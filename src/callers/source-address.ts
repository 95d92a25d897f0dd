import type { IncomingMessage } from 'node:http'
import { isIP, type Socket, SocketAddress } from 'node:net'
import type { Networks } from '../networks.ts'
import type { Source } from '../observe/call.ts'

/** Returns the address of a caller: of its connection, or the one that trusted proxies report, nearest proxy first. */
function sourceAddress({ socket, headers }: IncomingMessage, trusted: Networks | undefined): string {
  let address = plain(socket.remoteAddress ?? '')
  if (!trusted) return address
  const forwarded = String(headers['x-forwarded-for'] ?? '').split(',')
  for (const hop of forwarded.reverse()) {
    const next = plain(withoutPort(hop.trim()))
    if (!trusted.has(address) || isIP(next) === 0) break
    address = next
  }
  return address
}

/** Returns the source of a connection, and of a request on it. */
export interface SourceReader {
  readonly ofConnection: (socket: Pick<Socket, 'remoteAddress'>) => Source
  readonly ofRequest: (incoming: IncomingMessage) => Source
}

/** Makes a reader that trusts the proxies in these networks. */
export function createSourceReader(trusted: Networks | undefined): SourceReader {
  const known = new WeakMap<object, Source>()
  const ofConnection = (socket: Pick<Socket, 'remoteAddress'>): Source => {
    const before = known.get(socket)
    if (before) return before
    const address = plain(socket.remoteAddress ?? '')
    const isEverybody = trusted?.has(address) === true
    const source = { address, name: sourceOf(address), isBehindProxy: false, isEverybody }
    known.set(socket, source)
    return source
  }
  return {
    ofConnection,
    ofRequest: (incoming) => {
      const connection = known.get(incoming.socket) ?? ofConnection(incoming.socket)
      if (!trusted || !connection.isEverybody) return connection
      const address = sourceAddress(incoming, trusted)
      const isEverybody = trusted.has(address)
      return { address, name: sourceOf(address), isBehindProxy: !isEverybody, isEverybody }
    },
  }
}

/**
 * Returns the part of an address that identifies one caller: an IPv6 caller has a whole network (RFC 6177), and could
 * use another address of it for each call.
 */
export function sourceOf(address: string): string {
  if (!address.includes(':')) return address
  const [unzoned = ''] = address.split('%')
  if (isIP(unzoned) !== 6) return address
  const spelled = plain(new SocketAddress({ address: unzoned, family: 'ipv6' }).address)
  if (!spelled.includes(':')) return spelled
  const [head = [], tail = []] = spelled.split('::').map((side) => side.split(':').filter(Boolean))
  const zeros = Array<string>(Math.max(0, IPV6_GROUPS - head.length - tail.length)).fill('0')
  return `${[...head, ...zeros, ...tail].slice(0, SOURCE_GROUPS).join(':')}::/64`
}

const IPV6_GROUPS = 8
const SOURCE_GROUPS = 4

/** Some proxies add the port: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
function withoutPort(hop: string): string {
  return hop.replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, '$1').replace(/^\[([^\]]+)\](:\d+)?$/, '$1')
}

/** A dual-stack server reports IPv4 addresses as IPv4-mapped IPv6. */
function plain(address: string): string {
  return address.startsWith('::') ? address.replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, '') : address
}
