import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { request as send } from 'undici'
import { loadMappings } from '../../../mappings/load.ts'
import { planCall } from '../../calls/plan.ts'
import { version1 } from '../../calls/read-request.ts'
import { NO_SUBJECT } from '../../calls/subject.ts'
import { answerOf } from '../../calls/version1-answer.ts'
import { readBody } from '../../edge/body/read.ts'
import { type Fault, listen, type Sandbox, startSandbox } from '../../labs/demo/sandbox.ts'
import type { DemoRequest } from '../../labs/demo/service.ts'
import { readConfig } from '../../language/config/config.ts'
import { translationSettings } from '../../language/config/translation-settings.ts'
import { written } from '../../outside/service/service.ts'
import { plural } from '../words.ts'
import { EXIT_FAILED } from './failures.ts'
import { book, duplicates, end, ID, type LaunchedProgram, launch, SECRET } from './harness.ts'
import { print, printJson } from './output.ts'
import { stopSignal, watchSignals } from './process.ts'

/** A caller with another booking comes to each program so often, whether the earlier ones have their answers or not. */
const ARRIVES_EVERY_MS = 100
const TRIES_AGAIN_MS = 200
const PATIENCE_MS = 5_000
/** The share of bookings that callers send once more, as after a second click. */
const REPEATED = 0.1
/** How often callers ask for a booking in doubt, and how long they do at the end. */
const ASK_AGAIN_MS = 500
const HEALED_WITHIN_MS = 20_000
/** A program is killed so long after it listens, at most; some are killed while they start. */
const LONGEST_LIFE_MS = 4_000
const KILLED_EARLY = 0.1
const SERVICE_UP_MS = 5_000
const SERVICE_DOWN_MS = 300
const SHOWN_EVERY_MS = 1_000
const COLUMN = 'in doubt'.length + 3
/** A pipe keeps all lines, so it gets fewer. */
const PIPED_EVERY = 10

/** The fates of requests that change something: up to which share of them each goes. */
const FAULTS: readonly (readonly [upTo: number, fault: Fault])[] = [
  [0.03, { kind: 'reset-after' }],
  [0.05, { kind: 'reset-before' }],
  [0.07, { kind: 'timeout' }],
  [0.17, { kind: 'delay', ms: 400 }],
]

function faultOf({ method }: DemoRequest): Fault | undefined {
  const chance = Math.random()
  return method === 'POST' ? FAULTS.find(([upTo]) => chance < upTo)?.[1] : undefined
}

/** Breaks the gateway and a naive proxy for so long; the exit code is 1 if the gateway booked something twice or lost it. */
export async function runChaos(seconds: number): Promise<number> {
  const directory = await mkdtemp(join(tmpdir(), 'transload-chaos-'))
  const over = new AbortController()
  const sandbox = await startSandbox({ [ID]: SECRET }, (call) => (over.signal.aborted ? undefined : faultOf(call)))
  const storeUrl = join(directory, 'transload.db')
  const startGateway = gatewayStarter(sandbox, storeUrl)
  const gateway = openSide('gateway', startGateway, sandbox, over.signal)
  const naive = openSide('naive', () => start(['demo', '--naive', sandbox.url]), sandbox, over.signal)
  const signals = watchSignals()
  try {
    print(
      `For ${seconds} s, replies get lost or late, the service restarts, both programs are killed, and callers retry.`,
      '',
      'asked     bookings that callers ask for; both programs get the same number',
      'made      shipments that the service made for them',
      'doubled   shipments beyond the first of a booking',
      'lost      bookings confirmed to a caller that the service does not have',
      'in doubt  bookings whose outcome the gateway does not know: it says so and does not send them again',
      'healed    bookings that were in doubt, until the gateway found their shipments',
      'killed    how often the program was killed and restarted',
      '',
    )
    const show = startShowing([gateway, naive], sandbox, over.signal)
    const restarts = repeat(over.signal, SERVICE_UP_MS, () => sandbox.restart(SERVICE_DOWN_MS))
    await Promise.race([
      Promise.all([gateway.listens, naive.listens]).then(() => wait(seconds * 1_000)),
      signals.received,
      // It ends before only if the service cannot listen again.
      restarts,
    ])
    over.abort()
    await Promise.all([restarts, gateway.finish(), naive.finish()])
    show()
    const { asked, made, doubled, lost, 'in doubt': doubt } = gateway.ledger()
    if (doubt > 0 && asked === made + doubt)
      print(
        '',
        `The service never got the ${plural(doubt, 'booking')} in doubt. Outside the demo, an operator looks for them and settles them with "transload bookings settle".`,
      )
    print(
      '',
      `The gateway booked ${doubled} twice and lost ${lost}; the naive proxy booked ${naive.ledger().doubled} twice.`,
    )
    return doubled + lost > 0 ? EXIT_FAILED : 0
  } finally {
    over.abort()
    signals.forget()
    await Promise.all([gateway.end(), naive.end()])
    await sandbox.close()
    await rm(directory, { recursive: true })
  }
}

