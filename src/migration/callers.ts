import { storableName } from './storable-name.ts'

/** How many raw values are remembered with their short forms; strangers cannot make the tables grow. */
const MOST_REMEMBERED = 1_000

const PRODUCT = /^([^\s/();,]+)(?:\/v?(\d{1,6}))?/
const LONGEST_AGENT_CHARACTERS = 256

/** Returns the product and the major version of a user agent, such as `curl/8`. */
export const productOf = remembered((agent) => {
  const [, product = '', major] = PRODUCT.exec(agent.slice(0, LONGEST_AGENT_CHARACTERS).trim()) ?? []
  if (product === '') return 'none'
  return storableName(major === undefined ? product : `${product}/${major}`)
})

/** Returns the network of a source: the /24 of an IPv4 address; an IPv6 source is a /64 already. */
export const networkOf = remembered((source) => {
  const lastDot = source.lastIndexOf('.')
  return lastDot === -1 ? source || 'unknown' : `${source.slice(0, lastDot)}.0/24`
})

/** Keeps the results of a pure function. */
function remembered(make: (text: string) => string): (text: string) => string {
  const known = new Map<string, string>()
  return (text) => {
    const before = known.get(text)
    if (before !== undefined) return before
    if (known.size >= MOST_REMEMBERED) known.clear()
    const made = make(text)
    known.set(text, made)
    return made
  }
}
