import { expect, test } from 'vitest'
import { createDemoLog } from '../../src/commands/demo.ts'
import { watchStream } from './terminal.ts'

const request = (id: string, body = '', path = '/v2/quote') => ({
  method: 'POST',
  path,
  headers: { 'x-request-id': id },
  body,
})

test('a call is a line with what the service received for it, and other lines come as they are', () => {
  const { take } = watchStream('stdout', { isTTY: false })
  const requests = [request('1', '{"a":1}'), request('2'), request('1', 'x'.repeat(401), '/v2/shipments')]
  const log = createDemoLog({ requests })
  const call = { id: '1', method: 'POST', path: '/legacy/x.php', action: 'quote.get', status: 200, ms: 1.5 }
  log.info(call, 'call')
  expect(take().split('\n')).toEqual([
    '200  POST  /legacy/x.php  quote.get  1.5 ms',
    '     → POST /v2/quote {"a":1}',
    `     → POST /v2/shipments ${'x'.repeat(400)}…`,
    '',
  ])
  expect(requests.map(({ headers }) => headers['x-request-id'])).toEqual(['2'])
  log.error({ ...call, id: '2', action: undefined, status: 500, error: 'gateway-failed' }, 'call failed')
  expect(take()).toBe('500  POST  /legacy/x.php  1.5 ms  gateway-failed\n     → POST /v2/quote\n')
  log.info({}, 'listening')
  expect(take()).toBe('')
  log.warn({ drift: 'x' }, 'told')
  expect(JSON.parse(take())).toMatchObject({ level: 'warn', drift: 'x', msg: 'told' })
})

test('calls have a color by their status where the terminal shows colors', () => {
  const { take } = watchStream('stdout', { isTTY: true })
  const before = process.env['FORCE_COLOR']
  process.env['FORCE_COLOR'] = '1'
  const log = createDemoLog({ requests: [] })
  const colors = [200, 399, 400, 499, 500].map((status) => {
    log.info({ id: '1', method: 'GET', path: '/x', status, ms: 1 }, 'call')
    return take().slice(0, '\u001b[32m'.length)
  })
  if (before === undefined) delete process.env['FORCE_COLOR']
  else process.env['FORCE_COLOR'] = before
  const [green, yellow, red] = ['\u001b[32m', '\u001b[33m', '\u001b[31m']
  expect(colors).toEqual([green, green, yellow, yellow, red])
})
