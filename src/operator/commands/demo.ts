import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { styleText } from 'node:util'
import { bookingExample } from '../../../mappings/booking-rows.ts'
import { quoteExample } from '../../../mappings/quote-rows.ts'
import { shellWord } from '../../calls/update-program.ts'
import { type Gateway, type GatewayParts, openGateway } from '../../gateway.ts'
import { listen, type Sandbox, startSandbox } from '../../labs/demo/sandbox.ts'
import { readConfig } from '../../language/config/config.ts'
import { escapeControls } from '../../language/text/service-text.ts'
import { openStore } from '../../outside/store/open.ts'
import { createLog, type Logger } from '../../runtime/log.ts'
import { createPages } from '../pages/all-pages.ts'
import { runChaos, runNaiveProxy } from './chaos.ts'
import {
  type Clock,
  COUNTS_EVERY_MS,
  HISTORY_TENANTS,
  historyFault,
  historyTenants,
  keepCalling,
  makeHistory,
  openCallers,
} from './demo-history.ts'
import { listenFailure } from './failures.ts'
import { ID, SECRET } from './harness.ts'
import { mappingsOf } from './open-store.ts'
import { type Options, print } from './output.ts'
import { stopSignal, thisProgram } from './process.ts'

type DemoOptions = Options<'chaos' | 'withHistory', 'naive'> & { readonly seconds?: number }

const CHAOS_SECONDS = 60

/** Runs the gateway in front of a stand-in for the service, prints what to try, and cleans up at Ctrl-C. */
export async function demo({
  chaos = false,
  seconds = CHAOS_SECONDS,
  naive,
  withHistory = false,
}: DemoOptions): Promise<number> {
  // It is the address of the service; the chaos starts this.
  if (naive !== undefined) return runNaiveProxy(naive)
  if (chaos) return runChaos(seconds)
  const directory = await mkdtemp(join(tmpdir(), 'transload-demo-'))
  const names = withHistory ? HISTORY_TENANTS : [ID]
  const credentials = Object.fromEntries(names.map((name) => [name, SECRET]))
  const sandbox = await startSandbox(credentials, withHistory ? historyFault : undefined)
  try {
    await runDemo(sandbox, directory, withHistory)
  } finally {
    await sandbox.close()
    await rm(directory, { recursive: true })
  }
  print('', 'Stopped.')
  return 0
}

async function runDemo(sandbox: Sandbox, directory: string, withHistory: boolean): Promise<void> {
  const clock: Clock = { behindMs: 0 }
  const receiver = createServer((_request, response) => response.writeHead(204).end())
  const env = {
    HOST: '127.0.0.1',
    EMERGENCY_LOG_FILE: join(directory, 'emergency.ndjson'),
    STORE_URL: join(directory, 'transload.db'),
    ...process.env,
    V2_BASE_URL: sandbox.url,
    ...(withHistory && { TENANTS_FILE: await writeTenants(directory, receiver) }),
  }
  const config = readConfig(env)
  const catalog = await mappingsOf(config)
  const store = await openStore(config.STORE_URL, { now: () => Date.now() - clock.behindMs })
  // With a history, neither the calls of others nor those of the past are shown.
  let shown = withHistory ? '' : undefined
  const over = new AbortController()
  try {
    const gateway = await openOnFreePorts(env, {
      catalog,
      store,
      log: createDemoLog(sandbox, () => shown),
      pages: createPages,
      countsEveryMs: withHistory ? COUNTS_EVERY_MS : undefined,
    })
    // Signals are handled before the output says that there is something to stop.
    const stopped = stopSignal()
    if (withHistory) {
      const callers = openCallers(gateway.url, SECRET)
      await makeHistory(callers, store, clock)
      shown = ID
      void keepCalling(callers, CALL_EVERY_MS, over.signal)
    }
    print(...whatToTry(gateway, env, sandbox.url))
    await stopped
    over.abort()
    await gateway.close()
  } finally {
    receiver.close()
    await store.close()
  }
}

const CALL_EVERY_MS = 3_000

/** Writes the tenants file of a demo with a history. */
async function writeTenants(directory: string, receiver: Server): Promise<string> {
  const [secret, file] = [join(directory, 'secret'), join(directory, 'tenants.json')]
  await writeFile(secret, SECRET)
  await writeFile(file, JSON.stringify(await historyTenants(SECRET, secret, `${await listen(receiver)}/`)))
  return file
}

/** Opens the gateway; a port that is in use is replaced by a free one, and the output says so. */
async function openOnFreePorts(env: NodeJS.ProcessEnv, parts: GatewayParts): Promise<Gateway> {
  const config = readConfig(env)
  try {
    return await openGateway(config, parts)
  } catch (error) {
    const isTaken = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE' && 'port' in error
    const isAdmin = isTaken && config.PORT !== error.port
    if (!isTaken || error.port === (isAdmin ? parts.adminPort : 0)) throw listenFailure(error, config)
    print(`Port ${error.port} is in use, so the ${isAdmin ? 'admin listener' : 'gateway'} uses a free one.`)
    return openOnFreePorts(isAdmin ? env : { ...env, PORT: '0' }, isAdmin ? { ...parts, adminPort: 0 } : parts)
  }
}

