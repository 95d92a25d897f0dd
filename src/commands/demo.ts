import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { readConfig } from '../config/config.ts'
import { loadMappings } from '../config/mappings.ts'
import { type Gateway, openGateway } from '../gateway.ts'
import { createLog } from '../observe/log.ts'
import { startSandbox } from '../sandbox/sandbox.ts'
import { openStore } from '../store/open.ts'
import { stopSignal } from './serve.ts'

const ID = 'demo'
const SECRET = 'demo-secret'

/** Runs the gateway before a stand-in of the service, prints what to try, and cleans up at Ctrl-C. */
export async function demo(): Promise<number> {
  const directory = await mkdtemp(join(tmpdir(), 'transload-demo-'))
  const sandbox = await startSandbox({ credentials: { [ID]: SECRET } })
  const env = {
    HOST: '127.0.0.1',
    ADMIN_PORT: '0',
    LOG_LEVEL: 'warn',
    STORE_URL: join(directory, 'transload.db'),
    ...process.env,
    V2_BASE_URL: sandbox.url,
  }
  const config = readConfig(env)
  const catalog = await loadMappings(config.MAPPINGS_DIR, config.LOOKUPS_FILE)
  const store = await openStore(config.STORE_URL)
  const parts = { catalog, store, log: createLog(config.LOG_LEVEL) }
  const gateway = await openGateway(config, parts).catch((error: NodeJS.ErrnoException): Promise<Gateway> => {
    if (error.code !== 'EADDRINUSE') throw error
    return openGateway({ ...config, PORT: 0 }, parts)
  })
  // Listened for before anybody is told about it.
  const stopped = stopSignal()
  process.stdout.write(whatToTry(gateway.url, sandbox.url))

  await stopped
  await gateway.close()
  await Promise.all([store.close(), sandbox.close()])
  await rm(directory, { recursive: true })
  process.stdout.write('\nStopped.\n')
  return 0
}

function whatToTry(url: string, service: string): string {
  const call = (path: string, body: object) =>
    `curl -s -u ${ID}:${SECRET} ${url}${path} -d '${JSON.stringify(body).replaceAll("'", "'\\''")}'`
  const reference = { ReferenceNumber: bookingExample.ReferenceNumber }
  const examples = [
    ['Ask for a quote, as an old integration does', call('/getShippingQuote.php', quoteExample)],
    ['Book it', call('/createShipment.php', bookingExample)],
    [
      'Read the shipment',
      `curl -s -u ${ID}:${SECRET} '${url}/getShipment.php?ReferenceNumber=${reference.ReferenceNumber}'`,
    ],
    ['Change it', call('/updateShipment.php', { ...reference, DeliveryName: 'Sam Example' })],
    ['Cancel it', call('/deleteShipment.php', reference)],
    ['See a translation, field by field, without sending it', call('/dry-run/createShipment.php', bookingExample)],
  ]
  const lines = examples.map(([title, line]) => `# ${title}\n${line}\n`)
  return `Transload listens on ${url}, before a stand-in of the service on ${service}.\n\n${lines.join('\n')}\nCtrl-C stops it.\n`
}
