import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Sandbox, startSandbox } from '../stand-in/stand-in.ts'
import { at, booking, call, raw, TRIP } from './client.ts'

let sandbox: Sandbox
beforeAll(async () => {
  sandbox = await startSandbox()
})
beforeEach(() => sandbox.clear())
afterAll(() => sandbox.close())

describe('the stand-in of the tests', () => {
  test('rejects when the port is taken', async () => {
    await expect(startSandbox({ port: Number(new URL(sandbox.url).port) })).rejects.toThrow('EADDRINUSE')
  })

  test('logs every request with its raw target and any outcome', async () => {
    await raw(sandbox, 'GET /v2/shipments/%2e%2e?a=%20b HTTP/1.0\r\n\r\n')
    const [request] = sandbox.requests
    expect(request).toMatchObject({ method: 'GET', path: '/v2/shipments/%2e%2e?a=%20b', body: '' })
    expect(request?.at).toBeInstanceOf(Date)
  })

  test('tells when a request comes, when its work is done already', async () => {
    const coming = sandbox.next(({ method }) => method === 'POST')
    const answer = call(sandbox, 'POST', '/v2/shipments', booking())
    const request = await coming
    expect(sandbox.shipments.size).toBe(1)
    expect(JSON.parse(request.body)).toMatchObject({ external_id: 'REF-1' })
    await answer
    await sandbox.idle()
  })

  test('forgets everything on clear', async () => {
    await call(sandbox, 'POST', '/v2/shipments', booking())
    await call(sandbox, 'POST', '/v2/quote', TRIP)
    sandbox.clear()
    expect([sandbox.shipments.size, sandbox.quotes.size, sandbox.requests.length]).toEqual([0, 0, 0])
  })

  test('answers 404 to paths that are not there, and 405 with Allow to wrong methods', async () => {
    expect((await call(sandbox, 'GET', '/')).status).toBe(404)
    expect((await call(sandbox, 'GET', '/v2')).status).toBe(404)
    expect((await call(sandbox, 'GET', '/v2/shipments/a/b')).status).toBe(404)
    expect((await call(sandbox, 'POST', '/v2/quote/a/reject')).status).toBe(404)
    expect((await call(sandbox, 'GET', '/v2/shipments/%zz')).status).toBe(404)
    const cases = [
      ['DELETE', '/v2/quote', 'GET, POST'],
      ['GET', '/v2/quote/x', 'PUT'],
      ['GET', '/v2/quote/x/approve', 'POST'],
      ['GET', '/v2/shipments', 'POST'],
      ['PATCH', '/v2/shipments/x', 'GET, PUT, DELETE'],
      ['GET', '/oauth2/token', 'POST'],
    ] as const
    for (const [method, path, allow] of cases) {
      const { status, headers } = await call(sandbox, method, path)
      expect([method, path, status, headers.get('allow')]).toEqual([method, path, 405, allow])
    }
  })

  test('answers 400 to a body that is not a JSON object', async () => {
    for (const body of ['', '{', '[]', 'null', '"x"', 'a=b']) {
      const { status, json } = await call(sandbox, 'POST', '/v2/shipments', body)
      expect([body, status, at(json, 'error.code')]).toEqual([body, 400, 'bad_json'])
    }
  })
})