/** What the commands on the pages read of the demo. */
const SCENE = ['STORE_URL', 'EMERGENCY_LOG_FILE', 'V2_BASE_URL', 'TENANTS_FILE'] as const

/** Writes a line for a shell in which the commands on the pages work. What the demo was given itself is not repeated. */
function sceneOf(env: NodeJS.ProcessEnv, serviceUrl: string): string {
  const made = SCENE.flatMap((name) => (process.env[name] === env[name] ? [] : [[name, env[name] ?? ''] as const]))
  const service = { SERVICE_URL: serviceUrl, SERVICE_ID: ID, SERVICE_SECRET: SECRET }
  const set = [...made, ...Object.entries(service)].map(([name, value]) => `${name}=${shellWord(value)}`)
  return `export ${set.join(' ')}; transload() { ${thisProgram().join(' ')} "$@"; }`
}

function whatToTry({ url, adminUrl }: Gateway, env: NodeJS.ProcessEnv, serviceUrl: string): readonly string[] {
  const call = (path: string, body: object) =>
    `curl -s -u ${ID}:${SECRET} ${url}${path} -d '${JSON.stringify(body).replaceAll("'", "'\\''")}'`
  const reference = { ReferenceNumber: bookingExample.ReferenceNumber }
  const approval = { ActionName: 'Approve Rate', ShipmentNumber: quoteExample.ShipmentNumber }
  const read = `${url}/getShipment.php?ReferenceNumber=${reference.ReferenceNumber}`
  const examples = [
    ['Ask for a quote, as an old integration does', call('/getShippingQuote.php', quoteExample)],
    ['Approve it, which books the trip as it was quoted', call('/getShippingQuote.php', approval)],
    ['Or book a trip with all its details', call('/createShipment.php', bookingExample)],
    ['Read the shipment', `curl -s -u ${ID}:${SECRET} '${read}'`],
    ['Change it', call('/updateShipment.php', { ...reference, DeliveryName: 'Sam Example' })],
    ['Cancel it', call('/deleteShipment.php', reference)],
    ['See a translation, field by field, without sending it', call('/dry-run/createShipment.php', bookingExample)],
  ] as const
  return [
    'Open in a browser:',
    `  Workbench     ${url}/`,
    ...(adminUrl === undefined ? [] : [`  Operators     ${adminUrl}/`]),
    `  The service   ${serviceUrl}, a stand-in; its data is lost when the demo stops`,
    '',
    `Transload answers version-1 calls on ${url}. Try these, in another terminal:`,
    '',
    ...examples.flatMap(([title, command]) => [`# ${title}`, command, '']),
    '# Paste this before the commands that the pages show',
    sceneOf(env, serviceUrl),
    '',
    'Each call is shown here, with what the gateway sends to the service. Ctrl-C stops it.',
  ]
}

type SentRequests = Sandbox['requests']

const FIRST_REFUSAL = 400
const FIRST_FAILURE = 500
/** A longer body is cut. */
const SHOWN_CHARACTERS = 400

/** Makes a log that prints a colored line for each call, of one tenant or of all, and below it the requests that the service received. */
function createDemoLog({ requests }: Sandbox, shownNow: () => string | undefined): Logger {
  return createLog('info', {
    write: (line) => {
      const { level, msg, ...entry }: Readonly<Record<string, unknown>> = JSON.parse(line)
      const tenant = shownNow()
      if (msg === 'call' || msg === 'call failed') {
        const sent = takeRequests(requests, entry['id'])
        if (tenant === undefined || entry['tenant'] === tenant) printCall(entry, sent)
      } else if (level !== 'info' && tenant === undefined) print(line.trimEnd())
    },
  })
}

function printCall(call: Readonly<Record<string, unknown>>, sent: SentRequests): void {
  const { method, path, action, status, ms, error } = call
  const words = [status, method, pathOfRoute(path), action, `${ms} ms`, error].filter((word) => word !== undefined)
  const color = Number(status) < FIRST_REFUSAL ? 'green' : Number(status) < FIRST_FAILURE ? 'yellow' : 'red'
  printColored(color, words.join('  '))
  for (const request of sent) {
    const body = request.body.length > SHOWN_CHARACTERS ? `${request.body.slice(0, SHOWN_CHARACTERS)}…` : request.body
    printColored('dim', `     → ${request.method} ${request.path} ${body}`.trimEnd())
  }
}

/** Returns a call's route without the gateway's own prefix, which the caller did not send. */
const pathOfRoute = (route: unknown): string => String(route).replace(/^\/(?:legacy|own)(?=\/)/, '')

/** Prints a line in color, where standard output shows colors. */
function printColored(color: 'green' | 'yellow' | 'red' | 'dim', line: string): void {
  process.stdout.write(`${styleText(color, escapeControls(line), { stream: process.stdout })}\n`)
}

/** Takes the requests of one call out of those that the service received. */
function takeRequests(requests: SentRequests, id: unknown): SentRequests {
  const taken = requests.filter(({ headers }) => headers['x-request-id'] === id)
  for (const request of taken) requests.splice(requests.indexOf(request), 1)
  return taken
}
