import { BlockList, isIP } from 'node:net'

/** Networks such as `192.0.2.0/24`, `2001:db8::/32` or a single address. */
export interface Networks {
  readonly has: (address: string) => boolean
  /** Returns the prefix length of the narrowest network that contains the address; -1 if none does. */
  readonly narrowest: (address: string) => number
}

/** Returns whether a text is a network or an address. */
export function isNetwork(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/')
  const family = isIP(address)
  if (family === 0 || rest.length > 0) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= bitsOf(family))
}

/** Compiles networks; each must be one. */
export function compileNetworks(networks: readonly string[]): Networks {
  const compiled = networks.map((network) => {
    const [address = '', bits] = network.split('/')
    const family = isIP(address)
    const fixed = bits === undefined ? bitsOf(family) : Number(bits)
    const list = new BlockList()
    list.addSubnet(address, fixed, familyName(family))
    return { list, fixed }
  })
  const narrowest = (address: string) => {
    // The address of a connection that is already closed is empty.
    if (isIP(address) === 0) return -1
    const family = familyName(isIP(address))
    return compiled.reduce((most, { list, fixed }) => (fixed > most && list.check(address, family) ? fixed : most), -1)
  }
  return { has: (address) => narrowest(address) >= 0, narrowest }
}

const bitsOf = (family: number) => (family === 6 ? 128 : 32)
const familyName = (family: number) => (family === 6 ? 'ipv6' : 'ipv4')