/** Starts this program with other words. */
function start(words: readonly string[], more: NodeJS.ProcessEnv = {}): LaunchedProgram {
  const { PATH, NODE_COMPILE_CACHE } = process.env
  return launch([process.argv[1] ?? '', ...words], { PATH, NODE_COMPILE_CACHE, ...more })
}

/** Returns the function that starts the gateway, on the same port each time: the service sends it events. */
function gatewayStarter(sandbox: Sandbox, storeUrl: string): () => LaunchedProgram {
  const secret = 'the-demo-sends-events-here'
  let PORT = '0'
  return () => {
    const launched = start(['serve'], {
      HOST: '127.0.0.1',
      PORT,
      ADMIN_PORT: '0',
      STORE_URL: storeUrl,
      EMERGENCY_LOG_FILE: `${storeUrl}.ndjson`,
      V2_BASE_URL: sandbox.url,
      V2_CLIENT_ID: ID,
      V2_CLIENT_SECRET: SECRET,
      WEBHOOK_SECRET: secret,
      UPSTREAM_TIMEOUT_MS: '1000',
    })
    launched.url.then(
      (url) => {
        PORT = new URL(url).port
        sandbox.webhookUrl = `${url}/webhooks/${secret}`
      },
      () => undefined,
    )
    launched.child.once('exit', (code) => {
      // It ended by itself: another program may have taken the port while it was down.
      if (code !== null) PORT = '0'
    })
    return launched
  }
}

/** Does something again and again, after pauses of up to so long. */
async function repeat(over: AbortSignal, longestMs: number, act: () => Promise<void>): Promise<void> {
  while (!over.aborted) {
    await wait(Math.random() * longestMs, undefined, { signal: over }).catch(() => undefined)
    if (!over.aborted) await act()
  }
}

type Side = ReturnType<typeof openSide>

