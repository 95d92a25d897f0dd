import { expect, test } from 'vitest'
import { get, startGateway } from '../gateway.ts'

test('the description of the interface is the reviewed one', async () => {
  const { status, json } = await get(await startGateway(), '/openapi.json')
  expect(status).toBe(200)
  const { version, ...info } = json.info
  expect(version).toMatch(/^\d+\.\d+\.\d+/)
  await expect(`${JSON.stringify({ ...json, info }, null, 1)}\n`).toMatchFileSnapshot('open-api.txt')
})
