import { expect, test } from 'vitest'
import { readTenants } from '../../src/config/tenants-file.ts'
import { folder, tenant, writeTenants } from '../callers/edge.ts'

const SECRET = `whsec_${Buffer.alloc(24, 1).toString('base64')}`

function read(keys: object, env: NodeJS.ProcessEnv = {}) {
  const place = folder()
  const path = `${place}/tenants.json`
  writeTenants(path, tenant(place, 'acme', keys))
  return readTenants(path, new Set(), env)[0]?.callback
}

function errorsOf(keys: object, env: NodeJS.ProcessEnv = {}): string {
  try {
    read(keys, env)
    return ''
  } catch (error) {
    return String(Reflect.get(Object(error), 'errors'))
  }
}

test('every key is read, and secrets from where the file points', () => {
  const callback = read(
    {
      callback_url: 'http://10.0.0.1/',
      callback_format: 'form',
      callback_secrets: [{ env: 'NEW' }, { env: 'OLD' }],
      callback_allow_http: true,
      callback_networks: ['10.0.0.0/8'],
    },
    { NEW: SECRET, OLD: `whsec_${Buffer.alloc(32, 2).toString('base64')}` },
  )
  expect(callback).toMatchObject({ format: 'form', networks: ['10.0.0.0/8'] })
  expect(callback?.keys.map(({ length }) => length)).toEqual([24, 32])
})

test.each<[string, object, NodeJS.ProcessEnv, RegExp]>([
  ['plain HTTP', { callback_url: 'http://hook.example.com/' }, {}, /acme: callback_url must be an https address/],
  ['another scheme', { callback_url: 'ftp://hook.example.com/' }, {}, /must be an http or https address/],
  ['a user name with a bare %', { callback_url: 'https://a%zz@hook.example.com/' }, {}, /percent-encoded user name/],
  ['a fragment', { callback_url: 'https://hook.example.com/#x' }, {}, /callback_url must have no fragment/],
  ['another format', { callback_format: 'xml' }, {}, /callback_format: must be json or form/],
  [
    'a missing secret',
    { callback_url: 'https://a.example.com', callback_secrets: [{ env: 'NONE' }] },
    {},
    /callback_secrets\[0\]: the environment variable NONE is not set/,
  ],
  [
    'a secret of another form',
    { callback_url: 'https://a.example.com', callback_secrets: [{ env: 'S' }] },
    { S: 'my-canary' },
    /callback_secrets\[0\] must be whsec_/,
  ],
  ['secrets without an address', { callback_secrets: [{ env: 'S' }] }, { S: SECRET }, /there is no callback_url/],
  ['a network that is none', { callback_networks: ['10.0.0.0/99'] }, {}, /must be a network/],
])('%s is an error', (_, keys, env, error) => {
  const errors = errorsOf(keys, env)
  expect(errors).toMatch(error)
  expect(errors).not.toContain('my-canary')
})
