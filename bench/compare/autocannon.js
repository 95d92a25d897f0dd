import autocannon from 'autocannon'

/*
 * Generates load without wrk: autocannon.js URL CONNECTIONS SECONDS METHOD PATH AUTHORIZATION BODY PREFIX DIGITS FIRST
 * COUNT STRIDE. `{name}` in the path or the body stands for a name; with a COUNT of 0 no name repeats.
 */

const [url, connections, seconds, method, path, authorization, body, prefix, digits, first, count, stride] =
  process.argv.slice(2)
const MICROS_PER_SECOND = 1_000_000
const MICROS_PER_MS = 1_000
let sent = 0

function nextName() {
  const index = sent
  sent += 1
  const number = Number(count) > 0 ? Number(first) + ((index * Number(stride)) % Number(count)) : Number(first) + index
  return prefix + String(number).padStart(Number(digits), '0')
}

const setupRequest = (request) => {
  const name = nextName()
  return { ...request, path: path.replace('{name}', name), body: body.replace('{name}', name) }
}

const result = await autocannon({
  url,
  connections: Number(connections),
  duration: Number(seconds),
  timeout: 10,
  headers: { authorization, ...(method === 'POST' && { 'content-type': 'application/json' }) },
  requests: [
    method === 'POST'
      ? { method, setupRequest }
      : { method, setupRequest: (r) => ({ ...setupRequest(r), body: undefined }) },
  ],
})
const { requests, duration, errors, non2xx, latency } = result
process.stdout.write(
  `${JSON.stringify({
    calls: requests.total,
    micros: duration * MICROS_PER_SECOND,
    failed: errors + non2xx,
    p50: latency.p50 * MICROS_PER_MS,
    p99: latency.p99 * MICROS_PER_MS,
  })}\n`,
)
