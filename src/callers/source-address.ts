import type { IncomingMessage } from 'node:http'
import { isIP, SocketAddress } from 'node:net'
import type { Networks } from '../networks.ts'

/** Where a call comes from: its connection, or what trusted proxies say about it, from the nearest one on. */
export function sourceAddress({ socket, headers }: IncomingMessage, trusted: Networks | undefined): string {
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

/**
 * Whom an address belongs to, as far as limits are concerned: one caller has a whole network of IPv6 (RFC 6177), and could
 * come from another address of it each time.
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

/** IPv4 addresses come mapped into IPv6 where the server listens on both. */
function plain(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, '')
}
