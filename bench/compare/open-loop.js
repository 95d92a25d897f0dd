import { connect } from 'node:net'

/*
 * Sends calls at a constant rate, whether or not earlier ones are answered: open-loop.js PORT RATE SECONDS METHOD PATH
 * AUTHORIZATION BODY PREFIX DIGITS FIRST. `{name}` in the path or the body stands for a name that never repeats. A latency counts
 * from the time at which the call was due: the wait for a connection is a part of it, as it is for the caller.
 */

const [port, rate, seconds, method, path, authorization, body, prefix, digits, first] = process.argv.slice(2)
const MOST_CONNECTIONS = 512
const PATIENCE_MS = 10_000
const MS_PER_SECOND = 1_000
const MICROS_PER_MS = 1_000
const END_OF_HEAD = '\r\n\r\n'
const LENGTH = /\r\ncontent-length: (\d+)/i

const idle = []
const due = []
const latencies = []
let connections = 0
let sent = 0
let failed = 0

function request() {
  const name = prefix + String(Number(first) + sent).padStart(Number(digits), '0')
  sent += 1
  const text = body.replace('{name}', name)
  const head = `${method} ${path.replace('{name}', name)} HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}`
  if (method === 'GET') return head + END_OF_HEAD
  return `${head}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}${END_OF_HEAD}${text}`
}

function open() {
  connections += 1
  const socket = connect(Number(port), '127.0.0.1').setNoDelay(true).setEncoding('latin1')
  const line = { socket, dueAt: 0, text: '' }
  socket.on('data', (chunk) => {
    line.text += chunk
    const end = line.text.indexOf(END_OF_HEAD)
    if (end === -1) return
    const length = Number(LENGTH.exec(line.text.slice(0, end))?.[1] ?? Number.NaN)
    if (Number.isNaN(length)) throw new Error(`an answer without a length: ${line.text.slice(0, end)}`)
    if (line.text.length < end + END_OF_HEAD.length + length) return
    if (!line.text.startsWith('HTTP/1.1 200')) failed += 1
    latencies.push(performance.now() - line.dueAt)
    line.text = ''
    const next = due.shift()
    if (next === undefined) idle.push(line)
    else send(line, next)
  })
  socket.on('error', () => {
    failed += 1
  })
  return line
}

function send(line, dueAt) {
  line.dueAt = dueAt
  line.socket.write(request())
}

const startedAt = performance.now()
const endsAt = startedAt + Number(seconds) * MS_PER_SECOND
const everyMs = MS_PER_SECOND / Number(rate)
let scheduled = 0

function tick() {
  const now = performance.now()
  for (;;) {
    const dueAt = startedAt + scheduled * everyMs
    if (dueAt > now || dueAt >= endsAt) break
    scheduled += 1
    const line = idle.pop() ?? (connections < MOST_CONNECTIONS ? open() : undefined)
    if (line) send(line, dueAt)
    else due.push(dueAt)
  }
  const isDone = now >= endsAt && latencies.length + failed >= scheduled
  if (isDone || now > endsAt + PATIENCE_MS) finish()
  // Not at once: a busy loop would take the core from the service.
  else setTimeout(tick, 1)
}

function finish() {
  failed += scheduled - latencies.length
  latencies.sort((one, other) => one - other)
  const at = (share) => Math.round((latencies[Math.floor(latencies.length * share)] ?? Number.NaN) * MICROS_PER_MS)
  const figures = { calls: latencies.length, failed, p50: at(0.5), p99: at(0.99), p999: at(0.999) }
  process.stdout.write(`${JSON.stringify(figures)}\n`, () => process.exit(0))
}

tick()
