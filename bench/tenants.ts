/*
 * Right after a start, every tenant of a shared edge makes its first call at once. `npm run bench:tenants` prints how long they take,
 * with secrets that the gateway has made and with secrets of people, which need a slow hash.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { quoteExample } from '../mappings/quote-rows.ts'
import { hashSecret, makeSecret } from '../src/edge/callers/hashes.ts'
import { startSandbox } from '../src/labs/demo/sandbox.ts'
import { freePort, HOST, startServer } from './compare/processes.ts'

const TENANTS = 200

async function measure(kind: string, secrets: readonly string[]): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'transload-bench-'))
  const sandbox = await startSandbox({ credentials: { demo: 'demo-secret' } })
  writeFileSync(join(folder, 'v2.txt'), 'demo-secret')
  const tenants = []
  for (const [no, secret] of secrets.entries()) {
    const credentials = [{ id: `t${no}`, secret_hash: await hashSecret(secret) }]
    const v2 = { client_id: 'demo', client_secret: { file: join(folder, 'v2.txt') } }
    tenants.push({ name: `t${no}`, credentials, v2 })
  }
  writeFileSync(join(folder, 'tenants.json'), JSON.stringify({ tenants }))
  const port = await freePort()
  const env = {
    V2_BASE_URL: sandbox.url,
    TENANTS_FILE: join(folder, 'tenants.json'),
    STORE_URL: join(folder, 'store.db'),
    EMERGENCY_LOG_FILE: join(folder, 'emergency'),
    HOST,
    PORT: String(port),
    ADMIN_PORT: '0',
  }
  const command = [process.execPath, join(import.meta.dirname, '../src/main.ts'), 'serve']
  const gateway = await startServer(port, command, { env })
  const began = performance.now()
  const answers = await Promise.all(
    secrets.map(async (secret, no) => {
      const authorization = `Basic ${btoa(`t${no}:${secret}`)}`
      const reply = await fetch(`http://${HOST}:${port}/getShippingQuote.php`, {
        method: 'POST',
        headers: { authorization },
        body: JSON.stringify(quoteExample),
      })
      await reply.text()
      return { status: reply.status, ms: performance.now() - began }
    }),
  )
  const times = answers.map(({ ms }) => ms).toSorted((one, other) => one - other)
  const at = (part: number) => Math.round(times[Math.ceil(times.length * part) - 1] ?? 0)
  const statuses = Object.entries(Object.groupBy(answers, ({ status }) => status))
  process.stdout.write(
    `${kind}: ${statuses.map(([status, all]) => `${all?.length} × ${status}`).join(', ')}; p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, all ${at(1)} ms\n`,
  )
  await gateway.stop()
  await sandbox.close()
  rmSync(folder, { recursive: true })
}

await measure('made secrets', Array.from({ length: TENANTS }, makeSecret))
await measure(
  'secrets of people',
  Array.from({ length: TENANTS }, (_, no) => `secret ${no}`),
)
