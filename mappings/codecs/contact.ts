import { z } from 'zod'
import { codec, type Remark } from '../../src/language/mapping/codec.ts'
import { lettersAndDigits, lossy } from '../../src/language/mapping/keeps.ts'
import { isShortened } from '../../src/language/text/service-text.ts'
import { phoneSense, readPhone, remarkOnPhone } from './phone.ts'

const SEPARATOR = '~'

/** A first part with fewer digits is a name: some companies are called by a number. */
const SHORTEST_PHONE_DIGITS = 7

/** The parts of a version-1 contact. A type, not an interface: only a type is a record of parts, too. */
export type ContactParts = {
  readonly contact_name?: string | undefined
  readonly contact_phone?: string | undefined
  readonly contact_email?: string | undefined
}

const looksLikeEmail = (part: string): boolean => part.includes('@') && /^[^\s@]+@[^\s@]+$/.test(part)

const DIGIT_0 = 0x30
const DIGIT_9 = 0x39

function countDigits(part: string): number {
  let digits = 0
  for (let i = 0; i < part.length; i += 1) {
    const code = part.charCodeAt(i)
    if (code >= DIGIT_0 && code <= DIGIT_9) digits += 1
  }
  return digits
}

/** Reports whether most of a part, which is not an e-mail address, is digits. */
const looksLikePhone = (part: string): boolean => {
  const digits = countDigits(part)
  return digits > 0 && digits * 2 > part.replace(/\s+/g, '').length && !isShortened(part)
}

/** The text of each role before any conversion, and the parts without a role. */
interface Roles {
  name: string | undefined
  phone: string | undefined
  email: string | undefined
  readonly rest: string[]
}

function readParts(text: string): Roles {
  const roles: Roles = { name: undefined, phone: undefined, email: undefined, rest: [] }
  const parts = text.split(SEPARATOR)
  for (let place = 0; place < parts.length; place += 1) {
    const part = parts[place]?.trim()
    if (!part) continue
    const email = looksLikeEmail(part)
    const phone = !email && looksLikePhone(part)
    if (place === 0 && !email && !(phone && countDigits(part) >= SHORTEST_PHONE_DIGITS)) roles.name = part
    else if (email && (roles.email ?? part) === part) roles.email = part
    else if (phone && (roles.phone ?? part) === part) roles.phone = part
    else roles.rest.push(part)
  }
  return roles
}

const asPart = (value: string | undefined): string => (value ?? '').replaceAll(SEPARATOR, ' ').trim()

/** The parts in any order, each once. */
const contactSense = (text: string): string => {
  const parts = text.split(SEPARATOR).map((part) => (looksLikePhone(part) ? phoneSense(part) : lettersAndDigits(part)))
  return [...new Set(parts)].sort().join('')
}

const string = z.string().optional()

/** Name, phone and e-mail in one string, such as `Pat Example~2145550000~~~pat@example.com`. */
export const contactParts = codec<ContactParts>(
  z.object({ contact_name: string, contact_phone: string, contact_email: string }),
  {
    name: 'contactParts',
    summary: 'Parts joined by ~: the name first, then what looks like a phone number and an email address.',
    keeps: lossy('other parts', contactSense),
    decode: (text) => {
      const { name, phone, email } = readParts(text)
      const digits = phone === undefined ? '' : readPhone(phone).digits
      return {
        ...(name !== undefined && { contact_name: name }),
        ...(digits !== '' && { contact_phone: digits }),
        ...(email !== undefined && { contact_email: email }),
      }
    },
    encode: ({ contact_name, contact_phone, contact_email }) => {
      const [name, phone, email] = [asPart(contact_name), asPart(contact_phone), asPart(contact_email)]
      return name || phone || email ? [name, phone, '', '', email].join(SEPARATOR) : ''
    },
    remark: (text): Remark | undefined => {
      const { phone, rest } = readParts(text)
      const onPhone = phone === undefined ? undefined : remarkOnPhone(phone)
      if (rest.length === 0) return onPhone
      const others = 'parts that are neither the name, the phone number nor the e-mail address'
      return { ...onPhone, loss: onPhone?.loss === undefined ? others : `${onPhone.loss}, and ${others}` }
    },
  },
)
