import type { IncomingHttpHeaders } from 'node:http'
import { isIP, SocketAddress } from 'node:net'
import { type Networks, networkAround, plainAddress } from '../../language/networks.ts'

/* Where a call comes from: its address, even behind proxies, and the source by which shares are divided. */

/** A connection of a caller, or of a proxy. */
export interface CallerConnection {
  readonly remoteAddress?: string | undefined
}

/** The parts of a request that tell where it comes from. */
export interface Arriving {
  readonly headers: IncomingHttpHeaders
  readonly socket: CallerConnection
}

/** Returns the caller's address as trusted proxies report it, nearest proxy first. */
export function addressOf({ socket, headers }: Arriving, trusted: Networks): string {
  let address = plainAddress(socket.remoteAddress)
  const forwarded = String(headers['x-forwarded-for'] ?? '').split(',')
  for (const hop of forwarded.reverse()) {
    const next = plainAddress(withoutPort(hop.trim()))
    if (!trusted.has(address) || isIP(next) === 0) break
    address = next
  }
  return address
}

/**
 * Returns the part of an address that identifies one caller. An IPv6 caller has a whole network (RFC 6177), and could use another of its
 * addresses for each call.
 */
export function sourceOf(address: string): string {
  if (!address.includes(':')) return address
  const [unzoned = ''] = address.split('%')
  if (isIP(unzoned) !== 6) return address
  const spelled = plainAddress(new SocketAddress({ address: unzoned, family: 'ipv6' }).address)
  return spelled.includes(':') ? networkAround(spelled, SOURCE_BITS) : spelled
}

const SOURCE_BITS = 64

/** Some proxies add the port: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
function withoutPort(hop: string): string {
  return hop.replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, '$1').replace(/^\[([^\]]+)\](:\d+)?$/, '$1')
}
