/** Promise: one credential may stand for all callers (contract, section 5). */

import { describe, expect, test } from 'vitest'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { basic, CLIENT, get, post, startGateway } from '../gateway.ts'

const FIXED = { V2_CLIENT_ID: CLIENT.id, V2_CLIENT_SECRET: CLIENT.secret }

describe('a gateway with one credential for all callers', () => {
  test.each(['basic', 'oauth2', 'auto'])('gives nobody a token where V2_TOKEN is %s', async (V2_TOKEN) => {
    const gateway = await startGateway({ env: { ...FIXED, V2_TOKEN }, sandbox: { auth: 'both' } })
    for (const authorization of ['', basic(), basic('nobody', 'wrong'), 'Bearer abc']) {
      const refused = await post(gateway, '/oauth2/token', 'grant_type=client_credentials', { authorization })
      expect([refused.status, refused.json.Message]).toEqual([403, expect.stringMatching(/gives no tokens/)])
    }
    expect(gateway.sandbox.requests).toEqual([])
  })

  test("sends its own credential under /v2/ as well, never a caller's token", async () => {
    const gateway = await startGateway({ env: FIXED })
    expect((await get(gateway, '/v2/shipments/none', { authorization: 'Bearer junk' })).status).toBe(404)
    expect(gateway.sandbox.requests.map(({ headers }) => headers.authorization)).toEqual([basic()])
  })

  test.each([
    ['the header', basic()],
    ['the secret', CLIENT.secret],
  ])('does not hand on words of the service that repeat %s', async (_what, repeated) => {
    const gateway = await startGateway({ env: FIXED })
    gateway.sandbox.fail({
      kind: 'status',
      status: 400,
      body: JSON.stringify({ message: `no such credential: ${repeated}` }),
    })
    const { status, text } = await post(gateway, '/getShippingQuote.php', quoteExample)
    expect(status).toBe(400)
    expect(text).not.toContain(repeated)
    expect(text).toContain('The service refused the call')
  })
})
