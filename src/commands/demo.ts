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
import { listenFailure } from './listen-failure.ts'
import { print } from './output.ts'
import { stopSignal } from './stop-signal.ts'

const ID = 'demo'
const SECRET = 'demo-secret'

/** Runs the gateway in front of a stand-in of the service, prints what to try, and cleans up at Ctrl-C. */
export async function demo(): Promise<number> {
  const directory = await mkdtemp(join(tmpdir(), 'transload-demo-'))
  const sandbox = await startSandbox({ credentials: { [ID]: SECRET } })
  try {
    await runDemo(sandbox.url, directory)
  } finally {
    await sandbox.close()
    await rm(directory, { recursive: true })
  }
  print('', 'Stopped.')
  return 0
}

async function runDemo(serviceUrl: string, directory: string): Promise<void> {
  const config = readConfig({
    HOST: '127.0.0.1',
    ADMIN_PORT: '0',
    LOG_LEVEL: 'warn',
    STORE_URL: join(directory, 'transload.db'),
    ...process.env,
    V2_BASE_URL: serviceUrl,
  })
  const catalog = await loadMappings(config.MAPPINGS_DIR, config.LOOKUPS_FILE)
  const store = await openStore(config.STORE_URL)
  try {
    const parts = { catalog, store, log: createLog(config.LOG_LEVEL) }
    const gateway = await openGateway(config, parts).catch((error: NodeJS.ErrnoException): Promise<Gateway> => {
      if (error.code !== 'EADDRINUSE') throw listenFailure(error, config)
      return openGateway({ ...config, PORT: 0 }, parts)
    })
    // Signals are handled before the output says that there is something to stop.
    const stopped = stopSignal()
    print(...whatToTry(gateway.url, serviceUrl))
    await stopped
    await gateway.close()
  } finally {
    await store.close()
  }
}

function whatToTry(url: string, serviceUrl: string): readonly string[] {
  const call = (path: string, body: object) =>
    `curl -s -u ${ID}:${SECRET} ${url}${path} -d '${JSON.stringify(body).replaceAll("'", "'\\''")}'`
  const reference = { ReferenceNumber: bookingExample.ReferenceNumber }
  const read = `${url}/getShipment.php?ReferenceNumber=${reference.ReferenceNumber}`
  const examples = [
    ['Ask for a quote, as an old integration does', call('/getShippingQuote.php', quoteExample)],
    ['Book it', call('/createShipment.php', bookingExample)],
    ['Read the shipment', `curl -s -u ${ID}:${SECRET} '${read}'`],
    ['Change it', call('/updateShipment.php', { ...reference, DeliveryName: 'Sam Example' })],
    ['Cancel it', call('/deleteShipment.php', reference)],
    ['See a translation, field by field, without sending it', call('/dry-run/createShipment.php', bookingExample)],
  ] as const
  return [
    `Transload listens on ${url}, in front of a stand-in of the service on ${serviceUrl}.`,
    '',
    ...examples.flatMap(([title, command]) => [`# ${title}`, command, '']),
    'Ctrl-C stops it.',
  ]
}
