import { BlockList, isIP } from 'node:net'

/** Networks such as `192.0.2.0/24`, `2001:db8::/32` or a single address. */
export interface Networks {
  readonly has: (address: string) => boolean
  /** Returns the prefix length of the narrowest network that contains the address; -1 if none does. */
  readonly narrowest: (address: string) => number
}

/** Reads a network or an address; undefined if a text is neither. */
function parsed(text: string) {
  const [address = '', bits, ...rest] = text.split('/')
  const family = familyOf(address)
  if (!family || rest.length > 0) return undefined
  const most = family === 'ipv6' ? 128 : 32
  const prefix = bits === undefined ? most : /^\d{1,3}$/.test(bits) ? Number(bits) : Number.NaN
  if (!(prefix <= most)) return undefined
  const plain = plainAddress(address)
  // A network that contains only IPv4 addresses is an IPv4 network.
  if (plain !== address && prefix >= MAPPED_BITS)
    return { address: plain, family: 'ipv4', prefix: prefix - MAPPED_BITS } as const
  return { address, family, prefix }
}

const MAPPED_BITS = 96

/** Reports whether a text is a network or an address. */
export const isNetwork = (text: string): boolean => parsed(text) !== undefined

/** Compiles networks; each text must be one. */
export function compileNetworks(networks: readonly string[]): Networks {
  const compiled = networks.flatMap((text) => {
    const network = parsed(text)
    if (!network) return []
    const list = new BlockList()
    list.addSubnet(network.address, network.prefix, network.family)
    return [{ list, prefix: network.prefix }]
  })
  const narrowest = (address: string) => {
    const family = familyOf(address)
    // The address of a connection that is already closed is empty.
    if (!family) return -1
    return compiled.reduce(
      (most, { list, prefix }) => (prefix > most && list.check(address, family) ? prefix : most),
      -1,
    )
  }
  return { has: (address) => narrowest(address) >= 0, narrowest }
}

function familyOf(address: string): 'ipv4' | 'ipv6' | undefined {
  const version = isIP(address)
  return version === 0 ? undefined : version === 6 ? 'ipv6' : 'ipv4'
}

/** Returns a network in one spelling. */
export function plainNetwork(network: string): string {
  const known = parsed(network)
  return known ? networkAround(known.address, known.prefix) : network
}

/** Returns the network with this many bits around an address. */
export function networkAround(address: string, bits: number): string {
  const isOf6 = isIP(address) === 6
  const size = isOf6 ? 16 : 8
  const parts = isOf6 ? groupsOf(address) : address.split('.').map(Number)
  const fixed = parts.map((part, i) => {
    const free = Math.min(size, Math.max(0, (i + 1) * size - bits))
    return (part >> free) << free
  })
  if (!isOf6) return `${fixed.join('.')}/${bits}`
  const told = fixed.slice(0, Math.ceil(bits / size)).map((group) => group.toString(16))
  return `${told.join(':')}${told.length < fixed.length ? '::' : ''}/${bits}`
}

/** Returns the groups of an IPv6 address, without its zone. */
function groupsOf(address: string): readonly number[] {
  const { hostname } = new URL(`http://[${address.split('%', 1)[0]}]`)
  const [head = [], tail = []] = hostname
    .slice(1, -1)
    .split('::')
    .map((side) => side.split(':').filter(Boolean))
  const zeros = Array<string>(GROUPS - head.length - tail.length).fill('0')
  return [...head, ...zeros, ...tail].map((group) => Number.parseInt(group, 16))
}

const GROUPS = 8

/** Returns an address in its plain form: a dual-stack server reports IPv4 addresses as IPv4-mapped IPv6. */
export function plainAddress(address = ''): string {
  return address.startsWith('::') ? address.replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, '') : address
}
