/** Makes the check for texts that repeat a Basic credential, or the secret in it. */
export function repeatsCredential(basic: string): (text: string) => boolean {
  const encoded = basic.slice('Basic '.length).trim()
  const secret = Buffer.from(encoded, 'base64')
    .toString()
    .replace(/^[^:]*:/, '')
  const telling = [encoded, secret].filter((text) => text !== '')
  return (text) => telling.some((part) => isIn(text, part))
}

/** Tells if a text has a secret, also with slashes as some writers of JSON escape them. */
export const isIn = (text: string, secret: string): boolean =>
  text.includes(secret) || text.replaceAll('\\/', '/').includes(secret)
