import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Sandbox, startSandbox } from '../stand-in/stand-in.ts'
import { at, basic, booking, call, DEMO, sandboxFor, TRIP } from './client.ts'

const NOBODY = '00000000-0000-4000-8000-000000000000'

let sandbox: Sandbox
beforeAll(async () => {
  sandbox = await startSandbox()
})
beforeEach(() => {
  sandbox.clear()
  sandbox.set({ auth: 'both' })
})
afterAll(() => sandbox.close())

describe('the caller', () => {
  const get = (authorization: string) => call(sandbox, 'GET', `/v2/shipments/${NOBODY}`, undefined, { authorization })

  async function token(authorization = DEMO, form = 'grant_type=client_credentials') {
    const headers = { authorization, 'content-type': 'application/x-www-form-urlencoded' }
    return call(sandbox, 'POST', '/oauth2/token', form, headers)
  }

  test('no credential or a wrong one is 401 with a challenge', async () => {
    const wrong = ['', 'Basic', 'Basic !', basic('demo', 'wrong'), basic('toString', ''), `Bearer ${NOBODY}`]
    for (const authorization of wrong) {
      const { status, headers, json } = await get(authorization)
      expect([authorization, status, at(json, 'error.code')]).toEqual([authorization, 401, 'unauthorized'])
      expect(headers.get('www-authenticate')).toMatch(authorization.startsWith('Bearer') ? /^Bearer / : /^Basic realm=/)
    }
    expect((await get(DEMO)).status).toBe(404)
  })

  test('no client sees another client’s data', async () => {
    await using other = await sandboxFor({ credentials: 'any' })
    const as = (id: string) => ({ authorization: basic(id, 'whatever') })
    const { json } = await call(other, 'POST', '/v2/shipments', booking(), as('a'))
    const quote = await call(other, 'POST', '/v2/quote', TRIP, as('a'))
    const path = `/v2/shipments/${json['id']}`
    expect((await call(other, 'GET', path, undefined, as('a'))).status).toBe(200)
    expect((await call(other, 'GET', path, undefined, as('b'))).status).toBe(404)
    expect((await call(other, 'GET', `/v2/shipments/${json['number']}`, undefined, as('b'))).status).toBe(404)
    expect((await call(other, 'DELETE', path, undefined, as('b'))).status).toBe(404)
    expect((await call(other, 'PUT', `/v2/quote/${quote.json['shipment_id']}`, TRIP, as('b'))).status).toBe(404)
  })

  test('a token works like the credential it was given for, until it is revoked or expires', async () => {
    const { status, json, headers } = await token()
    expect([status, json['token_type'], json['expires_in']]).toEqual([200, 'Bearer', 3600])
    expect(headers.get('cache-control')).toBe('no-store')
    const bearer = `Bearer ${json['access_token']}`
    expect((await get(bearer)).status).toBe(404)
    sandbox.revokeTokens()
    const refused = await get(bearer)
    expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([
      401,
      'Bearer realm="sandbox", error="invalid_token"',
    ])

    let now = 0
    sandbox.set({ clock: () => new Date(now), tokenExpiresIn: 60 })
    const short = `Bearer ${(await token()).json['access_token']}`
    now = 59_999
    expect((await get(short)).status).toBe(404)
    now = 60_000
    expect((await get(short)).status).toBe(401)
    sandbox.set({ clock: () => new Date(), tokenExpiresIn: null })
    expect((await token()).json).not.toHaveProperty('expires_in')
    sandbox.set({ tokenExpiresIn: 3600 })
  })
})
