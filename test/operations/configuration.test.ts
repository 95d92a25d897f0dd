/** Promise: all mistakes in a configuration are reported together, with exit code 78 (contract, section 11). */

import { generateKeyPairSync } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type Config, readConfig } from '../../src/language/config/config.ts'
import { ConfigErrors } from '../../src/language/config/errors.ts'
import { folder } from '../callers/tenants-gateway.ts'
import { ROOT } from '../command.ts'

interface Settings {
  readonly wrong: readonly (readonly [name: string, message: string, values: readonly string[]])[]
  /** Settings that contradict each other, or do not. */
  readonly combined: [env: NodeJS.ProcessEnv, ...errors: string[]][]
  /** A blank setting gets its default. */
  readonly valid: readonly (readonly [name: keyof Config, text: string, value: unknown])[]
}
const settings: Settings = JSON.parse(readFileSync(join(import.meta.dirname, 'settings.json'), 'utf8'))

/** Reads an environment, in which the address of the service is set. */
const read = (env: NodeJS.ProcessEnv) => readConfig({ V2_BASE_URL: 'https://service.example', ...env })

/** The errors of an environment, one line each. */
function errorsIn(env: NodeJS.ProcessEnv): readonly string[] {
  try {
    read(env)
  } catch (error) {
    if (error instanceof ConfigErrors) return error.errors
    throw error
  }
  return []
}

/** Makes a file that is removed after the test. */
function fileWith(content: string): string {
  const path = join(folder(), 'file.json')
  writeFileSync(path, content)
  return path
}

test.each(settings.wrong)('a wrong value is not repeated: %s %s', (name, message, values) => {
  for (const value of values) expect(errorsIn({ [name]: value }), value).toEqual([`${name} ${message}`])
})

test('all wrong values are reported at once, with missing variables', () => {
  const all = Object.fromEntries(settings.wrong.map(([name, , [value]]) => [name, value]))
  const errors = errorsIn({ ...all, V2_CLIENT_ID: 'half a pair' })
  expect(errors.map((error) => error.split(' ')[0]).sort()).toEqual([...Object.keys(all), 'V2_CLIENT_SECRET'].sort())
})

test.each<Settings['combined'][number]>(settings.combined)('%j', (env, ...errors) => {
  expect(errorsIn(env)).toEqual(errors)
})

test.each(settings.valid)('%s=%s', (name, text, value) => {
  expect(JSON.parse(JSON.stringify(read({ [name]: text })[name] ?? null))).toEqual(value)
})

test('BOOKING_REFUSED_STATUSES are single statuses and classes', () => {
  const { BOOKING_REFUSED_STATUSES: isRefused } = read({ BOOKING_REFUSED_STATUSES: '4xx, 503' })
  expect([399, 400, 499, 500, 502, 503, 504].filter(isRefused)).toEqual([400, 499, 503])
})

describe('errors in certificate files', () => {
  const CERTIFICATES = join(ROOT, 'test/http/certificates')
  const [SERVER, SERVER_KEY, CLIENT, CLIENT_KEY] = ['server.pem', 'server.key', 'client.pem', 'client.key'].map(
    (name) => join(CERTIFICATES, name),
  )

  test('certificate and key must be PEM and match', () => {
    const told = (TLS_CERT_FILE?: string, TLS_KEY_FILE?: string) => errorsIn({ TLS_CERT_FILE, TLS_KEY_FILE })
    const noCertificate = expect.stringMatching(/^TLS_CERT_FILE names \S+, which is not a certificate in PEM: /)
    const noKey = expect.stringMatching(/^TLS_KEY_FILE names \S+, which is not a key in PEM without a passphrase: /)
    expect(told(SERVER, SERVER_KEY)).toEqual([])
    expect(told(CLIENT, CLIENT_KEY)).toEqual([])
    expect(told(SERVER, CLIENT_KEY)).toEqual([
      `TLS_KEY_FILE names ${CLIENT_KEY}, whose key does not match the certificate of TLS_CERT_FILE`,
    ])
    expect(told(SERVER_KEY, SERVER_KEY)).toEqual([noCertificate])
    expect(told(SERVER, SERVER)).toEqual([noKey])
    expect(told('package.json', '/dev/null')).toEqual([noCertificate, noKey])
    expect(told('package.json')).toEqual(['TLS_KEY_FILE is required because TLS_CERT_FILE is set', noCertificate])
    expect(told(undefined, SERVER_KEY)).toEqual(['TLS_CERT_FILE is required because TLS_KEY_FILE is set'])
    expect(told('test', '/nowhere.key')).toEqual([
      'TLS_CERT_FILE names test, which cannot be read',
      'TLS_KEY_FILE names /nowhere.key, which cannot be read',
    ])
  })

  test('a key with a passphrase is an error that does not quote it', () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const options = { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'pass-word' } as const
    const TLS_KEY_FILE = fileWith(String(privateKey.export(options)))
    expect(errorsIn({ TLS_CERT_FILE: SERVER, TLS_KEY_FILE })).toEqual([
      expect.stringMatching(/^TLS_KEY_FILE names \S+, which is not a key in PEM without a passphrase: [a-z ]+$/),
    ])
  })

  test('a short key is an error unless an old TLS is allowed', () => {
    const [TLS_CERT_FILE, TLS_KEY_FILE] = ['short.pem', 'short.key'].map((name) => join(CERTIFICATES, name))
    const told = (TLS_MIN_VERSION: string) => errorsIn({ TLS_CERT_FILE, TLS_KEY_FILE, TLS_MIN_VERSION })
    expect(told('1.0')).toEqual([])
    expect(told('1.2')).toEqual([expect.stringMatching(/^TLS_CERT_FILE names .* too small$/)])
  })

  test('V2_CA_FILE must hold complete certificates only', () => {
    const good = readFileSync(SERVER ?? '', 'utf8')
    const halves = ['', 'no certificate', good.slice(0, -60), good + good.slice(0, 200), good.replace('MII', 'AAA')]
    for (const V2_CA_FILE of halves.map(fileWith)) {
      expect(errorsIn({ V2_CA_FILE })).toEqual([
        `V2_CA_FILE names ${V2_CA_FILE}, which must hold nothing but complete certificates in PEM`,
      ])
    }
    const V2_CA_FILE = fileWith(`# Ours, and another's\n${good}\n${good.replaceAll('\n', '\r\n')}`)
    expect(errorsIn({ V2_CA_FILE })).toEqual([])
  })
})
