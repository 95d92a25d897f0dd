import { randomUUID } from 'node:crypto'
import { createServer } from 'node:net'
import { shipmentExample } from '../../../mappings/booking-rows.ts'
import { host, port } from './place.js'

/*
 * A stub of the service without nginx: it reads only the first line and the length of a request, and answers with
 * constant bytes, except for ids and the numbers made of them: no shipment has the name of another one.
 */

const HEAD_END = '\r\n\r\n'
const READ = '/v2/shipments/'

function answer(method, path) {
  const id = randomUUID()
  if (path === '/v2/quote') return ['200 OK', JSON.stringify({ shipment_id: id, price: 1234.5 })]
  const shipment = (id) => JSON.stringify({ ...shipmentExample, external_id: null, id, number: `TL-${id}` })
  if (path === '/v2/shipments' && method === 'POST') return ['201 Created', shipment(id)]
  if (path.startsWith(READ)) return ['200 OK', shipment(path.slice(READ.length))]
  return ['404 Not Found', '{}']
}

createServer({ noDelay: true }, (socket) => {
  let received = ''
  socket.on('error', () => socket.destroy())
  socket.on('data', (chunk) => {
    received += chunk.toString('latin1')
    for (;;) {
      const head = received.indexOf(HEAD_END)
      if (head === -1) return
      const length = Number(/\r\ncontent-length: *(\d+)/i.exec(received.slice(0, head))?.[1] ?? 0)
      const end = head + HEAD_END.length + length
      if (received.length < end) return
      const [method = '', path = ''] = received.slice(0, received.indexOf('\r\n')).split(' ')
      received = received.slice(end)
      const [status, body] = answer(method, path)
      socket.write(
        `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
      )
    }
  })
}).listen(port, host)
