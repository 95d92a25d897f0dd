import { BlockList, isIP } from 'node:net'
import type { Networks } from '../networks.ts'

/** Networks of IPv4 that are not on the public internet (RFC 6890 and its registry), and one address of a cloud. */
const FORBIDDEN_IPV4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  // The metadata of Azure's machines.
  '168.63.129.16/32',
]

/** Of IPv6, only global unicast addresses are public: mapped, translated, local and multicast ones lie outside. */
const GLOBAL_IPV6 = '2000::/3'

/** Networks of global unicast addresses that are no hosts, or that embed an IPv4 address: Teredo, 6to4, documentation. */
const FORBIDDEN_IPV6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20']

const forbiddenIpv4 = blockList(FORBIDDEN_IPV4, 'ipv4')
const globalIpv6 = blockList([GLOBAL_IPV6], 'ipv6')
const forbiddenIpv6 = blockList(FORBIDDEN_IPV6, 'ipv6')

/** Tells if an address is on the public internet. */
export function isPublic(address: string): boolean {
  if (isIP(address) === 4) return !forbiddenIpv4.check(address, 'ipv4')
  return isIP(address) === 6 && globalIpv6.check(address, 'ipv6') && !forbiddenIpv6.check(address, 'ipv6')
}

/** Returns the addresses that may not be called: those that are not public, unless the allowed networks have them. */
export function forbiddenIn(addresses: readonly string[], allowed: Networks): readonly string[] {
  return addresses.filter((address) => !isPublic(address) && !allowed.has(address))
}

/** Returns the address that a URL's host is, as the URL parser has normalized it; undefined for a name. */
export function literalAddress({ hostname }: URL): string | undefined {
  const address = hostname.replace(/^\[(.*)\]$/, '$1')
  return isIP(address) === 0 ? undefined : address
}

function blockList(networks: readonly string[], family: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList()
  for (const network of networks) {
    const [address = '', bits] = network.split('/')
    list.addSubnet(address, Number(bits), family)
  }
  return list
}
