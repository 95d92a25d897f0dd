/** Makes the check for texts that repeat a Basic credential, or the secret in it. */
export function repeatsCredential(basic: string): (text: string) => boolean {
  const telling = [basic.slice('Basic '.length).trim(), secretOf(basic)].filter((text) => text !== '')
  return (text) => telling.some((part) => isIn(text, part))
}

/** Returns the secret in a Basic credential; empty for a token. */
export function secretOf(authorization: string): string {
  const [, encoded] = /^basic\s+(\S+)/i.exec(authorization) ?? []
  return Buffer.from(encoded ?? '', 'base64')
    .toString()
    .replace(/^[^:]*:/, '')
}

/** Tells if a text has a secret, also with slashes as some writers of JSON escape them. */
export const isIn = (text: string, secret: string): boolean =>
  text.includes(secret) || text.replaceAll('\\/', '/').includes(secret)