/** Opens one side of the comparison: a program that is killed again and again, its callers, and its ledger. */
function openSide(name: string, startProgram: () => LaunchedProgram, { shipments }: Sandbox, over: AbortSignal) {
  const asked = new Set<string>()
  const acknowledged = new Map<string, string>()
  const doubted = new Set<string>()
  let healed = 0
  let killed = 0
  const closing = new AbortController()
  let program = startProgram()
  const listens = program.url.catch(() => undefined)

  async function ask(reference: string): Promise<string | undefined> {
    const answer = await book(program.url, reference, PATIENCE_MS)
    if (answer?.word === 'Yes') {
      acknowledged.set(reference, answer.id)
      if (doubted.delete(reference)) healed += 1
    }
    if (answer?.word === 'Unknown') doubted.add(reference)
    return answer?.word
  }

  async function call(): Promise<void> {
    const reference = `${name}-REF-${asked.size + 1}`
    asked.add(reference)
    while (!closing.signal.aborted) {
      const word = await ask(reference)
      if (word === 'Yes' && Math.random() < REPEATED) await ask(reference)
      if (word === 'Yes' || word === 'Unknown') return
      await wait(TRIES_AGAIN_MS)
    }
  }
  const calls: Promise<void>[] = []
  const arrivals = setInterval(() => calls.push(call()), ARRIVES_EVERY_MS)
  over.addEventListener('abort', () => clearInterval(arrivals))
  const askForDoubted = async () => {
    for (const reference of doubted) await ask(reference)
    await wait(ASK_AGAIN_MS)
  }
  const restart = async () => {
    if (Math.random() >= KILLED_EARLY) await program.url.catch(() => undefined)
    await wait(Math.random() * LONGEST_LIFE_MS, undefined, { signal: over }).catch(() => undefined)
    await end(program.child)
    killed += 1
    program = startProgram()
  }
  const asking = repeat(over, 0, askForDoubted)
  const killing = repeat(over, 0, restart)
  const own = () => new Map([...shipments].filter(([, { external_id: reference = '' }]) => asked.has(reference)))
  return {
    name,
    listens,
    ledger: () => ({
      asked: asked.size,
      made: own().size,
      doubled: duplicates({ shipments: own() }),
      lost: [...acknowledged.values()].filter((id) => !shipments.has(id)).length,
      'in doubt': doubted.size,
      healed,
      killed,
    }),
    /** Lets callers have their answers, from a program that lives. */
    finish: async () => {
      await Promise.all([asking, killing])
      await restart()
      await program.url.catch(restart)
      const late = AbortSignal.timeout(HEALED_WITHIN_MS)
      await Promise.race([Promise.all(calls), once(late, 'abort')])
      // Those that the service never got stay in doubt: only a person can tell that there is nothing.
      const canHeal = () => [...own().values()].some(({ external_id: reference = '' }) => doubted.has(reference))
      while (canHeal() && !late.aborted) await askForDoubted()
      closing.abort()
      await end(program.child, 'SIGTERM')
    },
    end: async () => {
      closing.abort()
      await killing
      await end(program.child)
    },
  }
}

/** Shows the ledgers from now on; returns the function that shows them for the last time. */
function startShowing(sides: readonly Side[], sandbox: Sandbox, over: AbortSignal): () => void {
  let shown = 0
  const show = () => {
    const rows = sides.map((side) => [side.name, ...Object.values(side.ledger()).map(String)])
    const lines = [['', ...Object.keys(sides[0]?.ledger() ?? {})], ...rows]
    if (process.stdout.isTTY && shown > 0) process.stdout.write(`\u001b[${lines.length}A\u001b[J`)
    print(...lines.map((cells) => cells.map((cell) => cell.padStart(COLUMN)).join('')))
    shown += 1
    // The demo would show them; here they only take memory.
    sandbox.requests.length = 0
  }
  const everyMs = process.stdout.isTTY ? SHOWN_EVERY_MS : SHOWN_EVERY_MS * PIPED_EVERY
  const timer = setInterval(show, everyMs)
  over.addEventListener('abort', () => clearInterval(timer))
  return show
}

const TRIES = 3
const TRY_MS = 1_000
const FIRST_FAILURE = 500

/** Runs a proxy as one writes it in an afternoon: it translates bookings as the gateway does, forwards them, and tries again. */
export async function runNaiveProxy(service: string): Promise<number> {
  const compiled = (await loadMappings()).actions.get('shipment.create')
  if (!compiled) throw new Error('The mappings declare no booking.')
  const settings = translationSettings(readConfig({ V2_BASE_URL: service }))
  const server = createServer(async (incoming, outgoing) => {
    const { authorization = '', 'content-type': type } = incoming.headers
    const { entries } = readBody(Buffer.concat(await incoming.toArray()), type)
    const plan = planCall(version1(compiled, entries), NO_SUBJECT, settings)
    const { method, path, headers, body = null } = written(plan.toService)
    for (let tries = 0; tries < TRIES; tries += 1) {
      try {
        const signal = AbortSignal.timeout(TRY_MS)
        const reply = await send(service + path, { method, headers: { ...headers, authorization }, body, signal })
        const shipment = await reply.body.json()
        if (reply.statusCode >= FIRST_FAILURE) continue
        const answer = answerOf(plan, shipment)
        return void outgoing.writeHead(answer.status, answer.headers).end(answer.body)
      } catch {
        // It did not answer, so it is asked again: this is what books twice.
      }
    }
    outgoing.writeHead(502).end('{"Message":"The service does not answer.","TransportationBooked":"No"}')
  })
  printJson({ msg: 'listening', url: await listen(server) })
  await stopSignal()
  server.closeAllConnections()
  server.close()
  return 0
}
