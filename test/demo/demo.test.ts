/** Promise: the demo's service says that it is one, and never runs in production. `test/certify` shows that it is like the real one. */

import { expect, onTestFinished, test, vi } from 'vitest'
import { startSandbox } from '../../src/labs/demo/sandbox.ts'
import { get } from '../gateway.ts'

test('every reply says that it is from a sandbox, which does not start in production', async () => {
  const sandbox = await startSandbox({})
  onTestFinished(() => sandbox.close())
  for (const path of ['/v2/quote', '/nowhere']) {
    expect((await get(sandbox, path)).headers.get('sandbox')).toBe('true')
  }
  vi.stubEnv('NODE_ENV', 'production')
  onTestFinished(() => void vi.unstubAllEnvs())
  await expect(startSandbox({})).rejects.toThrow('production')
})
